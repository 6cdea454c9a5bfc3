/** What moves over the lanes, on a canvas of its own: playhead, loop, suggestion, pointer. */

import { fillBox, FONT, outline, paintText } from "./blocks.js";
import { toX } from "./geometry.js";
import { paintChosenPin } from "./pins.js";

const NARROWEST_THUMB = 12;

/** @typedef {import("./geometry.js").View} View */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {View} view
 * @param {{seconds: number, loop: {start: number, end: number} | null, hover: number | null}} head
 */
export function paintOverlay(context, scene, view, head) {
  const { colours, height } = scene;
  context.clearRect(0, 0, view.width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  if (head.loop) {
    const x = toX(view, head.loop.start);
    context.fillStyle = colours.accent;
    context.globalAlpha = 0.14;
    context.fillRect(x, 0, toX(view, head.loop.end) - x, height);
    context.globalAlpha = 1;
  }
  if (scene.draft) paintDraft(context, scene, view);
  if (head.hover !== null) {
    context.fillStyle = colours.faint;
    context.fillRect(Math.round(toX(view, head.hover)), 0, 1, height);
  }
  paintHead(context, colours, Math.round(toX(view, head.seconds)), height);
  paintChosenPin(context, scene, view);
}

/**
 * The scroll bar: which part of the video is visible.
 * @param {CanvasRenderingContext2D} context
 * @param {import("./scene.js").Scene} scene
 * @param {View} view
 * @param {number} seconds of the video
 * @param {number} height of the bar
 */
export function paintScrollBar(context, { colours }, view, seconds, height) {
  const scale = view.width / (seconds || 1);
  const width = Math.max(NARROWEST_THUMB, (view.end - view.start) * scale);
  const x = Math.min(view.start * scale, view.width - width);
  context.clearRect(0, 0, view.width, height);
  context.fillStyle = colours.hatch;
  context.beginPath();
  context.roundRect(x, 2, width, height - 4, 4);
  context.fill();
}

function paintHead(context, colours, x, height) {
  context.fillStyle = colours.accent;
  context.fillRect(x - 1, 0, 2, height);
  context.beginPath();
  context.moveTo(x - 7, 0);
  context.lineTo(x + 7, 0);
  context.lineTo(x, 10);
  context.fill();
}

/** A suggested segment, or one that is still open, in the lane of labels. */
function paintDraft(context, scene, view) {
  const lane = scene.lanes.find((one) => one.name === "labels");
  const { label, start, end } = scene.draft;
  const x = toX(view, start);
  const width = Math.max(2, toX(view, end) - x);
  const look = scene.looks.draft.of(scene.draft);
  context.fillStyle = look.fill;
  fillBox(context, lane, x, width);
  context.setLineDash([5, 4]);
  outline(context, lane, scene.colours.ink, x, width);
  context.setLineDash([]);
  if (width > 22) paintText(context, lane, label, look.ink, x, width, view);
}
