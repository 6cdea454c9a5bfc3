// One timeline: a bar of coloured segments that tells what lies under the pointer or the arrows.
function unpack(runs) {
  const actions = [], ends = [];
  let end = 0;
  for (let i = 0; i < runs.length; i += 2) {
    end += runs[i + 1];
    actions.push(runs[i]);
    ends.push(end);
  }
  return { actions, ends, frames: end };
}

function segmentAt(track, frame) {
  let low = 0, high = track.ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.ends[middle] > frame) high = middle; else low = middle + 1;
  }
  return low;
}

function drawTrack(canvas, track, ticks) {
  const sheet = sharp(canvas);
  if (!sheet) return;
  const { pen, width, height } = sheet;
  let start = 0;
  track.ends.forEach((end, i) => {
    pen.fillStyle = fills[track.actions[i]];
    const left = start / track.frames * width, right = end / track.frames * width;
    // A little overlap hides the seam between neighbours; a gap shows where two long ones meet.
    pen.fillRect(left, 0, right - left + 0.5, height);
    if (i && right - left > 3) { pen.fillStyle = colour("--ground"); pen.fillRect(left, 0, 1, height); }
    start = end;
  });
  if (!ticks) return;
  for (const frame of ticks) {
    const x = (frame + 0.5) / track.frames * width;
    pen.fillStyle = colour("--ground"); pen.fillRect(x - 2, 0, 4, height);
    pen.fillStyle = colour("--ink"); pen.fillRect(x - 1, 0, 2, height);
  }
}

// name: what the timeline shows; moved: told the place of the pointer, from 0 to 1, or null.
function makeTrack(name, track, { ticks = null, moved = () => {} } = {}) {
  const bar = make("div", "track");
  const canvas = make("canvas");
  const cursor = make("span", "cursor");
  canvas.setAttribute("aria-hidden", "true");
  cursor.hidden = true;
  bar.append(canvas, cursor);
  bar.tabIndex = 0;
  bar.setAttribute("role", "slider");
  bar.setAttribute("aria-readonly", "true");
  bar.setAttribute("aria-label", `${name}, ${track.ends.length} segments`);
  bar.setAttribute("aria-valuemin", "1");
  bar.setAttribute("aria-valuemax", String(track.ends.length));
  let at = 0;

  function describe(index) {
    at = index;
    const start = index ? track.ends[index - 1] : 0, end = track.ends[index];
    const label = data.classes[track.actions[index]].name;
    bar.setAttribute("aria-valuenow", String(index + 1));
    bar.setAttribute("aria-valuetext", `${label}, ${span(start, end)}`);
    return { label, start, end };
  }

  function point(index, x) {
    const { label, start, end } = describe(index);
    const box = bar.getBoundingClientRect();
    cursor.hidden = false;
    cursor.style.left = `${start / track.frames * 100}%`;
    cursor.style.width = `${(end - start) / track.frames * 100}%`;
    const middle = box.left + (start + end) / 2 / track.frames * box.width;
    // Above all timelines of the video, so that none of them is hidden while they are compared.
    const highest = bar.closest(".tracks")?.getBoundingClientRect().top ?? box.top;
    showTip(label, `${name}\n${span(start, end)}`, x ?? middle, highest > 120 ? highest : box.top);
  }

  function leave() { cursor.hidden = true; hideTip(); moved(null); }

  function pointed(event) {
    const box = bar.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    point(segmentAt(track, Math.min(share * track.frames, track.frames - 1)), event.clientX);
    moved(share);
  }

  followPointer(bar, pointed, leave);
  bar.addEventListener("blur", leave);
  bar.addEventListener("focus", () => { if (bar.matches(":focus-visible")) point(at); });
  bar.addEventListener("keydown", (event) => {
    const last = track.ends.length - 1;
    const steps = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: last };
    if (event.key === "Escape") leave();
    if (!(event.key in steps)) return;
    event.preventDefault();
    point(Math.min(Math.max(steps[event.key], 0), last));
  });
  describe(0);
  redrawn(canvas, () => drawTrack(canvas, track, ticks));
  return bar;
}
