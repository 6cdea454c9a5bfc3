/**
 * What a hand is at: pressed and not let go of, or typed in and not yet entered. An element that is
 * replaced between press and release gets no click, and one that is typed in loses what was typed.
 */

const TEXT = 'input[type="text"], input[type="number"], input:not([type]), textarea';

/** @type {Node | null} */
let pressed = null;
/** @type {Node | null} */
let typed = null;
/** @type {Map<Element, () => void>} */
const waiting = new Map();

/**
 * Does something to an element as soon as no hand is at anything in it; of several the last alone.
 * @param {Element} element
 * @param {() => void} task
 */
export function whenFree(element, task) {
  waiting.delete(element);
  if (element.contains(pressed) || element.contains(typed)) waiting.set(element, task);
  else task();
}

/** The click that belongs to a release, and the change to what was typed, come first. */
function later() {
  if (waiting.size) {
    setTimeout(() => [...waiting].forEach(([element, task]) => whenFree(element, task)));
  }
}

function release() {
  pressed = null;
  later();
}

function entered() {
  typed = null;
  later();
}

function listen(name, hear) {
  window.addEventListener(name, hear, { capture: true });
}

listen("pointerdown", ({ target }) => {
  // the list of a select takes the release for itself
  pressed = target instanceof HTMLSelectElement ? null : target;
});
listen("keydown", ({ key, target }) => {
  if (key === " ") pressed = target;
});
for (const name of ["pointerup", "pointercancel", "keyup"]) listen(name, release);
listen("pointermove", ({ buttons }) => !buttons && pressed && release());
listen("blur", ({ target }) => target === window && release());
listen("input", ({ target }) => {
  if (target.matches(TEXT)) typed = target;
});
for (const name of ["change", "focusout"]) listen(name, () => typed && entered());
