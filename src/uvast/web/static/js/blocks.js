/**
 * The segments of a lane: blocks with their names. Those too narrow for round corners share one row
 * of pixels, so that thousands of them cost one image.
 */

import { inkOn, mixed, pixelOf } from "./colours.js";

export const FONT = "12px system-ui, sans-serif";
const NARROW = 3;
const ROUND = 20;
const ROOM_FOR_TEXT = 26;
const PALE = 0.55;

/** @typedef {{fill: string, ink: string, pixel: number}} Look */
/** @typedef {import("./geometry.js").View} View */
/** @typedef {import("./geometry.js").Lane} Lane */

/** How the classes look in a lane; each look is computed once. */
export class Looks {
  /**
   * @param {(label: string) => {colour: string}} classOf
   * @param {string} ground the colour under them
   * @param {number} strength 0 to 1
   */
  constructor(classOf, ground, strength) {
    Object.assign(this, { classOf, ground, strength });
    /** @type {Map<string, Look>} */
    this.saved = new Map();
    /** @type {Map<string, Look>} */
    this.pending = new Map();
  }

  /** @param {{label: string, pending?: boolean}} item @returns {Look} */
  of(item) {
    const known = item.pending ? this.pending : this.saved;
    let look = known.get(item.label);
    if (!look) {
      const strength = item.pending ? this.strength * PALE : this.strength;
      const fill = mixed(this.classOf(item.label).colour, this.ground, strength);
      look = { fill, ink: inkOn(fill), pixel: pixelOf(fill) };
      known.set(item.label, look);
    }
    return look;
  }
}

/** One row of pixels, stretched to the height of a lane. */
export class PixelRow {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.canvas.height = 1;
    this.n = 0;
  }

  /** @param {number} width of the lane @param {number} dots device pixels per CSS pixel */
  begin(width, dots) {
    const n = Math.round(width * dots);
    if (n !== this.n) {
      this.n = this.canvas.width = n;
      this.pen = this.canvas.getContext("2d", { willReadFrequently: true });
      this.image = this.pen.createImageData(n, 1);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else if (this.end) this.pixels.fill(0);
    /** one past the last pixel set; 0 while the row is empty */
    this.end = 0;
    this.dots = dots;
  }

  /**
   * Selects the pixels whose centres lie in a stretch, or the single pixel that contains it.
   * @param {number} x @param {number} end
   * @returns {boolean} whether any would be visible; if so, `fill` colours them
   */
  take(x, end) {
    this.from = Math.ceil(x * this.dots - 0.5);
    this.to = Math.ceil(end * this.dots - 0.5);
    if (this.to <= this.from) {
      this.from = Math.floor(x * this.dots);
      this.to = this.from + 1;
    }
    return this.to > this.end;
  }

  /** @param {number} pixel */
  fill(pixel) {
    this.pixels.fill(pixel, Math.max(0, this.from), this.to);
    this.end = this.to;
  }

  /** @param {CanvasRenderingContext2D} context @param {number} top @param {number} height */
  paint(context, top, height) {
    if (!this.end) return;
    this.pen.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, 0, top, this.n / this.dots, height);
    context.imageSmoothingEnabled = true;
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {import("./intervals.js").IntervalIndex} index
 * @param {{looks: Looks, row: PixelRow, selected: string | null, ink: string, dots: number}} style
 * @param {View} view
 */
export function paintBlocks(context, lane, index, style, view) {
  const { looks, row, selected } = style;
  const [from, to] = index.range(view.start, view.end);
  const scale = view.width / (view.end - view.start);
  row.begin(view.width, style.dots);
  let chosen = null;
  for (let i = from; i < to; i++) {
    const one = index.items[i];
    const x = (one.start - view.start) * scale;
    const end = (one.end - view.start) * scale;
    if (selected !== null && one.id === selected) chosen = one;
    if (end - x < ROUND) {
      const gap = end - x < NARROW ? 0 : 1;
      if (row.take(x, end - gap)) row.fill(looks.of(one).pixel);
    } else paintBlock(context, lane, one.label, looks.of(one), x, end - x - 1, view);
  }
  row.paint(context, lane.top + 1, lane.height - 2);
  if (!chosen) return;
  const x = (chosen.start - view.start) * scale;
  outline(context, lane, style.ink, x, Math.max(3, (chosen.end - chosen.start) * scale - 1));
}

function paintBlock(context, lane, label, look, x, width, view) {
  context.fillStyle = look.fill;
  // cut off what lies outside, far enough away that the round corners stay hidden
  const left = Math.max(x, -ROUND);
  fillBox(context, lane, left, Math.min(x + width, view.width + ROUND) - left);
  if (width > ROOM_FOR_TEXT) paintText(context, lane, label, look.ink, x, width, view);
}

/** @param {CanvasRenderingContext2D} context @param {Lane} lane */
export function fillBox(context, lane, x, width) {
  context.beginPath();
  context.roundRect(x, lane.top + 1, width, lane.height - 2, 3);
  context.fill();
}

/** @param {CanvasRenderingContext2D} context @param {Lane} lane @param {string} ink */
export function outline(context, lane, ink, x, width) {
  context.strokeStyle = ink;
  context.lineWidth = 2.5;
  context.beginPath();
  context.roundRect(x + 1, lane.top + 1.5, Math.max(1, width - 2), lane.height - 3, 3);
  context.stroke();
}

/** @type {Map<string, number>} widths of labels, all in one font */
const widths = new Map();

/** Writes the label where its block is visible; shortens it by the mean width of its letters. */
export function paintText(context, lane, label, ink, x, width, view) {
  const from = Math.max(x, 0) + 6;
  const room = Math.min(x + width, view.width) - from - 4;
  let wide = widths.get(label);
  if (wide === undefined) widths.set(label, (wide = context.measureText(label).width));
  const letters = wide <= room ? label.length : Math.floor((room / wide) * label.length) - 1;
  if (letters < 2) return;
  context.fillStyle = ink;
  const text = letters < label.length ? `${label.slice(0, letters)}…` : label;
  context.fillText(text, from, lane.top + lane.height / 2 + 0.5);
}
