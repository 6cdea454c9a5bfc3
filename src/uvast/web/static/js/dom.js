/** Small helpers to build and change the page; the security policy allows no markup in strings. */

import { whenFree } from "./hands.js";

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

/**
 * A new element: `h("button", {class: "small", onclick: save}, "Save")`.
 * @param {string} tag
 * @param {Record<string, unknown>} [props] attributes; `on…` are listeners, `style` is an object,
 *   false and null leave an attribute out
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) setProp(element, name, value);
  element.append(...nodes(children));
  return element;
}

function setProp(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") setStyle(element, value);
  else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

/**
 * Sets single properties, which the policy allows; it forbids style attributes.
 * @param {HTMLElement} element
 * @param {Record<string, string>} style
 */
export function setStyle(element, style) {
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
}

/** @param {Child} children @returns {(Node | string)[]} */
function nodes(children) {
  return [children].flat(Infinity).filter((one) => one || one === 0).map(
    (one) => (one instanceof Node ? one : String(one)),
  );
}

/** Replaces the children of an element. @param {Element} element @param {...Child} children */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Refills an element if what it shows has changed, as soon as nobody is pressing or typing in it,
 * and keeps the focus where it was: other people's changes can arrive at any time.
 * @param {Element} element
 * @param {any} shown everything that the children depend on
 * @param {() => Child} build
 */
export function renew(element, shown, build) {
  const key = JSON.stringify(shown);
  whenFree(element, () => element.shown !== key && refill(element, key, build));
}

function refill(element, key, build) {
  element.shown = key;
  const name = (one) => one.getAttribute("aria-label") ?? one.textContent;
  const active = element.contains(document.activeElement) ? name(document.activeElement) : null;
  fill(element, build());
  const controls = [...element.querySelectorAll("a, button, select, input")];
  if (active !== null) controls.find((one) => name(one) === active)?.focus();
}

const ICONS = {
  play: "M7 4.5v15l12.5-7.5z",
  pause: "M6 4.5h4v15H6zM14 4.5h4v15h-4z",
  back: "M15 5l-7 7 7 7",
  forward: "M9 5l7 7-7 7",
  begin: "M6 5v14M18 5l-8 7 8 7z",
  end: "M18 5v14M6 5l8 7-8 7z",
  undo: "M8 5L4 9l4 4M4 9h9a6 6 0 010 12h-3",
  redo: "M16 5l4 4-4 4M20 9h-9a6 6 0 000 12h3",
  loop: "M17 3l3 3-3 3M20 6H8a4 4 0 00-4 4v1M7 21l-3-3 3-3M4 18h12a4 4 0 004-4v-1",
  theme: "M12 3a9 9 0 109 9 7 7 0 01-9-9z",
  help: "M9 9a3 3 0 115 2.2c-1.3 1-2 1.6-2 3.3M12 18.4v.2",
  bin: "M5 7h14M10 4h4M7 7l1 13h8l1-13",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  gear: "M4 7h9M17 7h3M4 17h3M11 17h9M13 4.5v5M7 14.5v5",
};

/** @param {keyof typeof ICONS} name @returns {SVGElement} */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  if (name === "play" || name === "pause") svg.classList.add("solid");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button that was clicked with the mouse gives the focus back to the player. */
function pressed(element, onclick) {
  element.addEventListener("click", (event) => {
    if (event.detail > 0) element.blur();
    onclick(event);
  });
  return element;
}

/**
 * A button.
 * @param {string} title what it does, for tooltips and screen readers
 * @param {(event: Event) => void} onclick
 * @param {...Child} children
 */
export function button(title, onclick, ...children) {
  const props = { type: "button", title, "aria-label": title };
  return pressed(h("button", props, ...children), onclick);
}

/** Stands in for a view that has nothing to show: says why, and where to go. */
export function sorry(title, sentence, ...children) {
  return h("div", { class: "empty" }, h("h1", {}, title), h("p", {}, sentence), ...children);
}

/** A button with a text on it. */
export function textButton(text, onclick, props = {}) {
  return pressed(h("button", { type: "button", ...props }, text), onclick);
}
