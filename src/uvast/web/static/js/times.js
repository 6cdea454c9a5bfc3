/** Moments as people write them. Pure. */

/**
 * `83.5` to `1:23.50`.
 * @param {number} seconds
 * @param {number} [digits] after the point
 */
export function clock(seconds, digits = 2) {
  const scale = 10 ** digits;
  const total = Math.round(Math.max(0, seconds) * scale);
  const whole = Math.floor(total / scale);
  const [hours, minutes, rest] = [
    Math.floor(whole / 3600),
    Math.floor(whole / 60) % 60,
    whole % 60,
  ];
  const two = (value) => String(value).padStart(2, "0");
  const head = hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
  return digits ? `${head}.${String(total % scale).padStart(digits, "0")}` : head;
}

/**
 * `1:23.5`, `83.5`, `1:02:03`, `#250` (a frame) or `+5` (from here) to seconds; null if it is none
 * of these.
 * @param {string} text
 * @param {number} now for `+5` and `-5`
 * @param {(frame: number) => number} frameTime
 * @returns {number | null}
 */
export function parseTime(text, now, frameTime) {
  const clean = text.trim().replace(",", ".");
  if (/^#\d+$/.test(clean)) return frameTime(Number(clean.slice(1)));
  const match = /^([+-]?)((?:\d+:){0,2})(\d+(?:\.\d*)?|\.\d+)$/.exec(clean);
  if (!match) return null;
  const parts = match[2].split(":").filter(Boolean).map(Number);
  const seconds = parts.reduce((sum, part) => (sum + part) * 60, 0) + Number(match[3]);
  if (match[1]) return now + (match[1] === "+" ? seconds : -seconds);
  return seconds;
}

/** About how long, in words. @param {number | null} seconds */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 1.5) return "a second";
  if (seconds < 90) return `${Math.round(seconds)} seconds`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} minutes`;
  return `${(seconds / 3600).toFixed(1)} hours`;
}

/** How long, to a hundredth: `0.04 s`, `1:30.00`. @param {number} seconds */
export function exactly(seconds) {
  return seconds < 59.995 ? `${seconds.toFixed(2)} s` : clock(seconds);
}

/** `1 click`, `2 clicks`. @param {number} n @param {string} what */
export function count(n, what) {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
