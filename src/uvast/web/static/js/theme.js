/** Light, dark, or as the system says. */

import { recall, remember } from "./memory.js";

const NEXT = { system: "light", light: "dark", dark: "system" };

/** @returns {"system" | "light" | "dark"} */
export function theme() {
  return recall("theme", "system");
}

export function applyTheme() {
  document.documentElement.dataset.theme = theme();
}

/** Switches to the next of the three. @returns {string} its name */
export function turnTheme() {
  remember("theme", NEXT[theme()]);
  applyTheme();
  return theme();
}
