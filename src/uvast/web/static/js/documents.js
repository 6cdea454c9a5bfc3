/** A video as the server acknowledged it, step by step, and what is on its way there. */

import { applied } from "./applied.js";
import { advanced, seen } from "./deltas.js";

const MOST_LATER = 100;

export class VideoDocument {
  /** @param {any} state */
  constructor(state) {
    this.server = seen(state);
    /** @type {import("./applied.js").Change[][]} batches that are on their way */
    this.waiting = [];
    /** @type {import("./deltas.js").Delta[]} heard of, and not shown while batches are on their way */
    this.later = [];
    this.heard = { stamp: state.stamp, version: state.version };
    this.cached = null;
  }

  /** The acknowledged state with the pending changes drawn in. */
  get shown() {
    this.cached ??= applied(this.server, this.waiting.flat());
    return this.cached;
  }

  /** Whether the server has told of a state that did not come. */
  get isBehind() {
    const { stamp, version } = this.heard;
    return stamp > this.server.stamp || version > this.server.version;
  }

  /** News of the server. @param {any} news */
  hear({ stamp = 0, version = 0, delta = null }) {
    this.heard.stamp = Math.max(this.heard.stamp, stamp);
    this.heard.version = Math.max(this.heard.version, version);
    if (delta) this.later = [...this.later, delta].slice(-MOST_LATER);
  }

  /** Shows an answer, a whole state or deltas, and what was heard of. @param {any} [answer] */
  take({ video = null, deltas = [] } = {}) {
    if (video && video.stamp > this.server.stamp) this.server = seen(video);
    for (const delta of [...deltas, ...this.later]) {
      if (delta.from === this.server.stamp) this.server = advanced(this.server, delta);
    }
    this.later = this.later.filter((one) => one.from >= this.server.stamp);
    this.cached = null;
  }
}
