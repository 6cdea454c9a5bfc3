/** What this browser remembers between visits; pages in private windows simply forget. */

/** @param {string} name @param {any} otherwise */
export function recall(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`uvast.${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** @param {string} name @param {any} value */
export function remember(name, value) {
  try {
    localStorage.setItem(`uvast.${name}`, JSON.stringify(value));
  } catch {
    // full or forbidden: the page works without it
  }
}
