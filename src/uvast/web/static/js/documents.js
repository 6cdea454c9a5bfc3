/** A video as the server has acknowledged it, and the changes on their way to the server. */

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
    /** @type {Batch[]} on their way to the server */
    this.waiting = [];
    /** @type {import("./deltas.js").Delta[]} received, but not shown while batches are waiting */
    this.later = [];
    this.heard = { stamp: state.stamp, version: state.version };
    /** @type {Map<string, string>} the server's names of events that were named here */
    this.names = new Map();
    this.cached = null;
  }

  /** The acknowledged state with the pending changes drawn in. */
  get shown() {
    this.cached ??= applied(this.server, this.waiting.flatMap((one) => one.changes));
    return this.cached;
  }

  /** Whether the server has announced a state that has not arrived. */
  get isBehind() {
    const { stamp, version } = this.heard;
    return stamp > this.server.stamp || version > this.server.version;
  }

  /** The current name of an event, given any it has had. @param {string} id */
  nameOf(id) {
    return this.names.get(id) ?? id;
  }

  /** Whether a batch accepts a prediction that has changed since. @param {Batch} batch */
  isUnseen({ changes, prediction }) {
    const takes = changes.some((one) => one.from === "prediction");
    return takes && prediction !== this.server.prediction;
  }

  /** Takes note of news from the server. @param {any} news */
  hear({ stamp = 0, version = 0, delta = null }) {
    this.heard.stamp = Math.max(this.heard.stamp, stamp);
    this.heard.version = Math.max(this.heard.version, version);
    if (delta) this.later = [...this.later, delta].slice(-MOST_LATER);
  }

  /**
   * The server has made the first batch. The batches behind it now count as based on it, but not on
   * anything else that happened meanwhile.
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

  /** Takes in an answer (a whole state or deltas) and the waiting deltas. @param {any} [answer] */
  take({ video = null, deltas = [] } = {}) {
    if (video && video.stamp > this.server.stamp) this.server = seen(this.#withPrediction(video));
    for (const delta of [...deltas, ...this.later]) {
      if (delta.from === this.server.stamp) this.server = advanced(this.server, delta);
    }
    this.later = this.later.filter((one) => one.from >= this.server.stamp);
    this.cached = null;
  }

  /** Keeps the old object if the prediction is the same, so that `===` tells whether it is new. */
  #withPrediction(video) {
    const { prediction } = this.server;
    const isSame = JSON.stringify(video.prediction) === JSON.stringify(prediction);
    return isSame ? { ...video, prediction } : video;
  }
}
