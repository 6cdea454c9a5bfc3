/** Keys and what they do. Everybody may choose their own; this browser remembers them. */

import { recall, remember } from "./memory.js";

/** @typedef {{id: string, group: string, title: string, keys: string[]}} Command */

/** @type {Command[]} */
export const COMMANDS = [
  { id: "play", group: "Play", title: "Play or pause", keys: ["Space"] },
  { id: "slower", group: "Play", title: "Backwards, faster each time", keys: ["j"] },
  { id: "stop", group: "Play", title: "Pause, normal speed", keys: ["k"] },
  { id: "faster", group: "Play", title: "Forwards, faster each time", keys: ["l"] },
  { id: "rateDown", group: "Play", title: "Half the speed", keys: ["<"] },
  { id: "rateUp", group: "Play", title: "Double the speed", keys: [">"] },
  { id: "loop", group: "Play", title: "Loop the segment here", keys: ["o"] },
  { id: "frameBack", group: "Move", title: "One frame back", keys: [","] },
  { id: "frameOn", group: "Move", title: "One frame on", keys: ["."] },
  { id: "back", group: "Move", title: "One second back", keys: ["ArrowLeft"] },
  { id: "on", group: "Move", title: "One second on", keys: ["ArrowRight"] },
  { id: "farBack", group: "Move", title: "Ten seconds back", keys: ["Ctrl+ArrowLeft"] },
  { id: "farOn", group: "Move", title: "Ten seconds on", keys: ["Ctrl+ArrowRight"] },
  { id: "edgeBack", group: "Move", title: "Previous edge or click", keys: ["Shift+ArrowLeft"] },
  { id: "edgeOn", group: "Move", title: "Next edge or click", keys: ["Shift+ArrowRight"] },
  { id: "itemBack", group: "Move", title: "Select the previous event", keys: ["ArrowUp"] },
  { id: "itemOn", group: "Move", title: "Select the next event", keys: ["ArrowDown"] },
  { id: "begin", group: "Move", title: "Begin of the video", keys: ["Home"] },
  { id: "end", group: "Move", title: "End of the video", keys: ["End"] },
  { id: "goTo", group: "Move", title: "Go to a time or frame", keys: ["g"] },
  { id: "split", group: "Edit", title: "Split the segment here", keys: ["b"] },
  { id: "merge", group: "Edit", title: "Merge with the next segment", keys: ["Shift+B"] },
  {
    id: "delete",
    group: "Edit",
    title: "Delete the selected event",
    keys: ["Backspace", "Delete"],
  },
  { id: "nudgeBack", group: "Edit", title: "Nearest edge a frame earlier", keys: ["["] },
  { id: "nudgeOn", group: "Edit", title: "Nearest edge a frame later", keys: ["]"] },
  { id: "undo", group: "Edit", title: "Undo", keys: ["Ctrl+z"] },
  { id: "redo", group: "Edit", title: "Redo", keys: ["Ctrl+Shift+Z", "Ctrl+y"] },
  { id: "accept", group: "Edit", title: "Accept the suggested segment", keys: ["Enter"] },
  { id: "mode", group: "Edit", title: "Clicks or whole segments", keys: ["Alt+s"] },
  { id: "escape", group: "Edit", title: "Select nothing, cancel", keys: ["Escape"] },
  { id: "zoomIn", group: "Timeline", title: "Zoom in", keys: ["+", "="] },
  { id: "zoomOut", group: "Timeline", title: "Zoom out", keys: ["-"] },
  { id: "zoomFit", group: "Timeline", title: "Show the whole video", keys: ["Alt+0"] },
  { id: "next", group: "Page", title: "What to look at next", keys: ["n"] },
  { id: "help", group: "Page", title: "Help", keys: ["?"] },
];

const ARE_MADE_WITH_SHIFT = /^[^a-z0-9]$/i;

/**
 * The name of a key press: `a`, `Shift+B`, `Ctrl+z`, `Space`. Signs such as `?` have no Shift of
 * their own, because keyboards differ in where they put them.
 * @param {KeyboardEvent} event
 */
export function keyName(event) {
  const letter = /^[a-z]$/i.test(event.key); // Caps Lock is no Shift
  const cased = event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
  const key = event.key === " " ? "Space" : letter ? cased : event.key;
  if (["Shift", "Control", "Alt", "Meta"].includes(key)) return "";
  const shift = event.shiftKey && !ARE_MADE_WITH_SHIFT.test(key);
  const ctrl = event.ctrlKey || event.metaKey;
  return `${ctrl ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${shift ? "Shift+" : ""}${key}`;
}

/**
 * The plain key under Shift, so that Shift and a class's key relabel, digits included.
 * @param {KeyboardEvent} event
 */
export function shiftedKey(event) {
  if (!event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return "";
  const digit = /^Digit(\d)$/.exec(event.code);
  return digit ? digit[1] : event.key.toLowerCase();
}

/** @returns {Record<string, string[]>} the keys of each command */
export function bindings() {
  const chosen = recall("keys", {});
  return Object.fromEntries(COMMANDS.map((one) => [one.id, chosen[one.id] ?? one.keys]));
}

/** The command of a key, or null. @param {string} name */
export function commandOf(name) {
  return COMMANDS.find((one) => bindings()[one.id].includes(name))?.id ?? null;
}

/**
 * Gives a command another key.
 * @param {string} id @param {string} key
 * @returns {string | null} the title of the command that has the key already; nothing is changed
 *   then
 */
export function rebind(id, key) {
  const all = bindings();
  const holder = COMMANDS.find((one) => one.id !== id && all[one.id].includes(key));
  if (holder) return holder.title;
  remember("keys", { ...recall("keys", {}), [id]: [key] });
  return null;
}

export function resetKeys() {
  remember("keys", {});
}

/** As people read it. @param {string} name */
export function keyText(name) {
  const names = {
    ArrowLeft: "←",
    ArrowRight: "→",
    ArrowUp: "↑",
    ArrowDown: "↓",
    Backspace: "⌫",
    Escape: "Esc",
    Delete: "Del",
  };
  const parts = name === "+" ? ["+"] : name.split("+");
  return parts.map(
    (part) => names[part] ?? (part.length === 1 ? part.toUpperCase() : part),
  ).join(" ");
}

/**
 * Whether somebody is writing, or a dialog is open, so that keys mean themselves.
 * @param {KeyboardEvent} event
 */
export function isWriting(event) {
  if (document.querySelector("dialog[open]")) return true;
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest?.("input:not([type=range]):not([type=checkbox]), textarea, select")) {
    return true;
  }
  const presses = event.key === " " || event.key === "Enter";
  return presses && Boolean(target.closest?.("button, a, summary, input"));
}
