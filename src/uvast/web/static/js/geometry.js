/** Where things are on the timeline. Pure. */

/**
 * @typedef {{start: number, end: number, width: number}} View the visible seconds, and their
 *   width in pixels
 */

const SHORTEST = 0.2;

/** @param {View} view @param {number} seconds */
export function toX(view, seconds) {
  return ((seconds - view.start) / (view.end - view.start)) * view.width;
}

/** @param {View} view @param {number} x */
export function toSeconds(view, x) {
  return view.start + (x / view.width) * (view.end - view.start);
}

/** The whole video. @param {number} seconds @param {number} width @returns {View} */
export function whole(seconds, width) {
  return { start: 0, end: Math.max(seconds, SHORTEST), width: Math.max(1, width) };
}

/**
 * Zooms in (factor > 1) or out; the moment `at` stays where it is on the screen.
 * @param {View} view @param {number} factor @param {number} at @param {number} seconds of the video
 */
export function zoomed(view, factor, at, seconds) {
  const before = view.end - view.start;
  const length = Math.min(Math.max(before / factor, SHORTEST), Math.max(seconds, SHORTEST));
  const start = at - ((at - view.start) / before) * length;
  return placed(view, start, length, seconds);
}

/**
 * Moved by some seconds.
 * @param {View} view
 * @param {number} by
 * @param {number} seconds of the video
 */
export function panned(view, by, seconds) {
  return placed(view, view.start + by, view.end - view.start, seconds);
}

/** A view of another place, within the video. */
function placed(view, start, length, seconds) {
  const from = Math.min(Math.max(0, start), Math.max(0, seconds - length));
  return { ...view, start: from, end: from + length };
}

/**
 * Turns the view like a page once the playhead has left it.
 * @param {View} view @param {number} at @param {number} seconds of the video
 */
export function following(view, at, seconds) {
  const length = view.end - view.start;
  if (at >= view.start && at <= view.end) return view;
  return placed(view, at - length * 0.1, length, seconds);
}

/**
 * Shows a stretch with some room around it.
 * @param {View} view
 * @param {number} start
 * @param {number} end
 * @param {number} seconds
 */
export function around(view, start, end, seconds) {
  const length = Math.min(Math.max((end - start) * 1.6, 4), Math.max(seconds, SHORTEST));
  return placed(view, (start + end) / 2 - length / 2, length, seconds);
}

const STEPS = [0.02, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

/**
 * Round moments for the ruler, about 90 pixels apart.
 * @param {View} view
 * @returns {{step: number, times: number[]}}
 */
export function ticks(view) {
  const wanted = ((view.end - view.start) / view.width) * 90;
  const step = STEPS.find((one) => one >= wanted) ?? 7200;
  const times = [];
  for (let i = Math.ceil(view.start / step); i * step <= view.end; i++) times.push(i * step);
  return { step, times };
}

/** @typedef {{name: string, title: string, top: number, height: number}} Lane */

const HEIGHTS = {
  ruler: ["", 22],
  strip: ["Pictures", 46],
  clicks: ["Clicks", 30],
  labels: ["Labels", 32],
  pseudo: ["From clicks", 26],
  prediction: ["Model", 26],
  band: ["How sure", 22],
};

/** The lanes from top to bottom. @param {(keyof typeof HEIGHTS)[]} names @returns {Lane[]} */
export function lanes(names) {
  let top = 0;
  return names.map((name) => {
    const [title, height] = HEIGHTS[name];
    const lane = { name, title, top, height };
    top += height + 3;
    return lane;
  });
}

/**
 * @typedef {{lane: string, kind: "click" | "edge" | "body" | "empty", item: any, edge?: "start" |
 *   "end"}} Hit
 */

/**
 * What is under the pointer.
 * @param {Lane[]} all
 * @param {{clicks: any[], labels: any, pseudo: any, prediction: any}} scene indices of the lanes
 * @param {View} view @param {number} x @param {number} y @param {number} reach pixels around an
 *   edge or click
 * @returns {Hit}
 */
export function hit(all, scene, view, x, y, reach) {
  const lane = all.find((one) => y >= one.top && y < one.top + one.height)?.name ?? "";
  const empty = { lane, kind: "empty", item: null };
  if (lane === "clicks") {
    const near = nearest(scene.clicks, view, x);
    return near
      && Math.abs(toX(view, near.start) - x) <= reach + 3
      ? { lane, kind: "click", item: near }
      : empty;
  }
  const index = { labels: scene.labels, pseudo: scene.pseudo, prediction: scene.prediction }[lane];
  if (!index) return empty;
  const seconds = toSeconds(view, x);
  const slack = (reach / view.width) * (view.end - view.start);
  const [from, to] = index.range(seconds - slack, seconds + slack);
  let best = null;
  for (let i = from; i < to; i++) {
    for (const edge of /** @type {const} */ (["start", "end"])) {
      const far = Math.abs(index.items[i][edge] - seconds);
      // where two segments touch, the side of the pointer decides
      const inside = (edge === "start") === seconds >= index.items[i].start ? 0 : slack * 0.01;
      if (far <= slack && (!best || far + inside < best.far)) {
        best = { far: far + inside, item: index.items[i], edge };
      }
    }
  }
  const body = index.at(seconds);
  const narrow = body && toX(view, body.end) - toX(view, body.start) < 3 * reach;
  if (best && !narrow) return { lane, kind: "edge", item: best.item, edge: best.edge };
  return body ? { lane, kind: "body", item: body } : empty;
}

function nearest(clicks, view, x) {
  const seconds = toSeconds(view, x);
  let [low, high] = [0, clicks.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (clicks[middle].start < seconds) low = middle + 1;
    else high = middle;
  }
  const around = [clicks[low - 1], clicks[low]].filter(Boolean);
  return around.sort(
    (a, b) => Math.abs(a.start - seconds) - Math.abs(b.start - seconds),
  )[0] ?? null;
}
