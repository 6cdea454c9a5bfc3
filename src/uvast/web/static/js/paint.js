/** Draws the lanes of the timeline: only what is visible, thousands of segments at once. */

import { FONT, paintBlocks } from "./blocks.js";
import { ticks, toX } from "./geometry.js";
import { paintClicks } from "./pins.js";
import { clock } from "./times.js";

/** @typedef {import("./geometry.js").View} View */
/** @typedef {import("./geometry.js").Lane} Lane */
/** @typedef {import("./scene.js").Scene} Scene */

const BAND_STEP = 4;
const JOINED = 2;

/**
 * Draws everything except what moves over the lanes.
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {View} view
 */
export function paintLanes(context, scene, view) {
  const { colours, lanes, height } = scene;
  context.clearRect(0, 0, view.width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  for (const lane of lanes) {
    if (lane.name !== "ruler") {
      context.fillStyle = colours.sunk;
      context.fillRect(0, lane.top, view.width, lane.height);
    }
    PAINTERS[lane.name](context, lane, scene, view);
    if (scene.isHinting && isEmpty(scene[lane.name])) paintHint(context, lane, scene);
  }
}

const NO_CLASS_HINT = "No clicks yet: add a class first";
const HINTS = {
  clicks: "No clicks yet: play, and press a class's key in each action",
  labels: "No labels yet: stripes mark what nobody has looked at",
  pseudo: "Actions from your clicks appear here, between labels",
};

function isEmpty(content) {
  return (content?.items ?? content)?.length === 0;
}

/** Says what an empty lane is for. */
function paintHint(context, lane, { colours, classes }) {
  const isFirst = lane.name === "clicks" && !classes.length;
  const text = isFirst ? NO_CLASS_HINT : HINTS[lane.name];
  if (!text) return;
  const middle = lane.top + lane.height / 2;
  context.fillStyle = colours.sunk;
  context.fillRect(0, middle - 9, context.measureText(text).width + 18, 18);
  context.fillStyle = colours.faint;
  context.fillText(text, 8, middle + 0.5);
}

const PAINTERS = {
  ruler: paintRuler,
  strip: paintStrip,
  clicks: paintClicks,
  labels: paintLabels,
  pseudo: paintSegments,
  prediction: paintSegments,
  band: paintBand,
};

function paintRuler(context, lane, { colours }, view) {
  const { step, times } = ticks(view);
  const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0;
  context.strokeStyle = colours.line;
  context.fillStyle = colours.faint;
  context.lineWidth = 1;
  context.beginPath();
  for (const time of times) {
    const x = Math.round(toX(view, time)) + 0.5;
    context.moveTo(x, lane.top + 15);
    context.lineTo(x, lane.top + lane.height);
    const text = clock(time, digits);
    if (x + 4 + context.measureText(text).width <= view.width) {
      context.fillText(text, x + 4, lane.top + 10);
    }
  }
  context.stroke();
}

function paintStrip(context, lane, scene, view) {
  for (const tile of scene.strip?.visible(view) ?? []) {
    if (!tile.image) continue;
    const length = (tile.end - tile.start) / tile.n;
    const wide = tile.image.naturalWidth / tile.n;
    const tall = tile.image.naturalHeight;
    for (let i = 0; i < tile.n; i++) {
      const x = toX(view, tile.start + i * length);
      const width = toX(view, tile.start + (i + 1) * length) - x;
      if (x > view.width || x + width < 0) continue;
      // the picture fills its place; what is too much is cut off evenly
      const scale = Math.max(width / wide, lane.height / tall);
      const cutWide = width / scale;
      const cutTall = lane.height / scale;
      context.drawImage(
        tile.image,
        i * wide + (wide - cutWide) / 2,
        (tall - cutTall) / 2,
        cutWide,
        cutTall,
        x,
        lane.top,
        width + 0.5,
        lane.height,
      );
    }
  }
}

function paintLabels(context, lane, scene, view) {
  paintUnlabelled(context, lane, scene, view);
  paintSegments(context, lane, scene, view);
}

/** Stripes. Stretches that nearly touch are painted as one; segments are painted over them. */
function paintUnlabelled(context, lane, { unlabelled, hatch }, view) {
  const [from, to] = unlabelled.range(view.start, view.end);
  context.fillStyle = hatch;
  let start = 0;
  let end = -Infinity;
  for (let i = from; i <= to; i++) {
    const x = i < to ? Math.max(0, toX(view, unlabelled.items[i].start)) : Infinity;
    if (x - end > JOINED) {
      if (end > start) context.fillRect(start, lane.top, end - start, lane.height);
      start = x;
    }
    if (i < to) end = Math.min(view.width, toX(view, unlabelled.items[i].end));
  }
}

function paintSegments(context, lane, scene, view) {
  const { row, selected, dots } = scene;
  const style = { looks: scene.looks[lane.name], row, selected, dots, ink: scene.colours.ink };
  paintBlocks(context, lane, scene[lane.name], style, view);
}

/** How sure the model is: a filled curve, each point the mean over a few pixels. */
function paintBand(context, lane, { band, colours }, view) {
  const bottom = lane.top + lane.height;
  const perPixel = (view.end - view.start) / view.width;
  context.beginPath();
  context.moveTo(0, bottom);
  for (let x = 0; x <= view.width; x += BAND_STEP) {
    const start = view.start + x * perPixel;
    const value = band.over(start, start + BAND_STEP * perPixel);
    context.lineTo(x, bottom - value * (lane.height - 2));
  }
  context.lineTo(view.width, bottom);
  context.fillStyle = colours.band;
  context.fill();
}
