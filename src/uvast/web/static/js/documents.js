/** A video as the server acknowledged it, step by step, and what is on its way there. */

import { applied, renamed } from "./applied.js";
import { advanced, seen } from "./deltas.js";

const MOST_LATER = 100;

/**
 * @typedef {object} Batch
 * @property {import("./applied.js").Change[]} changes that are made together
 * @property {number} seen the version that was shown when they were made
 * @property {any} prediction that was shown then
 * @property {string} author
 */

export class VideoDocument {
  /** @param {any} state */
  constructor(state) {
    this.server = seen(state);
    /** @type {Batch[]} on their way */
    this.waiting = [];
    /** @type {import("./deltas.js").Delta[]} heard of, and not shown while batches are on their way */
    this.later = [];
    this.heard = { stamp: state.stamp, version: state.version };
    /** @type {Map<string, string>} what the server calls the events that were named here */
    this.names = new Map();
    this.cached = null;
  }

  /** The acknowledged state with the pending changes drawn in. */
  get shown() {
    this.cached ??= applied(this.server, this.waiting.flatMap((one) => one.changes));
    return this.cached;
  }

  /** Whether the server has told of a state that did not come. */
  get isBehind() {
    const { stamp, version } = this.heard;
    return stamp > this.server.stamp || version > this.server.version;
  }

  /** The name of an event now, whatever it was when somebody took hold of it. @param {string} id */
  nameOf(id) {
    return this.names.get(id) ?? id;
  }

  /** Whether a batch takes over what a model says, unseen. @param {Batch} batch */
  isUnseen({ changes, prediction }) {
    const takes = changes.some((one) => one.from === "prediction");
    return takes && prediction !== this.server.prediction;
  }

  /** News of the server. @param {any} news */
  hear({ stamp = 0, version = 0, delta = null }) {
    this.heard.stamp = Math.max(this.heard.stamp, stamp);
    this.heard.version = Math.max(this.heard.version, version);
    if (delta) this.later = [...this.later, delta].slice(-MOST_LATER);
  }

  /**
   * The first batch was made: those behind it know of it, and of nothing else that they did not.
   * @param {number | null} made the version that it led to
   * @param {Map<string, string>} names of its new events
   */
  acknowledge(made, names) {
    for (const [old, name] of names) this.names.set(old, name);
    this.waiting = this.waiting.slice(1).map(({ changes, seen, ...rest }) => ({
      ...rest,
      changes: changes.map((one) => renamed(one, names)),
      seen: made === seen + 1 ? made : seen,
    }));
  }

  /** Shows an answer, a whole state or deltas, and what was heard of. @param {any} [answer] */
  take({ video = null, deltas = [] } = {}) {
    if (video && video.stamp > this.server.stamp) this.server = seen(this.#withPrediction(video));
    for (const delta of [...deltas, ...this.later]) {
      if (delta.from === this.server.stamp) this.server = advanced(this.server, delta);
    }
    this.later = this.later.filter((one) => one.from >= this.server.stamp);
    this.cached = null;
  }

  /** One that says the same stays the very same, so that another one is told by a look. */
  #withPrediction(video) {
    const { prediction } = this.server;
    const isSame = JSON.stringify(video.prediction) === JSON.stringify(prediction);
    return isSame ? { ...video, prediction } : video;
  }
}
