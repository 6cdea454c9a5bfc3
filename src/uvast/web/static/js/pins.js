/** The clicks on the timeline: pins with the key of their class, each kind drawn once. */

import { FONT } from "./blocks.js";
import { toX } from "./geometry.js";
import { lastAtOrBefore } from "./intervals.js";

const PIN_WIDTH = 16;
const MARGIN = 1;

/** @typedef {import("./blocks.js").Look} Look */
/** @typedef {import("./geometry.js").Lane} Lane */
/** @typedef {import("./geometry.js").View} View */
/** @typedef {import("./scene.js").Scene} Scene */

/** Pictures of pins: cheaper than drawing their outlines and letters every time. */
export class Pins {
  /** @param {number} dots device pixels per CSS pixel */
  constructor(dots) {
    this.dots = dots;
    /** @type {Map<string, ImageBitmap>} */
    this.known = new Map();
  }

  /** @param {Lane} lane @param {Look} look @param {string} key @returns {ImageBitmap} */
  of({ height }, look, key) {
    const name = `${look.fill}${key}`;
    let picture = this.known.get(name);
    if (!picture) {
      const wide = PIN_WIDTH + 2 * MARGIN;
      const sheet = new OffscreenCanvas(Math.ceil(wide * this.dots), Math.ceil(height * this.dots));
      const pen = sheet.getContext("2d");
      pen.scale(this.dots, this.dots);
      draw(pen, height, look, key);
      this.known.set(name, (picture = sheet.transferToImageBitmap()));
    }
    return picture;
  }
}

/** @param {OffscreenCanvasRenderingContext2D} pen */
function draw(pen, height, look, key) {
  const x = PIN_WIDTH / 2 + MARGIN;
  pen.fillStyle = look.fill;
  outlinePin(pen, 0, height, x);
  pen.fill();
  pen.fillStyle = look.ink;
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  pen.fillText(key.toUpperCase(), x, 11.5);
}

/**
 * One pin per click. Where clicks are dense, one per pin's width; the others are thin lines. The
 * places for pins are fixed in time, so that pins do not jump while panning.
 * @param {CanvasRenderingContext2D} context
 * @param {Lane} lane
 * @param {Scene} scene
 * @param {View} view
 */
export function paintClicks(context, lane, scene, view) {
  const { clicks, clickTimes, row } = scene;
  const looks = scene.looks.clicks;
  const scale = view.width / (view.end - view.start);
  const margin = PIN_WIDTH / scale;
  const from = lastAtOrBefore(clickTimes, view.start - margin) + 1;
  const to = lastAtOrBefore(clickTimes, view.end + margin) + 1;
  row.begin(view.width, scene.dots);
  for (let i = from; i < to; i++) {
    const x = (clickTimes[i] - view.start) * scale;
    if (row.take(x, x + 1)) row.fill(looks.of(clicks[i]).pixel);
  }
  row.paint(context, lane.top + 4, lane.height - 5);
  let last = -1;
  for (let i = from; i < to; i++) {
    const place = Math.floor((clickTimes[i] * scale) / PIN_WIDTH);
    if (place === last) continue;
    last = place;
    paintPin(context, lane, scene, clicks[i], (clickTimes[i] - view.start) * scale);
  }
}

/** A click with the key of its class. */
function paintPin(context, lane, scene, click, x) {
  const { dots, pins, looks } = scene;
  const picture = pins.of(lane, looks.clicks.of(click), scene.classOf(click.label).key);
  const left = Math.round((x - PIN_WIDTH / 2 - MARGIN) * dots) / dots; // so that it stays sharp
  context.drawImage(picture, left, lane.top, picture.width / dots, picture.height / dots);
}

/** Draws the selected click over the playhead, which is often at the same place. */
export function paintChosenPin(context, scene, view) {
  const click = scene.chosen;
  if (!click) return;
  const lane = scene.lanes.find((one) => one.name === "clicks");
  const x = toX(view, click.start);
  paintPin(context, lane, scene, click, x);
  outlinePin(context, lane.top, lane.height, x);
  context.strokeStyle = scene.colours.ink;
  context.lineWidth = 2;
  context.stroke();
}

function outlinePin(context, laneTop, height, x) {
  const top = laneTop + 3;
  context.beginPath();
  context.roundRect(x - PIN_WIDTH / 2, top, PIN_WIDTH, 17, 5);
  context.moveTo(x - 4, top + 17);
  context.lineTo(x, laneTop + height - 1);
  context.lineTo(x + 4, top + 17);
}
