// One timeline: a bar of coloured segments or clicks, which tells what is under the pointer.
function segments(runs, sure) {
  const actions = [], starts = [], ends = [];
  let end = 0;
  for (let i = 0; i < runs.length; i += 2) {
    actions.push(runs[i]);
    starts.push(end);
    end += runs[i + 1];
    ends.push(end);
  }
  return { actions, starts, ends, frames: end, sure: sure?.length ? sure : null };
}

function clicks(pairs, frames) {
  const actions = pairs.filter((_, i) => i % 2 === 0), starts = pairs.filter((_, i) => i % 2);
  return { actions, starts, ends: starts.map((frame) => frame + 1), frames, points: true, sure: null };
}

// The segment at a frame, or the click nearest to it.
function partAt(track, frame) {
  let low = 0, high = track.ends.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (track.ends[middle] > frame) high = middle; else low = middle + 1;
  }
  if (low && track.starts[low] > frame && frame - track.ends[low - 1] < track.starts[low] - frame) low -= 1;
  return low;
}

function drawSegments({ pen, width, height }, track, heights) {
  track.starts.forEach((start, i) => {
    const left = start / track.frames * width, right = track.ends[i] / track.frames * width;
    const top = heights && track.sure ? height * (1 - Math.max(track.sure[i], 15) / 100) : 0;
    pen.fillStyle = fillOf(track.actions[i]);
    // The part above the confidence is pale. A slight overlap hides the seam between neighbours.
    pen.globalAlpha = 0.25;
    if (top) pen.fillRect(left, 0, right - left + 0.5, top);
    pen.globalAlpha = 1;
    pen.fillRect(left, top, right - left + 0.5, height - top);
    // A gap shows where long segments meet.
    if (i && right - left > 3) { pen.fillStyle = colour("--ground"); pen.fillRect(left, 0, 1, height); }
  });
}

function drawClicks({ pen, width, height }, track) {
  track.starts.forEach((frame, i) => {
    const x = Math.min(Math.max((frame + 0.5) / track.frames * width, 3), width - 3);
    pen.fillStyle = colour("--ink"); pen.fillRect(x - 3, 0, 6, height);
    pen.fillStyle = fills[track.actions[i]]; pen.fillRect(x - 2, 1, 4, height - 2);
  });
}

// name: what the timeline shows; moved: called with the pointer's position, from 0 to 1, or null.
function makeTrack(name, track, { moved = () => {}, heights = false } = {}) {
  const bar = make("div", track.points ? "track points" : "track");
  const canvas = make("canvas");
  const cursor = make("span", "cursor");
  canvas.setAttribute("aria-hidden", "true");
  cursor.hidden = true;
  bar.append(canvas, cursor);
  bar.tabIndex = 0;
  bar.setAttribute("role", "slider");
  bar.setAttribute("aria-readonly", "true");
  bar.setAttribute("aria-label", `${name}, ${track.ends.length} ${track.points ? "clicks" : "segments"}`);
  bar.setAttribute("aria-valuemin", "1");
  bar.setAttribute("aria-valuemax", String(track.ends.length));
  let at = 0;

  function describe(index) {
    at = index;
    const start = track.starts[index], end = track.ends[index];
    const label = nameOf(track.actions[index]);
    const place = track.points ? moment(start) : span(start, end);
    const text = track.sure ? `${place} · ${track.sure[index]} % sure` : place;
    bar.setAttribute("aria-valuenow", String(index + 1));
    bar.setAttribute("aria-valuetext", `${label}, ${text}`);
    return { label, start, end, text };
  }

  function point(index, x) {
    const { label, start, end, text } = describe(index);
    const box = bar.getBoundingClientRect();
    cursor.hidden = false;
    cursor.style.left = `${start / track.frames * 100}%`;
    cursor.style.width = `${(end - start) / track.frames * 100}%`;
    const middle = box.left + (start + end) / 2 / track.frames * box.width;
    // Above all timelines of the video, so that the tip hides none of them.
    const highest = bar.closest(".tracks")?.getBoundingClientRect().top ?? box.top;
    showTip(label, `${name}\n${text}`, x ?? middle, highest > 120 ? highest : box.top);
  }

  function leave() { cursor.hidden = true; hideTip(); moved(null); }

  function pointed(event) {
    const box = bar.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    point(partAt(track, Math.min(share * track.frames, track.frames - 1)), event.clientX);
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
  redrawn(canvas, () => {
    const sheet = sharp(canvas);
    if (sheet) (track.points ? drawClicks : drawSegments)(sheet, track, heights);
  });
  return bar;
}

// Very tall and very wide pictures are cropped, so that all strips have about the same height.
function cellShape(strip) { return Math.min(Math.max(strip.shape, 1), 2); }

// Pictures under the timelines; each shows the middle of its part of the video.
function makeStrip(video, moved) {
  const strip = make("div", "strip");
  strip.setAttribute("role", "group");
  strip.setAttribute("aria-label", `${video.name}, pictures`);
  const parts = video.strip.pictures.length;
  video.strip.pictures.forEach((picture, i) => {
    const image = make("img");
    const frame = Math.floor((i + 0.5) / parts * video.frames);
    image.src = `data:${data.imageType};base64,${picture}`;
    image.alt = moment(frame);
    image.draggable = false;
    const leave = () => { hideTip(); moved(null); };
    followPointer(image, () => {
      const box = image.getBoundingClientRect();
      const highest = strip.closest(".tracks").getBoundingClientRect().top;
      showTip("picture", moment(frame), box.left + box.width / 2, highest > 120 ? highest : box.top);
      moved((frame + 0.5) / video.frames);
    }, leave);
    strip.append(image);
  });
  return strip;
}

// The step between the marks of an axis: round in seconds and minutes, or in frames.
function step(length, most) {
  const round = data.fps ? [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600] : [1, 2, 5];
  const found = round.find((one) => length / one <= most);
  if (found) return found;
  let unit = data.fps ? 7200 : 10;
  while (length / unit > most) unit *= String(unit).startsWith("2") ? 2.5 : 2;
  return unit;
}

function makeAxis(frames) {
  const box = make("div", "axis");
  const canvas = make("canvas");
  canvas.setAttribute("aria-hidden", "true");
  box.append(canvas);
  redrawn(canvas, () => {
    const sheet = sharp(canvas);
    if (!sheet) return;
    const { pen, width } = sheet;
    const length = data.fps ? frames / data.fps : frames;
    const each = step(length, Math.max(width / 72, 1));
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "top";
    for (let mark = 0; mark * each <= length * 1.000001; mark++) {
      const value = mark * each, x = value / length * width;
      pen.fillStyle = colour("--line");
      pen.fillRect(Math.min(x, width - 1), 0, 1, 4);
      const text = data.fps ? clock(value, each < 1 ? 1 : 0) : String(value);
      const left = Math.min(Math.max(x - pen.measureText(text).width / 2, 0), width - pen.measureText(text).width);
      pen.fillStyle = colour("--muted");
      pen.fillText(text, left, 5);
    }
  });
  return box;
}
