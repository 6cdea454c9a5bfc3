/** Takes a video from one state to the next, by the server's deltas. Pure. */

/** @typedef {import("./applied.js").Item} Item */
/**
 * @typedef {object} Delta
 * @property {number} from the stamp of the state that it applies to
 * @property {number} stamp of the state that it leads to
 * @property {Item[]} set events that are new or changed
 * @property {string[]} gone
 * @property {Record<string, any>} about whatever else has changed
 * @property {{at: number, gone: number, new: any[]}} [pseudo]
 */

/** A state as the server sent it, with what can be derived from it. @param {any} state */
export function seen(state) {
  return { ...state, observed: observedOf(state.looked_at, state.events) };
}

/**
 * The next state.
 * @param {any} state that the delta applies to
 * @param {Delta} delta
 */
export function advanced(state, delta) {
  const { at, gone, new: added } = delta.pseudo ?? { at: 0, gone: 0, new: [] };
  return seen({
    ...state,
    ...delta.about,
    stamp: delta.stamp,
    events: withEvents(state.events, delta),
    pseudo: delta.pseudo ? state.pseudo.toSpliced(at, gone, ...added) : state.pseudo,
  });
}

/** @param {Item[]} events @param {Delta} delta */
function withEvents(events, { set, gone }) {
  if (!set.length && !gone.length) return events;
  const old = new Set([...gone, ...set.map((one) => one.id)]);
  return [...events.filter((one) => !old.has(one.id)), ...set].sort(inTime);
}

/** @param {Item} one @param {Item} other */
export function inTime(one, other) {
  return one.start - other.start || (one.end ?? one.start) - (other.end ?? other.start);
}

/**
 * What counts as looked at, like `Document.observed` on the server; null for the whole video.
 * Segments cover their own stretch; clicks alone cover the whole video unless somebody said
 * otherwise.
 * @param {number[][] | null} lookedAt
 * @param {Item[]} events
 * @returns {number[][] | null}
 */
export function observedOf(lookedAt, events) {
  const segments = events.filter((one) => one.end !== null);
  if (!lookedAt || !(lookedAt.length || segments.length)) return null;
  const spans = [...lookedAt, ...segments.map((one) => [one.start, one.end])];
  const found = [];
  for (const [start, end] of spans.sort((one, other) => one[0] - other[0])) {
    const last = found.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else found.push([start, end]);
  }
  return found;
}
