/** Features as a picture, for projects without video files: time from left to right. */

import { addressOf, get } from "./api.js";
import { h } from "./dom.js";

/** Dark blue through green to yellow; even steps look even. @param {number} value 0 to 1 */
export function heat(value) {
  const stops = [[38, 12, 81], [52, 95, 141], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const place = Math.min(Math.max(value, 0), 0.9999) * (stops.length - 1);
  const [from, to, share] = [stops[Math.floor(place)], stops[Math.floor(place) + 1], place % 1];
  return from.map((one, i) => Math.round(one + share * (to[i] - one)));
}

export class HeatMap {
  /** @param {string} name of the video @param {number} seconds */
  constructor(name, seconds) {
    Object.assign(this, { name, seconds, from: 0, to: 0, asked: "" });
    this.canvas = h("canvas", { class: "heat", role: "img", "aria-label": "Features over time" });
    this.head = h("div", { class: "heat-head" });
    this.element = h("div", { class: "heat-map" }, this.canvas, this.head);
  }

  /** Shows the surroundings of a moment. @param {number} seconds */
  async show(seconds) {
    const length = Math.min(this.seconds, 30);
    const page = Math.floor(seconds / (length || 1));
    const start = Math.min(page * length, Math.max(0, this.seconds - length));
    this.head.style.setProperty("left", `${(100 * (seconds - start)) / (length || 1)}%`);
    const query = { start, end: start + length, width: 600 };
    const key = JSON.stringify(query);
    if (key === this.asked) return;
    this.asked = key;
    const answer = await get(
      addressOf("api/videos", this.name) + `/features?${new URLSearchParams(query)}`,
    ).catch(() => null);
    if (answer && key === this.asked) this.#draw(answer);
  }

  /**
   * @param {{rows: number[][], start: number, end: number}} map values 0 to 255, one row per group
   *   of features
   */
  #draw({ rows }) {
    const [width, height] = [rows[0].length, rows.length];
    Object.assign(this.canvas, { width, height });
    const context = this.canvas.getContext("2d");
    const picture = context.createImageData(width, height);
    rows.flat().forEach((value, i) => picture.data.set([...heat(value / 255), 255], 4 * i));
    context.putImageData(picture, 0, 0);
  }
}
