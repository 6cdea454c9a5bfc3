/** A small line chart on a canvas: losses, scores. */

import { palette } from "./colours.js";
import { h } from "./dom.js";

const COLOURS = ["#4f7cff", "#e5793a", "#2fa36b", "#b658c9", "#c2a11a", "#d84b63"];
const HEIGHT = 170;
const MARGIN = { left: 46, right: 10, top: 10, bottom: 22 };

/**
 * About `n` round values between two.
 * @param {number} low
 * @param {number} high
 * @param {number} n
 * @param {number} [least] the smallest step
 */
export function roundValues(low, high, n, least = 0) {
  const raw = Math.max(least, (high - low || 1) / n);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    values.push(Number((i * step).toPrecision(12)));
  }
  return values;
}

/**
 * @param {string} title
 * @param {Record<string, [number, number][]>} curves by name, points in order
 * @param {[number, number]} [range] of the values; by default that of the data
 * @param {string} [term] what researchers call it
 * @returns {HTMLElement}
 */
export function chart(title, curves, range, term) {
  const names = Object.keys(curves).filter((name) => curves[name].length);
  const ends = names.map((name) => `${name} ends at ${last(curves[name])}`);
  const canvas = h("canvas", { role: "img", "aria-label": `${title}: ${ends.join(", ")}` });
  const legend = h("figcaption", {}, h("strong", { title: term }, title), names.map((name, i) => {
    const dot = h("span", { class: "dot" });
    dot.style.setProperty("background", COLOURS[i % COLOURS.length]);
    return h("span", { class: "key" }, dot, `${name} ${last(curves[name])}`);
  }));
  const figure = h("figure", { class: "chart" }, legend, canvas);
  new ResizeObserver(
    (_, observer) => (
      figure.isConnected
        ? draw(canvas, names.map((name) => curves[name]), range)
        : observer.disconnect()
    ),
  ).observe(figure);
  return figure;
}

function last(points) {
  const value = points[points.length - 1][1];
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function draw(canvas, lines, range) {
  const width = Math.max(60, canvas.parentElement.clientWidth - 24);
  const dots = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: width * dots, height: HEIGHT * dots });
  canvas.style.setProperty("width", `${width}px`);
  canvas.style.setProperty("height", `${HEIGHT}px`);
  const context = canvas.getContext("2d");
  context.scale(dots, dots);
  const points = lines.flat();
  if (!points.length) return;
  const [x0, x1] = bounds(points.map((one) => one[0]));
  const [y0, y1] = range ?? bounds(points.map((one) => one[1]));
  const toX = (x) => MARGIN.left + ((x - x0) / (x1 - x0)) * (width - MARGIN.left - MARGIN.right);
  const toY = (y) => HEIGHT - MARGIN.bottom - ((y - y0) / (y1 - y0)) * (
    HEIGHT - MARGIN.top - MARGIN.bottom
  );
  axes(context, { width, x0, x1, y0, y1, toX, toY });
  lines.forEach((line, i) => {
    context.strokeStyle = context.fillStyle = COLOURS[i % COLOURS.length];
    context.lineWidth = 1.8;
    context.beginPath();
    line.forEach(([x, y]) => context.lineTo(toX(x), toY(y)));
    context.stroke();
    if (line.length < 3) for (const [x, y] of line) context.fillRect(toX(x) - 2, toY(y) - 2, 4, 4);
  });
}

function bounds(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

function axes(context, { width, x0, x1, y0, y1, toX, toY }) {
  const colours = palette();
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = colours.faint;
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of roundValues(y0, y1, 4)) {
    context.moveTo(MARGIN.left, Math.round(toY(value)) + 0.5);
    context.lineTo(width - MARGIN.right, Math.round(toY(value)) + 0.5);
    context.fillText(String(value), MARGIN.left - 6, toY(value));
  }
  context.stroke();
  context.textAlign = "center";
  for (const value of roundValues(x0, x1, 5, 1)) { // whole rounds or epochs
    context.fillText(String(value), toX(value), HEIGHT - 9);
  }
}
