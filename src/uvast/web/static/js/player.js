/** Plays a video and shows exactly the frame that is asked for. */

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const SECONDS_TO_SHOW = 0.6;
/** How far into a frame to seek, tried in turn. */
const TRIES = [0.5, 0.3, 0.7];

/**
 * What every player has in common: speeds, steps, loops, and playing backwards, which no browser
 * does by itself.
 */
class Transport {
  /** @param {import("./frames.js").FrameTable} table @param {() => void} onchange */
  constructor(table, onchange) {
    this.table = table;
    this.onchange = onchange;
    this.frame = 0;
    this.rate = 1;
    this.playing = false;
    this.backwards = false;
    /** @type {{start: number, end: number} | null} */
    this.loop = null;
  }

  /** Whether the wanted frame is the one on screen. */
  get settled() {
    return true;
  }

  /** The moment of the frame that is shown. */
  get seconds() {
    return this.table.start(this.frame);
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  /** @param {number} n */
  step(n) {
    this.pause();
    this.seekFrame(this.frame + n);
  }

  /** @param {number} seconds */
  seek(seconds) {
    this.seekFrame(this.table.frameAt(seconds));
  }

  /** @param {number} rate one of the speeds */
  setRate(rate) {
    this.rate = Math.min(Math.max(rate, SPEEDS[0]), SPEEDS[SPEEDS.length - 1]);
    this.onchange();
  }

  /** J and L: each further press doubles the speed. @param {number} direction */
  shuttle(direction) {
    const back = direction < 0;
    const same = this.playing && this.backwards === back;
    this.setRate(same ? this.rate * 2 : 1);
    if (same) return;
    this.pause();
    if (back) this.#playBackwards();
    else this.play();
  }

  #playBackwards() {
    this.playing = this.backwards = true;
    let before = performance.now();
    let moment = this.seconds;
    const tick = (now) => {
      if (!this.backwards) return;
      moment -= ((now - before) / 1000) * this.rate;
      before = now;
      this.seek(Math.max(0, moment));
      if (moment <= 0) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    this.onchange();
  }

  /** Jumps back to the start of the loop at its end, or at the end of the video. */
  turnBack(seconds = this.seconds) {
    if (!this.loop) return;
    const { start } = this.loop;
    const end = Math.min(this.loop.end, this.table.seconds);
    if (seconds >= end - 1e-3 || seconds < start - 0.1) this.seek(start);
  }
}

export { SPEEDS };

/** Plays through a video element; the server's picture stands in where the browser fails. */
export class VideoPlayer extends Transport {
  /**
   * @param {HTMLVideoElement} video
   * @param {HTMLImageElement} picture laid over it
   * @param {import("./frames.js").FrameTable} table
   * @param {(frame: number) => string} pictureOf the address of a frame's picture
   * @param {() => void} onchange
   */
  constructor(video, picture, table, pictureOf, onchange) {
    super(table, onchange);
    Object.assign(
      this,
      { video, picture, pictureOf, shown: -1, wanted: null, chasing: false, waiting: null },
    );
    this.watch = video.requestVideoFrameCallback((_now, data) => this.#onFrame(data.mediaTime));
    video.addEventListener("ended", () => this.#end());
    const first = () => this.playing || this.seekFrame(this.frame);
    video.addEventListener("loadeddata", first, { once: true });
  }

  get settled() {
    return this.wanted === null && !this.playing;
  }

  close() {
    this.backwards = false;
    this.video.cancelVideoFrameCallback(this.watch);
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.load();
  }

  play() {
    this.backwards = false;
    if (this.frame >= this.table.n - 1) this.seek(this.loop?.start ?? 0);
    this.picture.hidden = true;
    this.playing = true;
    this.video.playbackRate = this.rate;
    this.video.play().catch(() => this.pause());
    this.onchange();
  }

  #end() {
    if (!this.loop) {
      this.pause();
      return;
    }
    this.seek(this.loop.start);
    this.play();
  }

  pause() {
    this.playing = this.backwards = false;
    this.video.pause();
    this.onchange();
  }

  setRate(rate) {
    super.setRate(rate);
    this.video.playbackRate = this.rate;
  }

  /** @param {number} frame */
  seekFrame(frame) {
    this.wanted = this.frame = this.table.inside(frame);
    this.onchange();
    if (!this.chasing) this.#chase();
  }

  #onFrame(mediaTime) {
    this.watch = this.video.requestVideoFrameCallback(
      (_now, data) => this.#onFrame(data.mediaTime),
    );
    this.shown = this.table.frameAt(mediaTime);
    this.waiting?.(this.shown);
    if (this.playing && !this.backwards && this.wanted === null) {
      this.frame = this.shown;
      this.turnBack();
      this.onchange();
    }
  }

  /** Goes to the wanted frame. If seeks come faster than pictures, only the last one is shown. */
  async #chase() {
    this.chasing = true;
    while (this.wanted !== null) {
      const frame = this.wanted;
      const found = await this.#show(frame);
      if (this.wanted !== frame) continue;
      if (found || this.playing) this.picture.hidden = true;
      else await this.#borrow(frame);
      if (this.wanted === frame) this.wanted = null;
    }
    this.chasing = false;
    this.onchange();
  }

  async #show(frame) {
    if (this.playing && !this.backwards) return this.#jump(frame);
    if (this.shown === frame && !this.video.seeking && !this.playing) return true;
    for (const share of TRIES) {
      if (await this.#seekAndLook(frame, this.table.within(frame, share))) return true;
      if (this.wanted !== frame) return false;
    }
    return false;
  }

  /** While it plays, the next frames follow at once: no need to insist on this one. */
  #jump(frame) {
    return new Promise((resolve) => {
      this.video.addEventListener("seeked", () => resolve(true), { once: true });
      this.video.currentTime = this.table.within(frame);
    });
  }

  /** Whether the browser shows the frame after a seek. */
  #seekAndLook(frame, seconds) {
    return new Promise((resolve) => {
      const over = (found) => {
        clearTimeout(timer);
        this.waiting = null;
        resolve(found);
      };
      let timer = setTimeout(() => over(this.shown === frame && !this.video.seeking), 4000);
      this.waiting = (shown) => shown === frame && over(true);
      const seeked = () => {
        clearTimeout(timer);
        timer = setTimeout(() => over(this.shown === frame), SECONDS_TO_SHOW * 1000);
      };
      this.video.addEventListener("seeked", seeked, { once: true });
      this.shown = -1;
      this.video.currentTime = seconds;
    });
  }

  /** The server's picture of the frame. */
  async #borrow(frame) {
    const picture = new Image();
    picture.src = this.pictureOf(frame);
    await picture.decode().catch(() => {});
    if (this.wanted !== frame || this.playing) return;
    this.picture.src = picture.src;
    this.picture.hidden = false;
  }
}

/** Keeps time where no video plays: for features, or single pictures. */
export class SilentPlayer extends Transport {
  close() {
    this.playing = this.backwards = false;
  }

  play() {
    this.backwards = false;
    if (this.frame >= this.table.n - 1) this.seek(this.loop?.start ?? 0);
    this.playing = true;
    let before = performance.now();
    let moment = this.seconds;
    const tick = (now) => {
      if (!this.playing || this.backwards) return;
      if (this.table.frameAt(moment) !== this.frame) moment = this.seconds;
      moment += (Math.max(0, now - before) / 1000) * this.rate;
      before = now;
      this.frame = this.table.frameAt(moment);
      this.turnBack(moment);
      if (moment >= this.table.seconds && !this.loop) this.pause();
      else requestAnimationFrame(tick);
      this.onchange();
    };
    requestAnimationFrame(tick);
    this.onchange();
  }

  pause() {
    this.playing = this.backwards = false;
    this.onchange();
  }

  /** @param {number} frame */
  seekFrame(frame) {
    this.frame = this.table.inside(frame);
    this.onchange();
  }
}
