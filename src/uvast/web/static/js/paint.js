/** Draws the timeline: only what is visible, thousands of segments within a frame's time. */

import { ticks, toX } from "./geometry.js";
import { clock } from "./times.js";
import { inkOn } from "./dom.js";

/** @typedef {import("./geometry.js").View} View */

const FONT = "12px system-ui, sans-serif";
const widths = new Map();

/** The colours of the page, read again when the theme changes. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ground", "panel", "sunk", "ink", "faint", "line", "accent", "hatch"];
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}

/**
 * Stripes for what nobody has looked at.
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 */
export function hatching(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const by of [-8, 0, 8]) {
    pen.moveTo(by, 8);
    pen.lineTo(by + 8, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

/**
 * Everything but the playhead.
 * @param {CanvasRenderingContext2D} context
 * @param {any} scene what the timeline holds
 * @param {View} view
 */
export function paintLanes(context, scene, view) {
  const { colours, lanes, height } = scene;
  context.clearRect(0, 0, view.width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  for (const lane of lanes) {
    if (lane.name === "ruler") paintRuler(context, lane, colours, view);
    else {
      context.fillStyle = colours.sunk;
      context.fillRect(0, lane.top, view.width, lane.height);
      PAINTERS[lane.name](context, lane, scene, view);
    }
  }
}

const PAINTERS = {
  strip: paintStrip,
  clicks: paintClicks,
  labels: paintLabels,
  pseudo: (context, lane, scene, view) => paintSegments(
    context,
    lane,
    scene,
    view,
    scene.pseudo,
    0.62,
  ),
  prediction: (context, lane, scene, view) => paintSegments(
    context,
    lane,
    scene,
    view,
    scene.prediction,
    0.85,
  ),
  band: paintBand,
};

function paintRuler(context, lane, colours, view) {
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
    context.fillText(clock(time, digits), x + 4, lane.top + 10);
  }
  context.stroke();
}

function paintStrip(context, lane, scene, view) {
  for (const tile of scene.strip?.visible(view) ?? []) {
    if (!tile.image) continue;
    const length = (tile.end - tile.start) / tile.n;
    const [wide, tall] = [tile.image.naturalWidth / tile.n, tile.image.naturalHeight];
    for (let i = 0; i < tile.n; i++) {
      const x = toX(view, tile.start + i * length);
      const width = toX(view, tile.start + (i + 1) * length) - x;
      if (x > view.width || x + width < 0) continue;
      // the picture covers its place; what is too much is cut off evenly
      const scale = Math.max(width / wide, lane.height / tall);
      const [cutWide, cutTall] = [width / scale, lane.height / scale];
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

function paintClicks(context, lane, scene, view) {
  const bottom = lane.top + lane.height;
  const [from, to] = scene.clickIndex.range(view.start - 1, view.end + 1);
  let last = -9;
  for (let i = from; i < to; i++) {
    const click = scene.clicks[i];
    const x = toX(view, click.start);
    const chosen = scene.selected === click.id;
    if (x - last < 0.7 && !chosen) continue;
    last = x;
    const { colour, key } = scene.classOf(click.label);
    context.fillStyle = colour;
    context.globalAlpha = click.pending ? 0.55 : 1;
    pin(context, x, lane.top + 3, bottom - 1);
    context.globalAlpha = 1;
    if (chosen) {
      context.strokeStyle = scene.colours.ink;
      context.lineWidth = 2;
      context.stroke();
    }
    if (key) {
      context.fillStyle = inkOn(colour);
      context.textAlign = "center";
      context.fillText(key.toUpperCase(), x, lane.top + 11.5);
      context.textAlign = "left";
    }
  }
}

function pin(context, x, top, bottom) {
  context.beginPath();
  context.roundRect(x - 8, top, 16, 17, 5);
  context.moveTo(x - 4, top + 17);
  context.lineTo(x, bottom);
  context.lineTo(x + 4, top + 17);
  context.fill();
}

function paintLabels(context, lane, scene, view) {
  context.fillStyle = scene.hatch;
  for (const [start, end] of scene.unlabelled) {
    if (end < view.start || start > view.end) continue;
    const x = Math.max(0, toX(view, start));
    context.fillRect(x, lane.top, Math.min(view.width, toX(view, end)) - x, lane.height);
  }
  paintSegments(context, lane, scene, view, scene.labels, 1);
  if (scene.draft) paintDraft(context, lane, scene, view);
}

function paintSegments(context, lane, scene, view, index, strength) {
  const [from, to] = index.range(view.start, view.end);
  let last = -9;
  for (let i = from; i < to; i++) {
    const one = index.items[i];
    const x = toX(view, one.start);
    const end = toX(view, one.end);
    if (end - last < 0.7) continue;
    last = end;
    const width = Math.max(1, end - x - (end - x > 3 ? 1 : 0));
    const { colour } = scene.classOf(one.label);
    context.globalAlpha = one.pending ? strength * 0.55 : strength;
    context.fillStyle = colour;
    if (width > 8) box(context, x, lane.top, width, lane.height);
    else context.fillRect(x, lane.top, width, lane.height);
    context.globalAlpha = 1;
    if (width > 22) {
      paintText(
        context,
        one.label,
        x,
        width,
        lane,
        strength > 0.7 ? inkOn(colour) : scene.colours.ink,
        view,
      );
    }
    if (one.id && one.id === scene.selected) outline(context, scene, x, lane, width);
  }
}

function box(context, x, top, width, height) {
  context.beginPath();
  context.roundRect(x, top + 1, width, height - 2, 3);
  context.fill();
}

function outline(context, scene, x, lane, width) {
  context.strokeStyle = scene.colours.ink;
  context.lineWidth = 2.5;
  context.beginPath();
  context.roundRect(x + 1, lane.top + 1.5, Math.max(1, width - 2), lane.height - 3, 3);
  context.stroke();
}

/** The label, where it is visible; shortened by letters, whose width is known. */
function paintText(context, label, x, width, lane, ink, view) {
  const from = Math.max(x, 0) + 6;
  const room = Math.min(x + width, view.width) - from - 4;
  let wide = widths.get(label);
  if (wide === undefined) widths.set(label, (wide = context.measureText(label).width));
  const letters = wide <= room ? label.length : Math.floor((room / wide) * label.length) - 1;
  if (letters < 2) return;
  context.fillStyle = ink;
  context.fillText(
    letters < label.length ? `${label.slice(0, letters)}…` : label,
    from,
    lane.top + lane.height / 2 + 0.5,
  );
}

function paintDraft(context, lane, scene, view) {
  const { label, start, end } = scene.draft;
  const x = toX(view, start);
  const width = Math.max(2, toX(view, end) - x);
  context.globalAlpha = 0.45;
  context.fillStyle = scene.classOf(label).colour;
  box(context, x, lane.top, width, lane.height);
  context.globalAlpha = 1;
  context.setLineDash([5, 4]);
  outline(context, scene, x, lane, width);
  context.setLineDash([]);
  if (width > 22) paintText(context, label, x, width, lane, scene.colours.ink, view);
}

/** How sure the model is: a filled curve, the mean of what falls on a pixel. */
function paintBand(context, lane, scene, view) {
  const band = scene.band;
  if (!band) return;
  const bottom = lane.top + lane.height;
  const perPixel = (view.end - view.start) / view.width / band.step;
  context.beginPath();
  context.moveTo(0, bottom);
  for (let x = 0; x <= view.width; x += 2) {
    const from = Math.floor((view.start + (x / view.width) * (view.end - view.start)) / band.step);
    const value = mean(band, from, from + Math.max(1, Math.floor(perPixel * 2)));
    context.lineTo(x, bottom - value * (lane.height - 2));
  }
  context.lineTo(view.width, bottom);
  context.fillStyle = scene.colours.accent;
  context.globalAlpha = 0.4;
  context.fill();
  context.globalAlpha = 1;
}

/** By running sums, so that a whole video costs no more than a second of it. */
function mean(band, from, to) {
  const n = band.probability.length;
  band.sums ??= band.probability.reduce(
    (sums, one, i) => ((sums[i + 1] = sums[i] + one), sums),
    new Float64Array(n + 1),
  );
  const [start, end] = [Math.min(Math.max(0, from), n), Math.min(Math.max(0, to), n)];
  return end > start ? (band.sums[end] - band.sums[start]) / (end - start) : 0;
}

/**
 * The playhead, the loop and an open segment.
 * @param {CanvasRenderingContext2D} context @param {any} scene @param {View} view @param {any} head
 */
export function paintHead(context, scene, view, head) {
  const { colours, height } = scene;
  context.clearRect(0, 0, view.width, height);
  if (head.loop) {
    const x = toX(view, head.loop.start);
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.14;
    context.fillRect(x, 0, toX(view, head.loop.end) - x, height);
    context.globalAlpha = 1;
  }
  if (head.hover !== null) {
    context.fillStyle = colours.faint;
    context.fillRect(Math.round(toX(view, head.hover)), 0, 1, height);
  }
  const x = Math.round(toX(view, head.seconds));
  context.fillStyle = colours.accent;
  context.fillRect(x - 1, 0, 2, height);
  context.beginPath();
  context.moveTo(x - 7, 0);
  context.lineTo(x + 7, 0);
  context.lineTo(x, 10);
  context.fill();
}
