/** Turns what a person does into changes for the server. Pure. */

import { carve, moveEdge } from "./intervals.js";

/** @typedef {import("./applied.js").Item} Item */

/** @param {Item[]} events */
function segmentsOf(events) {
  return events.filter((one) => one.end !== null);
}

/** @param {Item[]} events */
function clicksOf(events) {
  return events.filter((one) => one.end === null);
}

/** The segment at a moment. @param {Item[]} events @param {number} seconds */
export function segmentAt(events, seconds) {
  return segmentsOf(events).find(
    (one) => one.start <= seconds + 1e-6 && seconds + 1e-6 < one.end,
  ) ?? null;
}

/**
 * A new segment; others make room.
 * @param {Item[]} events
 * @param {string} label
 * @param {number} start
 * @param {number} end
 */
export function placeSegment(events, label, start, end) {
  const [from, to] = start < end ? [start, end] : [end, start];
  return [
    ...carve(segmentsOf(events), from, to),
    { do: "add", kind: "segment", label, start: from, end: to },
  ];
}

/**
 * A new click. If the frame already has one, that one gets the label: a frame holds one click. A
 * click outside the parts that were answered for makes the clicks stand for the whole video.
 * @param {{events: Item[], observed: [number, number][] | null}} state @param {string} label
 * @param {number} seconds @param {number} frame length of a frame
 */
export function placeClick({ events, observed }, label, seconds, frame) {
  const there = clicksOf(events).find((one) => Math.abs(one.start - seconds) < frame / 2);
  if (there) return there.label === label ? [] : [{ do: "relabel", id: there.id, label }];
  const click = { do: "add", kind: "click", label, start: seconds };
  const isInside = observed?.some(([start, end]) => start <= seconds && seconds <= end) ?? true;
  if (isInside || segmentsOf(events).length) return [click];
  return [click, { do: "observed", spans: [] }];
}

/**
 * Answers a question about a stretch with a click that stands for this stretch only. In a video
 * with segments the answer is a segment; where clicks stand for the whole video, it is one more of
 * them.
 * @param {{events: Item[], observed: [number, number][] | null}} state @param {string} label
 * @param {{start: number, end: number}} stretch @param {number} frame length of a frame
 */
export function placeAnswer({ events, observed }, label, { start, end }, frame) {
  if (segmentsOf(events).length) return placeSegment(events, label, start, end);
  const click = placeClick({ events, observed: null }, label, (start + end) / 2, frame);
  if (events.length && observed === null) return click;
  return [...click, { do: "observed", spans: [...(observed ?? []), [start, end]] }];
}

/** @param {Item[]} events @param {string | null} id @param {number} seconds */
export function splitHere(events, id, seconds) {
  const one = events.find(
    (other) => other.id === id
      && other.end !== null
      && other.start < seconds
      && seconds < other.end,
  ) ?? segmentAt(events, seconds);
  return one && one.start < seconds ? [{ do: "split", id: one.id, at: seconds }] : [];
}

/**
 * Joins a segment with the one after it.
 * @param {Item[]} events
 * @param {string | null} id
 * @param {number} seconds
 */
export function mergeNext(events, id, seconds) {
  const segments = segmentsOf(events);
  const one = segments.find((other) => other.id === id) ?? segmentAt(events, seconds);
  const next = segments[segments.indexOf(one) + 1];
  return one && next ? [{ do: "merge", ids: [one.id, next.id] }] : [];
}

/**
 * Moves a click, an edge or a whole segment.
 * @param {Item[]} events
 * @param {{kind: string, item: Item, edge?: "start" | "end"}} grip
 * @param {number} to
 * @param {number} frame length of a frame
 * @param {number} [seconds] length of the video
 */
export function moveTo(events, grip, to, frame, seconds = Infinity) {
  const { item, kind, edge } = grip;
  if (kind === "click") return [{ do: "move", id: item.id, start: to }];
  const segments = segmentsOf(events);
  if (kind === "edge") return moveEdge(segments, item.id, edge, to, frame);
  const place = segments.findIndex((one) => one.id === item.id);
  const length = item.end - item.start;
  const floor = segments[place - 1]?.end ?? 0;
  const ceiling = (segments[place + 1]?.start ?? seconds) - length;
  const start = Math.max(floor, Math.min(to, ceiling));
  return [{ do: "move", id: item.id, start, end: start + length }];
}

/**
 * Moves the edge or click nearest to a moment by one frame. If an event is selected, only its edges
 * count.
 * @param {Item[]} events @param {string | null} id @param {number} seconds
 * @param {(seconds: number, kind: string) => number} shift moves a click or an edge to the
 *   frame before or after
 * @param {number} frame length of a frame
 * @returns {{changes: any[], at: number | null}} and where the edge is afterwards
 */
export function nudge(events, id, seconds, shift, frame) {
  const chosen = events.filter((one) => one.id === id);
  let best = null;
  for (const item of chosen.length ? chosen : events) {
    const grips = item.end === null
      ? [["click", item.start]]
      : [["start", item.start], ["end", item.end]];
    for (const [edge, at] of grips) {
      const far = Math.abs(at - seconds);
      if (!best || far < best.far) {
        best = { far, at, item, edge, kind: edge === "click" ? "click" : "edge" };
      }
    }
  }
  if (!best) return { changes: [], at: null };
  const changes = moveTo(events, best, shift(best.at, best.kind), frame);
  const own = changes.find((one) => one.id === best.item.id);
  const at = own && (best.edge === "end" ? own.end : own.start);
  return at === best.at ? { changes: [], at } : { changes, at };
}
