/** Film strips for the timeline: tiles of eight pictures, fetched when they come into view. */

import { addressOf } from "./api.js";

const N = 8;
const NARROWEST = 78;
const MOST_TILES = 80;
const AT_ONCE = 1; // single pictures, which somebody is waiting for, go first
const SECONDS_TO_RETRY = 5;

export class Strip {
  /** @param {any} state of the video @param {() => void} onload */
  constructor({ name, v, seconds }, onload) {
    Object.assign(this, { name, v, seconds: seconds ?? 0, onload });
    /** @type {Map<string, {image: HTMLImageElement, ready: boolean}>} */
    this.tiles = new Map();
    this.queue = [];
    this.n_loading = 0;
  }

  /**
   * The tiles of a view; asks for those that are missing.
   * @param {import("./geometry.js").View} view
   * @returns {{start: number, end: number, n: number, image: HTMLImageElement | null}[]}
   */
  visible(view) {
    const wanted = ((view.end - view.start) / view.width) * NARROWEST;
    const step = 2 ** Math.ceil(Math.log2(Math.max(wanted, 1 / 16)));
    const length = step * N;
    const found = [];
    const last = Math.min(view.end, this.seconds - 1e-3);
    for (let i = Math.floor(view.start / length); i * length < last; i++) {
      const end = Math.min((i + 1) * length, this.seconds);
      const n = Math.max(1, Math.round((end - i * length) / step));
      found.push({ start: i * length, end, n, image: this.#tile(i * length, end, n) });
    }
    // drop the requests for tiles that are no longer visible
    const seen = new Set(found.map((one) => `${one.start} ${one.n} ${one.end}`));
    this.queue = this.queue.filter((key) => seen.has(key) || (this.tiles.delete(key), false));
    return found;
  }

  #tile(start, end, n) {
    const key = `${start} ${n} ${end}`;
    const tile = this.tiles.get(key);
    if (tile) return tile.ready ? tile.image : null;
    this.tiles.set(key, { image: new Image(), ready: false });
    this.queue.push(key);
    setTimeout(() => this.#next(), 120);
    return null;
  }

  #next() {
    while (this.queue.length && this.n_loading < AT_ONCE) {
      const key = this.queue.shift();
      const [start, n, end] = key.split(" ");
      const tile = this.tiles.get(key);
      this.n_loading++;
      tile.image.src = addressOf("strip", this.name, { start, end, n, width: 112, v: this.v });
      const over = (ready) => {
        this.n_loading--;
        tile.ready = ready;
        this.#forget();
        if (ready) this.onload();
        this.#next();
      };
      tile.image.onload = () => over(true);
      tile.image.onerror = () => {
        setTimeout(() => this.tiles.delete(key), SECONDS_TO_RETRY * 1000);
        over(false);
      };
    }
  }

  #forget() {
    for (const key of this.tiles.keys()) {
      if (this.tiles.size <= MOST_TILES) break;
      this.tiles.delete(key);
    }
  }
}
