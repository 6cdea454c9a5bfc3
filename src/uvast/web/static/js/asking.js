/** Short questions: dialogs and menus. */

import { fill, h, setStyle, textButton } from "./dom.js";
import { clock, parseTime } from "./times.js";

const PRESSED_BY_SPACE = "button, a, summary, input";

/**
 * Moves the focus from a pressed control to the timeline, if there is one, so that Space plays and
 * Tab continues from there. Does nothing while a dialog is open.
 */
function backToTimeline() {
  if (document.activeElement?.matches(PRESSED_BY_SPACE) && !document.querySelector("dialog[open]")) {
    document.querySelector(".timeline-stage")?.focus({ preventScroll: true });
  }
}

/**
 * A dialog with a title. Escape, its button or a click outside closes it.
 * @param {string} title
 * @param {...import("./dom.js").Child} children
 * @returns {HTMLDialogElement}
 */
export function dialog(title, ...children) {
  const close = h(
    "button",
    { type: "button", class: "quiet close", "aria-label": "Close", onclick: () => box.close() },
    "×",
  );
  const box = /** @type {HTMLDialogElement} */ (
    h(
      "dialog",
      { "aria-label": title, tabindex: -1 },
      h("header", {}, h("h2", {}, title), close),
      ...children,
    )
  );
  let beside = false;
  box.addEventListener("pointerdown", (event) => (beside = isBeside(box, event)));
  box.addEventListener("click", (event) => beside && event.target === box && box.close());
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  backToTimeline(); // before showModal: closing returns the focus to what has it now
  box.showModal();
  if (!box.querySelector("[autofocus]")) box.focus(); // not the close button
  return box;
}

function isBeside(box, { clientX, clientY }) {
  const { left, right, top, bottom } = box.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}

/**
 * Asks for one line of text; null if the dialog was cancelled.
 * @param {string} title @param {{value?: string, label: string, okay?: string, check?: (text:
 *   string) => string | null}} options
 * @returns {Promise<string | null>}
 */
export function ask(title, { value = "", label, okay = "OK", check = () => null }) {
  return new Promise((resolve) => {
    const input = h("input", { type: "text", value, "aria-label": label, autofocus: true });
    const fault = h("p", { class: "fault", role: "alert" });
    const form = h(
      "form",
      { method: "dialog" },
      h("label", {}, label, input),
      fault,
      h("footer", {}, h("button", { type: "submit", class: "main" }, okay)),
    );
    form.addEventListener("submit", (event) => {
      const sentence = check(input.value);
      if (!sentence) resolve(input.value); // now: keys may come before the close event
      else event.preventDefault();
      fill(fault, sentence);
    });
    const box = dialog(title, form);
    input.select();
    box.addEventListener("close", () => resolve(null));
  });
}

/**
 * @param {number} now
 * @param {(frame: number) => number} frameTime
 * @returns {Promise<number | null>}
 */
export async function askTime(now, frameTime) {
  const check = (text) => (
    parseTime(text, now, frameTime) === null
      ? "Enter a time such as 1:23.5, a frame such as #250, or +5 for five seconds ahead."
      : null
  );
  const text = await ask(
    "Go to",
    { value: clock(now), label: "Time, #frame, or +/- seconds", okay: "Go", check },
  );
  return text === null ? null : parseTime(text, now, frameTime);
}

/** Closes the open menu, if any. */
export let closeMenu = () => {};

/**
 * A menu of classes at a position on the page. It keeps all key presses to itself.
 * @param {any[]} classes @param {string} present @param {number} x @param {number} y @param
 *   {(label: string) => void} choose
 */
export function classMenu(classes, present, x, y, choose) {
  closeMenu();
  const menu = h("div", { class: "menu", role: "menu", tabindex: -1, "aria-label": "Classes" });
  const close = (closeMenu = () => {
    closeMenu = () => {};
    backToTimeline();
    menu.remove();
    document.removeEventListener("pointerdown", outside, true);
  });
  const outside = (event) => !menu.contains(event.target) && close();
  fill(menu, classes.map((one) => {
    const swatch = h("span", { class: "swatch" });
    setStyle(swatch, { background: one.colour });
    const item = h(
      "button",
      { type: "button", role: "menuitemradio", "aria-checked": String(one.name === present) },
      swatch,
      h("span", { class: "name" }, one.name),
      one.key && h("kbd", {}, one.key),
    );
    item.addEventListener("click", () => (close(), choose(one.name)));
    return item;
  }));
  menu.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const items = [...menu.children];
    const place = items.indexOf(document.activeElement);
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const key = isPlain ? event.key.toLowerCase() : "";
    const chosen = classes.findIndex((one) => one.key && one.key.toLowerCase() === key);
    if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key === "ArrowDown") items.at((place + 1) % items.length)?.focus();
    else if (event.key === "ArrowUp") items.at(Math.max(place, 0) - 1)?.focus();
    else if (chosen >= 0) items[chosen].click();
    else return;
    event.preventDefault();
  });
  document.body.append(menu);
  const box = menu.getBoundingClientRect();
  setStyle(
    menu,
    {
      left: `${Math.max(8, Math.min(x, innerWidth - box.width - 8))}px`,
      top: `${Math.max(8, Math.min(y, innerHeight - box.height - 8))}px`,
    },
  );
  document.addEventListener("pointerdown", outside, true);
  (menu.querySelector("[aria-checked=true]") ?? menu.firstElementChild ?? menu).focus();
}
