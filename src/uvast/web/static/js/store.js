/**
 * What the page knows: the project and the videos that are open, as the server acknowledged them.
 * The server tells what is new step by step; who misses a step asks.
 */

import { addressOf, ApiError, get, LONG, newKey, post } from "./api.js";
import { isOrphan, namesGiven, newId, renamed, sendable } from "./applied.js";
import { VideoDocument } from "./documents.js";
import { Outbox } from "./outbox.js";
import { listen } from "./live.js";
import { recall, remember } from "./memory.js";

export class Store {
  constructor() {
    /** @type {any} */
    this.project = null;
    /** @type {Map<string, VideoDocument>} */
    this.documents = new Map();
    this.listeners = new Map();
    this.outbox = new Outbox(() => this.tell("status"));
    this.connected = true;
    /** @type {Map<string, any>} rows of the list that are not shown yet */
    this.rows = new Map();
  }

  /**
   * Calls back on news of a topic: project, video, job, status, problem.
   * @returns {() => void} to stop it
   */
  on(topic, listener) {
    const all = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, all.add(listener));
    return () => all.delete(listener);
  }

  /** @param {string} topic @param {any} [news] */
  tell(topic, news) {
    for (const listener of [...(this.listeners.get(topic) ?? [])]) listener(news);
  }

  get author() {
    return recall("author", "") || this.project?.author || "";
  }

  set author(name) {
    remember("author", name);
    this.tell("project");
  }

  /** The class with a name; one that nobody defined is grey. @param {string} name */
  classOf(name) {
    this.byName ??= new Map(this.project.classes.map((one) => [one.name, one]));
    return this.byName.get(name) ?? { name, colour: "#8a8f98", key: "", background: false };
  }

  async load() {
    this.project = await get("/api/project");
    this.byName = null;
    this.tell("project");
  }

  /**
   * Where a click would teach most, with all changes of this page counted.
   * @param {string} [leaving] the video that somebody is done with
   * @returns {Promise<any>} null if there is nothing to do
   */
  async proposal(leaving) {
    await this.outbox.settled();
    const query = leaving ? `?${new URLSearchParams({ leaving })}` : "";
    const next = await get(`/api/next${query}`, LONG);
    this.project = { ...this.project, next };
    this.tell("project");
    return next;
  }

  listen() {
    listen((news) => this.#hear(news), (connected) => this.#connection(connected));
  }

  #connection(connected) {
    if (connected && !this.connected) {
      this.outbox.retry();
      this.#reload();
    }
    this.connected = connected;
    this.tell("status");
  }

  #hear(news) {
    if (news.reload) this.#reload();
    if (news.error) this.tell("problem", { sentence: news.error });
    if (news.video) this.#heardOf(news.video, news);
    if (news.row) this.#rowSoon(news.row);
    if (news.job) this.tell("job", news);
    if (news.project !== undefined || (news.job && news.state !== "running")) this.#projectSoon();
  }

  #projectSoon() {
    this.soon ??= setTimeout(() => {
      this.soon = null;
      this.load().catch(() => {});
    }, 250);
  }

  #rowSoon(row) {
    this.rows.set(row.name, row);
    this.rowsSoon ??= setTimeout(() => {
      this.rowsSoon = null;
      const newer = (one) => {
        const row = this.rows.get(one.name);
        return row?.version > one.version ? row : one;
      };
      const videos = this.project.videos.map(newer);
      this.rows.clear();
      this.project = { ...this.project, videos };
      this.tell("project");
    }, 250);
  }

  async #reload() {
    await this.load().catch(() => {});
    for (const name of this.documents.keys()) await this.refetch(name).catch(() => {});
  }

  #heardOf(name, news) {
    const found = this.documents.get(name);
    if (!found) return;
    found.hear(news);
    if (!this.outbox.holds(name)) this.#catchUp(name, found);
  }

  #catchUp(name, found) {
    const before = found.server;
    found.take();
    if (found.isBehind) this.refetch(name).catch(() => {});
    else if (found.server !== before) this.tell("video", name);
  }

  /**
   * Opens a video, or gives the open one.
   * @param {string} name
   * @returns {Promise<VideoDocument>}
   */
  async open(name) {
    if (this.documents.has(name)) await this.#fetch(name);
    else {
      const state = await get(addressOf("api/videos", name), LONG);
      if (!this.documents.has(name)) this.documents.set(name, new VideoDocument(state));
    }
    return this.documents.get(name);
  }

  /** @param {string} name */
  async refetch(name) {
    await this.#fetch(name);
    this.tell("video", name);
  }

  /** What is new, or all if that is not known. @param {string} name */
  async #fetch(name) {
    const found = this.documents.get(name);
    const since = found?.server.stamp;
    const answer = await get(addressOf("api/videos", name, found ? { since } : {}), LONG);
    found?.take(answer.deltas ? answer : { video: answer });
  }

  /**
   * Changes a video: drawn at once, kept when the server says so.
   * @param {string} name
   * @param {import("./applied.js").Change[]} changes
   * @returns {import("./applied.js").Change[]} with the names of new events in `as`
   */
  change(name, changes) {
    const found = this.documents.get(name);
    const batch = changes.map(
      (one) => (one.do === "add" || one.do === "split" ? { ...one, as: newId() } : one),
    );
    if (!batch.length) return batch;
    found.waiting.push(batch);
    found.cached = null;
    let body = null; // the same at every try
    this.outbox.add({
      video: name,
      send: () => {
        body ??= this.#bodyOf(found);
        return post(`${addressOf("api/videos", name)}/changes`, body);
      },
      done: (answer) => this.#acknowledged(name, found, answer),
      refused: (error) => this.#refused(name, found, error),
    });
    this.tell("video", name);
    return batch;
  }

  /** What the server gets of the first batch that waits. @param {VideoDocument} found */
  #bodyOf(found) {
    const [batch] = found.waiting;
    if (batch.some(isOrphan)) {
      throw new ApiError("That event was not made, so it cannot be changed.", 422);
    }
    return {
      version: found.server.version,
      stamp: found.server.stamp,
      author: this.author,
      changes: batch.map(sendable),
      key: newKey(),
    };
  }

  #acknowledged(name, found, answer) {
    const names = namesGiven(found.waiting.shift(), answer.ids);
    found.waiting = found.waiting.map((other) => other.map((one) => renamed(one, names)));
    found.take(answer);
    if (names.size) this.tell("renamed", names);
    this.tell("video", name);
    if (found.isBehind) this.refetch(name).catch(() => {});
  }

  #refused(name, found, error) {
    const batch = found.waiting.shift();
    found.take(error.answer ?? {});
    const again = error.status === 409 ? () => this.change(name, batch.map(sendable)) : null;
    this.tell(
      "problem",
      { sentence: error.message, conflict: error.status === 409, again, video: name },
    );
    this.tell("video", name);
  }

  /**
   * Takes the last change back, or makes it again.
   * @param {"undo" | "redo"} what
   * @param {string} [video]
   */
  turn(what, video) {
    const body = { author: this.author, key: newKey(), ...(video ? { video } : {}) };
    this.outbox.add({
      video,
      send: () => post(`/api/${what}`, body),
      done: (answer) => this.#turned(what, answer),
      refused: (error) => this.tell("problem", {
        sentence: error.message,
        conflict: error.status === 409,
      }),
    });
  }

  #turned(what, answer) {
    this.tell("turned", { what, ...answer });
    for (const [name, version] of Object.entries(answer.videos)) this.#heardOf(name, { version });
  }

  /**
   * Changes the table of classes.
   * @param {object} change
   * @returns {Promise<boolean>} whether it was made
   */
  async changeClasses(change) {
    try {
      const answer = await post("/api/classes", { author: this.author, ...change });
      this.project = { ...this.project, classes: answer.classes };
      this.byName = null;
      this.tell("project");
      return true;
    } catch (error) {
      this.tell("problem", { sentence: error.message });
      return false;
    }
  }
}
