/** Names of keys, and the keys that people have chosen, which this browser remembers. */

import { COMMANDS } from "./commands.js";
import { recall, remember } from "./memory.js";

const ARE_MADE_WITH_SHIFT = /^[^a-z0-9]$/i;

/**
 * What a key pressed with Alt means. On a Mac, Alt (Option) types symbols: `ß` counts as S again,
 * but symbols that German keyboards have nowhere else, such as `[`, mean themselves.
 * @param {KeyboardEvent} event
 * @returns {{key: string, alt: boolean}}
 */
function withoutOption({ key, code, altKey }) {
  const under = altKey && /^(?:Key|Digit)(.)$/.exec(code ?? "")?.[1];
  if (!under || /^[a-z0-9]$/i.test(key)) return { key, alt: altKey };
  return /^[!-~]$/.test(key) ? { key, alt: false } : { key: under, alt: true };
}

/**
 * The name of a key press: `a`, `Shift+B`, `Ctrl+z`, `Space`. Symbols such as `?` are named
 * without Shift, because each keyboard puts them elsewhere.
 * @param {KeyboardEvent} event
 */
export function keyName(event) {
  const { key: sign, alt } = withoutOption(event);
  const letter = /^[a-z]$/i.test(sign); // Caps Lock is not Shift
  const cased = event.shiftKey ? sign.toUpperCase() : sign.toLowerCase();
  const key = sign === " " ? "Space" : letter ? cased : sign;
  if (["Shift", "Control", "Alt", "Meta"].includes(key)) return "";
  const shift = event.shiftKey && !ARE_MADE_WITH_SHIFT.test(key);
  const ctrl = event.ctrlKey || event.metaKey;
  return `${ctrl ? "Ctrl+" : ""}${alt ? "Alt+" : ""}${shift ? "Shift+" : ""}${key}`;
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

/**
 * The keys of each command. They were chosen for all projects of this browser: where a class of
 * this project has one of them, the command goes back to its usual keys, or has none.
 * @typedef {{name: string, key: string}[]} Classes
 * @param {Classes} classes
 * @returns {Record<string, string[]>}
 */
export function bindings(classes) {
  const chosen = recall("keys", {});
  const ofClasses = new Set(classes.map((one) => one.key.toLowerCase()));
  const ofCommands = new Set(Object.values(chosen).flat());
  const free = (keys) => keys.filter((key) => !ofClasses.has(key));
  return Object.fromEntries(COMMANDS.map(({ id, keys }) => {
    const wanted = free(chosen[id] ?? keys);
    return [id, wanted.length ? wanted : free(keys).filter((key) => !ofCommands.has(key))];
  }));
}

/** The command of a key, or null. @param {string} name @param {Classes} classes */
export function commandOf(name, classes) {
  const all = bindings(classes);
  return COMMANDS.find((one) => all[one.id].includes(name)) ?? null;
}

/** The label of a command's button. @param {string} id @param {Classes} classes */
export function titleOf(id, classes) {
  const { title } = COMMANDS.find((one) => one.id === id);
  const keys = bindings(classes)[id];
  return keys.length ? `${title} (${keys.map(keyText).join(" or ")})` : title;
}

/**
 * Gives a command another key.
 * @param {string} id @param {string} key
 * @param {Classes} classes whose keys relabel with Shift
 * @returns {string | null} the command or class that has the key already; nothing is changed then
 */
export function rebind(id, key, classes) {
  const all = bindings(classes);
  const holder = COMMANDS.find((one) => one.id !== id && all[one.id].includes(key));
  const taken = classOf(key, classes);
  if (holder || taken) return holder?.title ?? taken.name;
  remember("keys", { ...recall("keys", {}), [id]: [key] });
  return null;
}

/**
 * Gives all commands their own keys back.
 * @template {{name: string, key: string}} Class
 * @param {Class[]} classes
 * @returns {Class | null} one that has got such a key since; nothing is changed then
 */
export function resetKeys(classes) {
  const chosen = recall("keys", {});
  const returning = COMMANDS.filter((one) => one.id in chosen).flatMap((one) => one.keys);
  const taken = returning.map((key) => classOf(key, classes)).find(Boolean);
  if (!taken) remember("keys", {});
  return taken ?? null;
}

/** The class whose key a command's key would take, with or without Shift. */
function classOf(key, classes) {
  const plain = key.replace(/^Shift\+/, "").toLowerCase();
  return classes.find((one) => one.key && one.key.toLowerCase() === plain);
}

/** A key's name as people read it. @param {string} name */
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
 * Whether a key is not a command: somebody is typing, a dialog is open, or it presses a button.
 * @param {KeyboardEvent} event
 */
export function isWriting(event) {
  if (document.querySelector("dialog[open]")) return true;
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest?.("dialog")) return false; // a closed one keeps the focus for a moment
  if (target.closest?.("input:not([type=range]):not([type=checkbox]), textarea, select")) {
    return true;
  }
  const presses = event.key === " " || event.key === "Enter";
  return presses && Boolean(target.closest?.("button, a, summary, input"));
}
