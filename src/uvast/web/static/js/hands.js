/**
 * What somebody is busy with: an element that is pressed and not yet released, or a field whose
 * text is not yet entered. An element that is replaced between press and release gets no click, and
 * a field that is replaced loses its text.
 */

const TEXT = 'input[type="text"], input[type="number"], input:not([type]), textarea';

/** @type {Node | null} */
let pressed = null;
/** @type {Node | null} */
let typed = null;
/** @type {Map<Element, () => void>} */
const waiting = new Map();

/**
 * Runs a task on an element as soon as nobody is pressing or typing in it. If several tasks wait
 * for one element, only the last one runs.
 * @param {Element} element
 * @param {() => void} task
 */
export function whenFree(element, task) {
  waiting.delete(element);
  if (element.contains(pressed) || element.contains(typed)) waiting.set(element, task);
  else task();
}

/** Uses a timeout: the click after a release, and the change after typing, come first. */
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
  // the list of a select swallows the release: it is in hand until something is chosen, or left
  const isSelect = target instanceof HTMLSelectElement;
  pressed = isSelect ? null : target;
  if (isSelect) typed = target;
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
