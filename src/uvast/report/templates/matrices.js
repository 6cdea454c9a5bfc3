// The confusion matrix and the attention maps: cells on a canvas, with the same tip.
function parts(name) { return [1, 3, 5].map((i) => parseInt(colour(name).slice(i, i + 2), 16)); }

function ramp() {
  const low = parts("--surface"), high = parts("--accent");
  return (share) => low.map((value, i) => Math.round(value + share * (high[i] - value)));
}

// Picks the ink that is easiest to read on a background.
function readable(inks) {
  const light = (rgb) => rgb.reduce((sum, value, i) => sum + [0.2126, 0.7152, 0.0722][i] * (value / 255) ** 2.2, 0.05);
  const away = (ink, ground) => Math.abs(Math.log(light(parts(ink)) / light(ground)));
  return (ground) => colour(inks.reduce((best, ink) => (away(ink, ground) > away(best, ground) ? ink : best)));
}

function makeConfusion(element) {
  const canvas = element.querySelector("canvas"), cursor = element.querySelector(".cursor");
  const n = data.classes.length;
  let frames = [], totals = [], place = { margin: 0, cell: 1 }, at = 0;
  element.setAttribute("aria-valuemax", String(n * n - 1));

  function draw() {
    const sheet = sharp(canvas);
    if (!sheet) return;
    const { pen, width } = sheet;
    const font = Math.min(11, (width * 0.78) / n), labelled = font >= 9;
    pen.font = `${font}px system-ui, sans-serif`;
    const longest = Math.max(...data.classes.map((one) => pen.measureText(one.name).width));
    const margin = labelled ? Math.min(longest + 8, width * 0.22) : 0;
    const cell = (width - margin) / n;
    place = { margin, cell };
    const shade = ramp(), ink = readable(["--ink", "--surface"]);
    const numbered = n <= 12 && cell >= 22;
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    for (let row = 0; row < n; row++) {
      for (let column = 0; column < n; column++) {
        const share = totals[row] ? frames[row][column] / totals[row] : 0;
        pen.fillStyle = `rgb(${shade(share).join(" ")})`;
        pen.fillRect(margin + column * cell, margin + row * cell, cell - (cell > 6 ? 1 : 0), cell - (cell > 6 ? 1 : 0));
        if (!numbered || share < 0.005) continue;
        pen.fillStyle = ink(shade(share));
        pen.fillText((share * 100).toFixed(0), margin + (column + 0.5) * cell, margin + (row + 0.5) * cell);
      }
    }
    pen.strokeStyle = colour("--line");
    pen.strokeRect(margin + 0.5, margin + 0.5, n * cell - 1, n * cell - 1);
    if (!labelled) return;
    pen.fillStyle = colour("--muted");
    data.classes.forEach((one, i) => {
      const text = fitted(pen, one.name, margin - 6), middle = margin + (i + 0.5) * cell;
      pen.textAlign = "right";
      pen.fillText(text, margin - 6, middle);
      pen.save();
      pen.translate(middle, margin - 6);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.fillText(text, 0, 0);
      pen.restore();
    });
  }

  function describe(index) {
    at = index;
    const row = Math.floor(index / n), column = index % n;
    const share = totals[row] ? frames[row][column] / totals[row] * 100 : 0;
    const title = row === column ? `${data.classes[row].name}: right`
      : `${data.classes[row].name} taken for ${data.classes[column].name}`;
    const text = `${share.toFixed(1)} % · ${frames[row][column]} of ${totals[row]} frames`;
    element.setAttribute("aria-valuenow", String(index));
    element.setAttribute("aria-valuetext", `${title}, ${text}`);
    return { row, column, title, text };
  }

  function point(index) {
    const { row, column, title, text } = describe(index);
    const box = element.getBoundingClientRect();
    const left = place.margin + column * place.cell, top = place.margin + row * place.cell;
    cursor.hidden = false;
    Object.assign(cursor.style, { left: `${left}px`, top: `${top}px`, bottom: "auto", width: `${place.cell}px`, height: `${place.cell}px` });
    showTip(title, text, box.left + left + place.cell / 2, box.top + top);
  }

  function leave() { cursor.hidden = true; hideTip(); }

  function pointed(event) {
    const box = element.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - place.margin) / place.cell);
    const row = Math.floor((event.clientY - box.top - place.margin) / place.cell);
    if (row >= 0 && column >= 0 && row < n && column < n) point(row * n + column); else leave();
  }

  followPointer(element, pointed, leave);
  element.addEventListener("blur", leave);
  element.addEventListener("focus", () => { if (element.matches(":focus-visible")) point(at); });
  element.addEventListener("keydown", (event) => {
    const row = Math.floor(at / n), column = at % n;
    const cells = { ArrowRight: [row, column + 1], ArrowLeft: [row, column - 1], ArrowDown: [row + 1, column], ArrowUp: [row - 1, column] };
    if (event.key === "Escape") leave();
    if (!(event.key in cells)) return;
    event.preventDefault();
    const [r, c] = cells[event.key].map((value) => Math.min(Math.max(value, 0), n - 1));
    point(r * n + c);
  });
  redrawn(canvas, draw);
  return (confusion) => {
    frames = confusion;
    totals = confusion.map((row) => row.reduce((sum, value) => sum + value, 0));
    describe(at);
    draw();
  };
}

function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let kept = text;
  while (kept && pen.measureText(`${kept}…`).width > width) kept = kept.slice(0, -1);
  return `${kept}…`;
}

function makeMap(one, rows) {
  const levels = Uint8Array.from(atob(one.levels), (character) => character.charCodeAt(0));
  const n = rows.actions.length;
  const box = make("div", "map");
  const canvas = make("canvas");
  box.style.height = `${Math.min(Math.max(n * 10, 60), 360)}px`;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${one.title}: ${n} segments by time`);
  box.append(canvas);
  redrawn(canvas, () => {
    const sheet = sharp(canvas);
    if (!sheet) return;
    const image = new ImageData(one.columns, n), shade = ramp();
    const shades = Array.from({ length: 256 }, (_, level) => shade(level / 255));
    levels.forEach((level, i) => { image.data.set([...shades[level], 255], i * 4); });
    const small = make("canvas");
    small.width = one.columns;
    small.height = n;
    small.getContext("2d").putImageData(image, 0, 0);
    sheet.pen.imageSmoothingEnabled = false;
    sheet.pen.drawImage(small, 0, 0, sheet.width, sheet.height);
  });
  function pointed(event) {
    const place = box.getBoundingClientRect();
    const row = Math.min(Math.max(Math.floor((event.clientY - place.top) / place.height * n), 0), n - 1);
    const share = Math.min(Math.max((event.clientX - place.left) / place.width, 0), 0.9999);
    const level = levels[row * one.columns + Math.floor(share * one.columns)] / 255;
    const frame = Math.floor(share * rows.frames);
    showTip(`${row + 1}. ${data.classes[rows.actions[row]].name}`, `${(level * 100).toFixed(0)} % of its maximum at ${moment(frame)}`, event.clientX, event.clientY - 8);
  }
  followPointer(box, pointed, hideTip);
  return box;
}
