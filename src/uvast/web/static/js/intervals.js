/** Segments in order of time, and what lies between them. Pure. */

/** @typedef {{start: number, end: number, label: string, id?: string}} Interval */

/**
 * The last index whose value is at most `value`, or -1.
 * @param {ArrayLike<number>} sorted
 * @param {number} value
 */
export function lastAtOrBefore(sorted, value) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Finds what is visible among thousands without looking at all of them. Imported segments may
 * overlap, but the running maximum of their ends never falls, so it can be bisected.
 */
export class IntervalIndex {
  /** @param {Interval[]} items in order of their starts */
  constructor(items) {
    this.items = items;
    this.starts = Float64Array.from(items, (one) => one.start);
    this.reach = new Float64Array(items.length);
    let reach = -Infinity;
    items.forEach((one, i) => (this.reach[i] = reach = Math.max(reach, one.end)));
  }

  /** The indices `[from, to)` that may touch a window. @param {number} start @param {number} end */
  range(start, end) {
    const from = lastAtOrBefore(this.reach, start) + 1;
    return [from, Math.max(from, lastAtOrBefore(this.starts, end) + 1)];
  }

  /** The shortest segment at a moment, or null. @param {number} seconds */
  at(seconds) {
    const [from, to] = this.range(seconds, seconds);
    let found = null;
    for (let i = from; i < to; i++) {
      const one = this.items[i];
      if (one.end <= seconds) continue;
      if (!found || one.end - one.start < found.end - found.start) found = one;
    }
    return found;
  }
}

/** Means of an even series over any stretch of time. With running sums, all cost the same. */
export class RunningMean {
  /** @param {number[]} values @param {number} step seconds from one to the next */
  constructor(values, step) {
    this.step = step;
    this.sums = new Float64Array(values.length + 1);
    for (let i = 0; i < values.length; i++) this.sums[i + 1] = this.sums[i] + values[i];
  }

  /** Of at least one value; 0 outside the series. @param {number} start @param {number} end */
  over(start, end) {
    const n = this.sums.length - 1;
    const first = Math.floor(start / this.step);
    const from = Math.min(Math.max(0, first), n);
    const to = Math.min(Math.max(0, Math.floor(end / this.step), first + 1), n);
    return to > from ? (this.sums[to] - this.sums[from]) / (to - from) : 0;
  }
}

/**
 * The parts of `[0, seconds)` that no span covers.
 * @param {[number, number][] | null} spans in order, not touching; null for everything
 * @param {number} seconds
 * @returns {[number, number][]}
 */
export function gaps(spans, seconds) {
  if (spans === null) return [];
  const found = [];
  let from = 0;
  for (const [start, end] of spans) {
    if (start > from) found.push([from, start]);
    from = Math.max(from, end);
  }
  if (from < seconds) found.push([from, seconds]);
  return found;
}

/**
 * All edges of segments and moments of clicks, in order, each once.
 * @param {{start: number, end: number | null}[]} events
 */
export function edges(events) {
  const times = new Set();
  for (const one of events) {
    times.add(one.start);
    if (one.end !== null) times.add(one.end);
  }
  return Float64Array.from(times).sort();
}

/**
 * The next edge before or after a moment; null if there is none.
 * @param {Float64Array} sorted
 * @param {number} seconds
 * @param {number} direction -1 or 1
 */
export function nextEdge(sorted, seconds, direction) {
  const small = 1e-3;
  const place = direction > 0
    ? lastAtOrBefore(sorted, seconds + small) + 1
    : lastAtOrBefore(sorted, seconds - small);
  return sorted[place] ?? null;
}

/**
 * The changes that make room for a new segment: others keep what lies outside of it.
 * @param {(Interval & {id: string})[]} segments
 * @param {number} start
 * @param {number} end
 */
export function carve(segments, start, end) {
  const changes = [];
  for (const one of segments) {
    if (one.end <= start || one.start >= end) continue;
    const [left, right] = [one.start < start, one.end > end];
    if (left) changes.push({ do: "move", id: one.id, start: one.start, end: start });
    else if (right) changes.push({ do: "move", id: one.id, start: end, end: one.end });
    else changes.push({ do: "delete", id: one.id });
    if (left && right) {
      changes.push({ do: "add", kind: "segment", label: one.label, start: end, end: one.end });
    }
  }
  return changes;
}

/**
 * The changes that move one edge of a segment; a neighbour that touches it there moves along.
 * @param {(Interval & {id: string})[]} segments in order
 * @param {string} id
 * @param {"start" | "end"} edge
 * @param {number} to
 * @param {number} shortest what must remain of each
 */
export function moveEdge(segments, id, edge, to, shortest) {
  const place = segments.findIndex((one) => one.id === id);
  const one = segments[place];
  if (!one) return [];
  const [before, after] = [segments[place - 1], segments[place + 1]];
  const touches = (left, right) => left && right && Math.abs(left.end - right.start) < 1e-6;
  if (edge === "start") {
    const joint = touches(before, one);
    const floor = before ? (joint ? before.start + shortest : before.end) : 0;
    const start = Math.min(Math.max(to, floor), one.end - shortest);
    const own = { do: "move", id, start, end: one.end };
    return joint ? [own, { do: "move", id: before.id, start: before.start, end: start }] : [own];
  }
  const joint = touches(one, after);
  const ceiling = after ? (joint ? after.end - shortest : after.start) : Infinity;
  const end = Math.max(Math.min(to, ceiling), one.start + shortest);
  const own = { do: "move", id, start: one.start, end };
  return joint ? [own, { do: "move", id: after.id, start: end, end: after.end }] : [own];
}
