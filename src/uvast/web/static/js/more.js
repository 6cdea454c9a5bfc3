/** Shows that a list goes on below: on many systems a scroll bar is hidden until it is used. */

/** Pixels that may be below the edge without a sign. */
const LITTLE = 4;

/**
 * Gives an element the class `more` as long as it can be scrolled down.
 * @param {HTMLElement} element
 * @returns {() => void} ends it
 */
export function tellMore(element) {
  const look = () => {
    const left = element.scrollHeight - element.clientHeight - element.scrollTop;
    element.classList.toggle("more", left > LITTLE);
  };
  const sizes = new ResizeObserver(look);
  sizes.observe(element);
  for (const child of element.children) sizes.observe(child);
  element.addEventListener("scroll", look, { passive: true });
  return () => sizes.disconnect();
}
