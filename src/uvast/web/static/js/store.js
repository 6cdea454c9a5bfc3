/**
 * What the page knows: the project and the open videos, as the server has acknowledged them. The
 * server announces changes step by step; after a missed step the page asks.
 */

import { addressOf, ApiError, get, LONG, newKey, post } from "./api.js";
import { isOrphan, namesGiven, newId, renamed, sendable } from "./applied.js";
import { VideoDocument } from "./documents.js";
import { Outbox } from "./outbox.js";
import { listen } from "./live.js";
import { recall, remember } from "./memory.js";
import { Uploads } from "./uploads.js";

const LONGEST_WAIT = 2000;
const UNSEEN = "The model's segments are new; look at them first";

export class Store {
  constructor() {
    /** @type {any} */
    this.project = null;
    /** @type {Map<string, VideoDocument>} */
    this.documents = new Map();
    this.listeners = new Map();
    this.outbox = new Outbox(() => this.tell("status"));
    this.uploads = new Uploads(this);
    /** @type {() => string | undefined} the video on screen */
    this.present = () => undefined;
    this.connected = false;
    /** Why the server refuses this page; empty if it does not. */
    this.refusal = "";
    this.loads = 0;
    this.loaded = 0;
    /** @type {Map<string, any>} the newest rows of the list of videos, from the news */
    this.rows = new Map();
  }

  /**
   * Calls a listener on news of a topic: project, video, job, status, note, problem.
   * @returns {() => void} stops it
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

  /** The classes of the project; none before it is known. */
  get classes() {
    return this.project?.classes ?? [];
  }

  /** The class with a name; grey if nobody has defined it. @param {string} name */
  classOf(name) {
    this.byName ??= new Map(this.classes.map((one) => [one.name, one]));
    return this.byName.get(name) ?? { name, colour: "#8a8f98", key: "", background: false };
  }

  async load() {
    const number = ++this.loads;
    const project = await get("/api/project");
    if (number < this.loaded) return; // a later answer arrived first
    this.loaded = number;
    this.project = this.#withRows(project);
    this.byName = null;
    this.tell("project");
  }

  /** Puts in the rows that are newer than the answer: news may overtake it. */
  #withRows(project) {
    const newer = (one) => {
      const row = this.rows.get(one.name);
      return row?.version > one.version ? row : one;
    };
    return { ...project, videos: project.videos.map(newer) };
  }

  /**
   * Where a click would teach most, counting all changes made on this page.
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

  /**
   * Starts listening, so that nothing loaded later misses any news. Does not wait long for the
   * connection.
   */
  listen() {
    return new Promise((go) => {
      setTimeout(go, LONGEST_WAIT);
      listen((news) => this.#hear(news), (connected, isRefused) => {
        this.#connection(connected);
        if (isRefused) this.#askWhy();
        go();
      });
    });
  }

  #connection(connected) {
    if (connected && this.project) {
      this.rows.clear(); // another server may count differently
      this.outbox.retry();
      this.#reload();
    } else if (connected && this.loads) this.#projectSoon(); // the answer on its way may be older
    this.connected = connected;
    if (connected) this.refusal = "";
    this.tell("status");
  }

  /** A stream does not tell why it is refused. */
  async #askWhy() {
    const why = await get("/api/formats").catch((error) => error);
    this.refusal = !this.connected && why.status === 403 ? why.message : "";
    this.tell("status");
  }

  #hear(news) {
    if (!this.project) {
      this.#projectSoon(); // the answer on its way may be older
      return;
    }
    if (news.reload) this.#reload();
    if (news.error) this.tell("problem", { sentence: news.error });
    if (news.note) this.tell("note", news.note);
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
    if (!(this.rows.get(row.name)?.version > row.version)) this.rows.set(row.name, row);
    this.rowsSoon ??= setTimeout(() => {
      this.rowsSoon = null;
      this.project = this.#withRows(this.project);
      this.tell("project");
    }, 250);
  }

  /** Reloads what is on screen or has changes waiting; other videos catch up when opened. */
  async #reload() {
    const isWanted = (name) => name === this.present() || this.documents.get(name).waiting.length;
    const names = [...this.documents.keys()].filter(isWanted);
    await Promise.all([this.load(), ...names.map((name) => this.refetch(name))].map(
      (one) => one.catch(() => {}),
    ));
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
   * Opens a video, or brings the open one up to date.
   * @param {string} name
   * @returns {Promise<VideoDocument>}
   */
  async open(name) {
    if (this.documents.has(name)) await this.#fetch(name);
    else {
      const state = await get(addressOf("api/videos", name), LONG);
      if (!this.documents.has(name)) this.documents.set(name, new VideoDocument(state));
      this.refetch(name).catch(() => {}); // nobody heard the news that came meanwhile
    }
    return this.documents.get(name);
  }

  /** @param {string} name */
  async refetch(name) {
    await this.#fetch(name);
    this.tell("video", name);
  }

  /** Fetches what is new, or everything if that is not known. @param {string} name */
  async #fetch(name) {
    const found = this.documents.get(name);
    const since = found?.server.stamp;
    const answer = await get(addressOf("api/videos", name, found ? { since } : {}), LONG);
    found?.take(answer.deltas ? answer : { video: answer });
  }

  /**
   * Changes a video: drawn at once, kept once the server has acknowledged it.
   * @param {string} name
   * @param {import("./applied.js").Change[]} changes
   * @returns {import("./applied.js").Change[]} with the names of new events in `as`
   */
  change(name, changes) {
    const found = this.documents.get(name);
    const batch = changes.map((one) => renamed(one, found.names)).map(
      (one) => (one.do === "add" || one.do === "split" ? { ...one, as: newId() } : one),
    );
    if (!batch.length) return batch;
    const { version: seen, prediction } = found.server;
    found.waiting.push({ changes: batch, seen, prediction, author: this.author });
    found.cached = null;
    let body = null; // the same in every attempt
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

  /** The request for the first waiting batch. @param {VideoDocument} found */
  #bodyOf(found) {
    const [batch] = found.waiting;
    const { changes, seen, author } = batch;
    if (changes.some(isOrphan)) {
      throw new ApiError("That event was never saved, so it cannot be changed.", 422);
    }
    if (found.isUnseen(batch)) throw new ApiError(UNSEEN, 409);
    return {
      version: seen,
      stamp: found.server.stamp,
      author,
      changes: changes.map(sendable),
      key: newKey(),
    };
  }

  #acknowledged(name, found, answer) {
    const names = namesGiven(found.waiting[0].changes, answer.ids);
    found.acknowledge(answer.made, names);
    found.take(answer);
    if (names.size) this.tell("renamed", names);
    this.tell("video", name);
    if (found.isBehind) this.refetch(name).catch(() => {});
  }

  #refused(name, found, error) {
    const batch = found.waiting.shift();
    found.take(error.answer ?? {});
    const mayRepeat = error.status === 409 && !found.isUnseen(batch);
    const again = mayRepeat ? () => this.change(name, batch.changes.map(sendable)) : null;
    this.tell(
      "problem",
      { sentence: error.message, conflict: error.status === 409, again, video: name },
    );
    this.tell("video", name);
    if (found.isBehind) this.refetch(name).catch(() => {});
  }

  /**
   * Undoes or redoes the last change.
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
   * Changes the table of classes, in its turn among all other changes.
   * @param {object} change
   * @returns {Promise<boolean>} whether it was made
   */
  changeClasses(change) {
    const body = { author: this.author, ...change };
    return new Promise((over) => this.outbox.add({
      isOnce: true,
      send: () => post("/api/classes", body),
      done: ({ classes }) => {
        over(true);
        this.project = { ...this.project, classes };
        this.byName = null;
        this.tell("project");
      },
      refused: (error) => {
        over(false);
        this.tell("problem", { sentence: error.message });
      },
    }));
  }
}
