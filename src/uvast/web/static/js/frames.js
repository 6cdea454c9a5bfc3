/** Frame numbers and moments. Pure. */

import { lastAtOrBefore } from "./intervals.js";

const CLOCKS_ARE_ROUNDED = 2e-4;

/** When each frame of a video is shown. */
export class FrameTable {
  /**
   * @param {Float64Array} times of the frames, rising
   * @param {number} seconds the length of the video
   */
  constructor(times, seconds) {
    this.times = times;
    this.seconds = seconds;
  }

  /** Frames at an even rate. @param {number} n @param {number} rate @param {number} seconds */
  static even(n, rate, seconds) {
    return new FrameTable(
      Float64Array.from({ length: Math.max(1, n) }, (_, i) => i / rate),
      seconds,
    );
  }

  get n() {
    return this.times.length;
  }

  /** The frame that is shown at a moment. @param {number} seconds */
  frameAt(seconds) {
    return this.inside(lastAtOrBefore(this.times, seconds + CLOCKS_ARE_ROUNDED));
  }

  /** @param {number} frame */
  inside(frame) {
    return Math.min(Math.max(0, frame), this.n - 1);
  }

  /** @param {number} frame */
  start(frame) {
    return this.times[this.inside(frame)];
  }

  /** When the frame gives way to the next one. @param {number} frame */
  end(frame) {
    const i = this.inside(frame);
    if (i + 1 < this.n) return this.times[i + 1];
    const step = this.n > 1 ? this.times[i] - this.times[i - 1] : 0.04;
    return Math.max(this.times[i] + step / 2, Math.min(this.times[i] + step, this.seconds));
  }

  /**
   * Where a segment may begin or end: at the start of a frame or, after the last one, at the end
   * of the video.
   * @param {number} frame
   */
  edge(frame) {
    return frame < this.n ? this.start(frame) : Math.max(this.end(this.n - 1), this.seconds);
  }

  /**
   * The edge that belongs to a moment, moved by some frames. From the middle of the last frame on,
   * that is the end of the video.
   * @param {number} seconds
   * @param {number} [by]
   */
  edgeAt(seconds, by = 0) {
    const frame = this.frameAt(seconds);
    const isLate = frame === this.n - 1 && seconds > this.within(frame);
    return this.edge(frame + (isLate ? 1 : 0) + by);
  }

  /**
   * Where to seek for a frame: never to its edge, because clocks are rounded.
   * @param {number} frame
   * @param {number} [share] of the way through the frame
   */
  within(frame, share = 0.5) {
    return this.start(frame) + share * (this.end(frame) - this.start(frame));
  }
}
