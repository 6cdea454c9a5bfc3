/**
 * What the page knows: the project and the videos that are open, as the server acknowledged them.
 */

import { addressOf, ApiError, get, post } from "./api.js";
import { applied, isOrphan, namesGiven, newId, renamed, sendable } from "./applied.js";
import { Outbox } from "./outbox.js";
import { listen } from "./live.js";
import { recall, remember } from "./memory.js";

/** One open video. */
export class VideoDocument {
  /** @param {any} state */
  constructor(state) {
    this.server = state;
    /** @type {import("./applied.js").Change[][]} batches that are on their way */
    this.waiting = [];
    /** the events when the last batch was sent: what is new then is ours */
    this.base = state.events;
    this.heard = state.version;
    this.cached = null;
  }

  /** The acknowledged state with the pending changes drawn in. */
  get shown() {
    this.cached ??= applied(this.server, this.waiting.flat());
    return this.cached;
  }

  /** @param {any} state */
  replace(state) {
    if (state.version < this.server.version) return;
    this.server = state;
    this.cached = null;
  }
}

export class Store {
  constructor() {
    /** @type {any} */
    this.project = null;
    /** @type {Map<string, VideoDocument>} */
    this.documents = new Map();
    this.listeners = new Map();
    this.outbox = new Outbox(() => this.tell("status"));
    this.connected = true;
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
    if (news.video) this.#heardOf(news.video, news.version);
    if (news.job) this.tell("job", news);
    if (news.project !== undefined || (news.job && news.state !== "running")) this.#projectSoon();
  }

  #projectSoon() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.load().catch(() => {}), 250);
  }

  async #reload() {
    await this.load().catch(() => {});
    for (const name of this.documents.keys()) await this.refetch(name).catch(() => {});
  }

  #heardOf(name, version) {
    const found = this.documents.get(name);
    if (!found) return;
    found.heard = Math.max(found.heard, version);
    if (found.heard > found.server.version && !this.outbox.holds(name)) {
      this.refetch(name).catch(() => {});
    }
  }

  /**
   * Opens a video, or gives the open one.
   * @param {string} name
   * @returns {Promise<VideoDocument>}
   */
  async open(name) {
    const state = await get(addressOf("api/videos", name));
    const found = this.documents.get(name);
    if (found) found.replace(state);
    else this.documents.set(name, new VideoDocument(state));
    return this.documents.get(name);
  }

  /** @param {string} name */
  async refetch(name) {
    const state = await get(addressOf("api/videos", name));
    this.documents.get(name)?.replace(state);
    this.tell("video", name);
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
    const mine = () => found.waiting[0];
    this.outbox.add({
      video: name,
      send: () => this.#send(name, found, mine()),
      done: (answer) => this.#acknowledged(name, found, answer.video),
      refused: (error) => this.#refused(name, found, error),
    });
    this.tell("video", name);
    return batch;
  }

  #send(name, found, batch) {
    if (batch.some(isOrphan)) {
      throw new ApiError("That event was not made, so it cannot be changed.", 422);
    }
    found.base = found.server.events;
    const body = {
      version: found.server.version,
      author: this.author,
      changes: batch.map(sendable),
    };
    return post(`${addressOf("api/videos", name)}/changes`, body);
  }

  #acknowledged(name, found, state) {
    const batch = found.waiting.shift();
    const names = namesGiven(batch, found.base, state.events);
    found.waiting = found.waiting.map((other) => other.map((one) => renamed(one, names)));
    found.cached = null;
    found.replace(state);
    if (names.size) this.tell("renamed", names);
    this.tell("video", name);
    if (found.heard > state.version) this.refetch(name).catch(() => {});
  }

  #refused(name, found, error) {
    const batch = found.waiting.shift();
    found.cached = null;
    if (error.answer?.video) found.replace(error.answer.video);
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
    this.outbox.add({
      video,
      send: () => post(`/api/${what}`, { author: this.author, ...(video ? { video } : {}) }),
      done: (answer) => this.#turned(what, answer),
      refused: (error) => this.tell(
        "problem",
        { sentence: error.message, conflict: error.status === 409 },
      ),
    });
  }

  #turned(what, answer) {
    this.tell("turned", { what, ...answer });
    for (const [name, version] of Object.entries(answer.videos)) this.#heardOf(name, version);
    this.#projectSoon();
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
