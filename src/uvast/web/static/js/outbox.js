/**
 * Changes on their way to the server, one at a time. What the server has not acknowledged stays
 * here, is shown as pending and is sent again (the server recognises it by its key). Nothing is
 * dropped without telling the user.
 */

import { ApiError } from "./api.js";

const SECONDS_TO_RETRY = [1, 2, 4, 8, 15];
/** How often to try a change that makes the server fail, before the next one gets its turn. */
const TRIES_OF_A_FAULT = 3;

/**
 * @typedef {object} Parcel
 * @property {() => Promise<any>} send
 * @property {(answer: any) => void} done
 * @property {(error: ApiError) => void} refused
 * @property {string} [video]
 * @property {boolean} [isOnce] whether the server would do it twice if it arrived twice
 */

export class Outbox {
  /** @param {(box: Outbox) => void} onchange */
  constructor(onchange) {
    /** @type {Parcel[]} */
    this.parcels = [];
    /** @type {ApiError | null} why nothing gets through */
    this.trouble = null;
    this.savedAt = null;
    this.onchange = onchange;
    /** @type {Promise<void> | null} */
    this.working = null;
    this.tries = 0;
    this.timer = 0;
  }

  /** @param {Parcel} parcel */
  add(parcel) {
    this.parcels.push(parcel);
    this.onchange(this);
    if (!this.trouble) this.#begin();
  }

  get n() {
    return this.parcels.length;
  }

  /** Whether a video has unacknowledged changes. @param {string} video */
  holds(video) {
    return this.parcels.some((one) => one.video === video);
  }

  /** Waits until everything is acknowledged or refused, but not for a server that is down. */
  async settled() {
    await this.working;
  }

  /** Tries again at once. */
  retry() {
    clearTimeout(this.timer);
    this.#begin();
  }

  #begin() {
    this.working ??= Promise.resolve().then(() => this.#work());
  }

  async #work() {
    try {
      let goesOn = true;
      while (goesOn && this.parcels.length) goesOn = await this.#deliver(this.parcels[0]);
    } finally {
      this.working = null;
    }
    this.onchange(this);
  }

  /** @param {Parcel} parcel @returns {Promise<boolean>} whether the next one gets its turn */
  async #deliver(parcel) {
    let answer;
    try {
      answer = await parcel.send();
    } catch (fault) {
      const error = fault instanceof ApiError ? fault : new ApiError(String(fault), 500);
      if (!parcel.isOnce && this.#isWorthAnotherTry(error)) {
        this.#wait(error);
        return false;
      }
      this.#over(null);
      this.#tell(() => parcel.refused(error));
      return true;
    }
    this.savedAt = Date.now();
    this.#over(null);
    this.#tell(() => parcel.done(answer));
    return true;
  }

  /** A callback that throws does not hold up the others. */
  #tell(call) {
    try {
      call();
    } catch (error) {
      reportError(error);
    }
  }

  #isWorthAnotherTry(error) {
    if (error.status === 500 && this.tries + 1 >= TRIES_OF_A_FAULT) return false;
    return error.isPassing;
  }

  #over(trouble) {
    this.parcels.shift();
    this.trouble = trouble;
    this.tries = 0;
    this.onchange(this);
  }

  #wait(error) {
    this.trouble = error;
    const seconds = SECONDS_TO_RETRY[Math.min(this.tries++, SECONDS_TO_RETRY.length - 1)];
    this.timer = setTimeout(() => this.#begin(), seconds * 1000);
    this.onchange(this);
  }
}
