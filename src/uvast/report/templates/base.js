"use strict";
// What all drawings share: the data, small builders of elements, colours and the tip.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A row with a name and its content.
function line(name, content) {
  const element = make("div", "line");
  element.append(make("span", "", name), content);
  return element;
}

function percentBar(percent) {
  const bar = make("span", "bar"), part = make("i");
  part.style.width = `${percent}%`;
  bar.append(part);
  bar.setAttribute("aria-hidden", "true");
  return bar;
}

// 83.5 to 1:23.5, 3683.5 to 1:01:23.5.
function clock(seconds, decimals = 1) {
  const units = Math.round(seconds * 10 ** decimals), whole = Math.floor(units / 10 ** decimals);
  const two = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  const text = `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
  return decimals ? `${text}.${units % 10}` : text;
}

function moment(frame) {
  return data.fps ? `${clock(frame / data.fps)} · frame ${frame}` : `frame ${frame}`;
}

function span(start, end) {
  const frames = `frames ${start}–${end}`;
  return data.fps ? `${clock(start / data.fps)}–${clock(end / data.fps)} · ${frames}` : frames;
}

function length(frames) {
  return data.fps ? clock(frames / data.fps) : `${Math.round(frames * 10) / 10} frames`;
}

// A tile with a class's colour and hatching.
function tile(style) {
  const size = 8;
  const canvas = make("canvas");
  canvas.width = canvas.height = size;
  const pen = canvas.getContext("2d");
  pen.fillStyle = style.colour;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = pen.fillStyle = style.ink;
  pen.lineWidth = 1.5;
  pen.beginPath();
  if (style.pattern === "rising" || style.pattern === "crossed") {
    for (const shift of [-size, 0, size]) { pen.moveTo(shift - 1, size + 1); pen.lineTo(shift + size + 1, -1); }
  }
  if (style.pattern === "falling" || style.pattern === "crossed") {
    for (const shift of [-size, 0, size]) { pen.moveTo(shift - 1, -1); pen.lineTo(shift + size + 1, size + 1); }
  }
  if (style.pattern === "level") { pen.moveTo(0, 2); pen.lineTo(size, 2); pen.moveTo(0, 6); pen.lineTo(size, 6); }
  pen.stroke();
  if (style.pattern === "dots") { pen.fillRect(1, 1, 2, 2); pen.fillRect(5, 5, 2, 2); }
  return canvas;
}

const fills = data.classes.map((style) => {
  if (style.pattern === "solid") return style.colour;
  return make("canvas").getContext("2d").createPattern(tile(style), "repeat");
});

// An action of -1 stands for unlabelled frames: blank with a faint hatching.
function fillOf(action) {
  if (action >= 0) return fills[action];
  const style = { colour: colour("--surface"), pattern: "rising", ink: colour("--line") };
  return make("canvas").getContext("2d").createPattern(tile(style), "repeat");
}

function nameOf(action) { return action < 0 ? "unlabelled" : data.classes[action].name; }

function swatch(action) {
  const element = make("canvas", "swatch");
  element.width = 36; element.height = 26;
  const pen = element.getContext("2d");
  pen.fillStyle = fillOf(action);
  pen.fillRect(0, 0, 36, 26);
  element.setAttribute("aria-hidden", "true");
  return element;
}

// Makes a canvas as sharp as the screen; null while it has no size.
function sharp(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const box = canvas.getBoundingClientRect();
  if (!box.width || !box.height) return null;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return { pen, width: box.width, height: box.height };
}

const tip = byId("tip");

function showTip(title, text, x, y) {
  tip.replaceChildren(make("b", "", title), document.createTextNode(text));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(x - box.width / 2, 6), document.documentElement.clientWidth - box.width - 6);
  const above = y - box.height - 14;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(above > 4 ? above : y + 22)}px)`;
}

function hideTip() { tip.hidden = true; }

// A mouse leaves an element; a finger that taps it leaves only when it taps something else.
let leaveTapped = () => {};
function followPointer(element, pointed, leave) {
  element.addEventListener("pointermove", pointed);
  element.addEventListener("pointerdown", (event) => {
    leaveTapped = leave;
    pointed(event);
  });
  element.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") leave(); });
}
document.addEventListener("pointerdown", () => { leaveTapped(); leaveTapped = () => {}; }, { capture: true });

// Drawings to repeat when the width or the colour scheme changes.
const redraws = new Map();
const sizes = new ResizeObserver((entries) => {
  for (const entry of entries) redraws.get(entry.target)?.();
});
function redrawn(element, draw) { redraws.set(element, draw); sizes.observe(element); }
function forget(element) { redraws.delete(element); sizes.unobserve(element); }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const draw of redraws.values()) draw();
});
