/** The page's colours for canvases, and the ink that is readable on them. */

const DARK = "#000000";
const LIGHT = "#ffffff";

const NAMES = ["ground", "panel", "sunk", "ink", "faint", "line", "accent", "hatch"];

/**
 * The colours of the page, read again when the theme changes.
 * @returns {Record<string, string>} by name, as `#rrggbb`
 */
export function palette() {
  const probe = document.body.appendChild(document.createElement("span"));
  const read = (name) => {
    probe.style.setProperty("color", `var(--${name})`); // only a computed colour follows the theme
    return hex(getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).map(Number));
  };
  const found = Object.fromEntries(NAMES.map((name) => [name, read(name)]));
  probe.remove();
  return found;
}

/** @param {number[]} values red, green and blue, 0 to 255 */
function hex(values) {
  return `#${values.map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}

/** @param {string} colour `#rrggbb` @returns {number[]} red, green and blue, 0 to 255 */
function parts(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** The relative luminance of a colour as WCAG defines it, 0 to 1. */
function luminance(colour) {
  const [red, green, blue] = parts(colour).map((one) => {
    const share = one / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** WCAG's contrast of two colours, 1 to 21. @param {string} one @param {string} other */
export function contrast(one, other) {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/**
 * Black or white, whichever is easier to read on a colour; one always has a contrast of 4.5.
 * @param {string} colour `#rrggbb`
 */
export function inkOn(colour) {
  return contrast(colour, DARK) >= contrast(colour, LIGHT) ? DARK : LIGHT;
}

/**
 * A colour laid over another one.
 * @param {string} colour
 * @param {string} ground
 * @param {number} share of the first, 0 to 1
 */
export function mixed(colour, ground, share) {
  const under = parts(ground);
  return hex(parts(colour).map((one, i) => Math.round(share * one + (1 - share) * under[i])));
}

/** A colour as one 32-bit pixel of an image. @param {string} colour */
export function pixelOf(colour) {
  return new Uint32Array(new Uint8ClampedArray([...parts(colour), 255]).buffer)[0];
}

/**
 * Stripes for what nobody has looked at.
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 */
export function hatching(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const by of [-8, 0, 8]) {
    pen.moveTo(by, 8);
    pen.lineTo(by + 8, 0);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
