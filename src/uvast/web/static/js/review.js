/** The model's segments, least sure first: accept, correct, next. */

import { get, LONG } from "./api.js";
import { chart } from "./chart.js";
import { fill, h, renew, sorry, textButton } from "./dom.js";
import { IntervalIndex } from "./intervals.js";
import { titleOf } from "./keys.js";
import { tellMore } from "./more.js";
import { ClassPanel, Inspector } from "./panels.js";
import { clock, count } from "./times.js";
import { isOf, Workspace } from "./workspace.js";

const MOST_SHOWN = 200;
/** The server sends at most this many. */
const MOST_SENT = 500;
const ALL_SEEN = "Every segment of the newest model has been looked at.";

export class ReviewView {
  /**
   * @param {import("./store.js").Store} store
   * @param {string[]} _path
   * @param {import("./notices.js").Notices} notices
   */
  constructor(store, _path, notices) {
    Object.assign(this, { store, notices, queue: [], place: -1 });
    /** @type {Map<string, any>} the predictions of the videos when they were last shown */
    this.predictions = new Map();
    this.workspace = new Workspace(store, () => this.#panels(), false);
    this.classes = new ClassPanel(this.workspace, (label) => this.classKey(label));
    this.inspector = new Inspector(this.workspace, () => this.#accept());
    this.list = h("div", { class: "queue" }, h("p", { class: "hint" }, "Looking…"));
    this.title = h("h1", {}, "Review");
    this.buttons = h("div", { class: "row" });
    this.curve = h("div", { class: "curve" });
    const side = h(
      "aside",
      { class: "side" },
      this.inspector.element,
      // before the classes, which have keys and are in the inspector too: a laptop is low
      h(
        "section",
        { class: "panel" },
        h("header", {}, h("h2", {}, "Least sure first"), h("span", { class: "hint" }, "unsure")),
        this.list,
      ),
      this.classes.element,
      this.curve,
    );
    this.element = h("section", { class: "view workspace review" },
      h("div", { class: "bar" }, this.title, this.buttons),
      this.workspace.stage,
      side,
      this.workspace.timeline.element);
    this.leave = [
      tellMore(side),
      store.on("video", (name) => this.#heard(name)),
      store.on("job", (news) => this.#isNewPrediction(news) && this.#renew()),
    ];
  }

  close() {
    this.leave.forEach((stop) => stop());
    this.workspace.close();
  }

  async mount() {
    try {
      this.queue = await this.#fetch();
    } catch (error) {
      this.#nothing(error.message);
      return;
    }
    if (this.queue.length) await this.#go(0);
    else {
      this.#nothing(
        this.store.project.videos.some((one) => one.uncertainty !== null && !one.missing)
          ? ALL_SEEN
          : "There are no predictions yet. Train a model, segment the videos, and come back.",
      );
    }
    this.#score();
  }

  /** Only the first few hundred: the server does not send more. */
  #fetch() {
    return get("/api/review?order=unsure", LONG);
  }

  #nothing(sentence) {
    fill(this.element, sorry(
      "Nothing to review",
      sentence,
      h("a", { class: "button main", href: "#/jobs" }, "Train and segment"),
    ));
  }

  async #score() {
    const rounds = (await get("/api/curve", LONG).catch(() => [])).filter((one) => one.scores);
    if (!rounds.length) return;
    const known = rounds.some((one) => one.learned_from)
      && h(
        "p",
        { class: "hint" },
        "Some rounds are scored on videos that the model had learned from.",
      );
    const title = "Score of each round on reviewed videos";
    fill(this.curve, chart(title, curvesOf(rounds), [0, 100]), known);
  }

  /** Shows a segment of the queue. */
  async #go(place) {
    const wanted = this.queue[place];
    if (!wanted) return;
    this.place = place;
    const { workspace } = this;
    if (workspace.name !== wanted.video || !workspace.isReady) {
      try {
        await workspace.load(wanted.video);
      } catch (error) {
        this.notices.note(error.message, "bad");
        return;
      }
    }
    if (this.queue[this.place] !== wanted || !workspace.isReady) return;
    if (!this.#isForeseen(wanted.video)) this.#renew();
    workspace.suggest(wanted.segment, "prediction");
    workspace.timeline.focus(wanted.segment.start, wanted.segment.end);
    workspace.goTo(wanted.segment.start);
    this.#draw();
  }

  #next() {
    const next = this.queue.findIndex((one, i) => i > this.place && !one.done);
    if (next >= 0) this.#go(next);
    else this.#more();
  }

  /** Asks for what the server has not sent yet. */
  async #more() {
    if (this.isAsking) return;
    this.isAsking = true;
    const known = new Set(this.queue.map(nameOf));
    await this.store.outbox.settled();
    const found = await this.#fetch().catch(() => []);
    this.isAsking = false;
    if (this.workspace.isClosed) return;
    const next = found.findIndex((one) => !known.has(nameOf(one)));
    if (next < 0) {
      const n = this.queue.filter((one) => !one.done).length;
      const stay = n > 1 ? "stay" : "stays";
      const left = n ? ` ${count(n, "segment")} that you passed over ${stay} in the list.` : "";
      this.notices.note(`That was the last one.${left} Train again with what you corrected.`);
      return;
    }
    this.queue = found;
    this.#go(next);
  }

  /** Whether a video's prediction is still the one that was last shown. */
  #isForeseen(name) {
    const { prediction } = this.store.documents.get(name).server;
    const isKnown = !this.predictions.has(name) || this.predictions.get(name) === prediction;
    this.predictions.set(name, prediction);
    return isKnown;
  }

  /** Whether a job has just given all videos new predictions. */
  #isNewPrediction({ job, state }) {
    const { jobs } = this.store.project;
    return state === "done" && jobs.find((one) => one.number === job)?.kind === "segment";
  }

  #heard(name) {
    this.#tick(name);
    if (!this.#isForeseen(name)) this.#renew();
  }

  /**
   * Loads the queue of the newest model. Stays at the present segment if it is still there, or if
   * somebody has corrected it.
   */
  async #renew() {
    const mine = (this.renewing = {});
    await this.store.outbox.settled();
    const found = await this.#fetch().catch(() => null);
    const { workspace, queue, place } = this;
    if (!found || !queue.length || workspace.isClosed || this.renewing !== mine) return;
    if (!found.length) {
      workspace.select(null);
      this.#nothing(ALL_SEEN);
      return;
    }
    const present = queue[place];
    this.queue = found;
    this.place = found.findIndex((one) => present && nameOf(one) === nameOf(present));
    for (const name of this.predictions.keys()) this.#tick(name);
    const isSame = this.queue[this.place]?.segment.label === present?.segment.label;
    const { draft, isReady } = workspace;
    const isCorrected = isReady && draft && !isOf(draft, draft);
    if (!(isSame && isReady) && !isCorrected) await this.#go(Math.max(0, this.place));
  }

  /**
   * Turns the suggestion into a label and goes on. If it was not the segment of the queue, goes
   * back to that one.
   */
  #accept() {
    const { workspace } = this;
    const { draft, isReady } = workspace;
    if (!draft || !isReady) return;
    workspace.acceptDraft();
    const present = this.queue[this.place];
    if (!present || present.done || isOf(draft, present.segment)) this.#next();
    else this.#go(this.place);
  }

  #acceptVideo() {
    if (!this.workspace.isReady) return;
    this.workspace.draft = null;
    this.workspace.change(
      [{ do: "accept", from: "prediction", spans: null }, { do: "reviewed", value: true }],
    );
    this.#next();
  }

  #toClicks() {
    if (this.workspace.isReady) this.workspace.change([{ do: "clicks_from", from: "prediction" }]);
  }

  /** Ticks segments whose middle is labelled, as the server does; undo removes the tick. */
  #tick(name) {
    const { events, reviewed } = this.store.documents.get(name).shown;
    const labels = new IntervalIndex(events.filter((one) => one.end !== null));
    for (const one of this.queue.filter(({ video }) => video === name)) {
      const middle = (one.segment.start + one.segment.end) / 2;
      one.done = reviewed || labels.at(middle) !== null;
    }
    if (this.queue.length) this.#draw();
  }

  #draw() {
    const left = this.queue.filter((one) => !one.done).length;
    const present = this.queue[this.place];
    const more = this.queue.length < MOST_SENT ? "" : " or more";
    const what = present ? ` ${present.video}: ${present.why}` : "";
    const about = `${count(left, "segment")}${more} left.${what}`;
    const whole = [about, present?.measures].filter(Boolean).join(" · ");
    fill(this.title, "Review ", h("small", { title: whole }, about));
    const title = (id) => titleOf(id, this.store.classes);
    renew(this.buttons, "all", () => [
      textButton("Accept", () => this.#accept(), { class: "main", title: title("accept") }),
      textButton("Next", () => this.#next(), { title: title("next") }),
      textButton("Accept the whole video", () => this.#acceptVideo()),
      textButton("Turn into clicks", () => this.#toClicks()),
    ]);
    const from = Math.max(0, Math.min(this.place - 3, this.queue.length - MOST_SHOWN));
    const shown = this.queue.slice(from, from + MOST_SHOWN);
    renew(
      this.list,
      [this.place, shown, this.store.classes],
      () => shown.map((one, i) => this.#row(one, from + i)),
    );
  }

  #row(one, place) {
    const { colour } = this.store.classOf(one.segment.label);
    const dot = h("span", { class: "swatch" });
    dot.style.setProperty("background", colour);
    const row = textButton(
      "",
      () => this.#go(place),
      {
        class: place === this.place ? "on" : one.done ? "done" : "",
        "aria-current": place === this.place ? "true" : null,
        title: [one.video, one.why, one.measures].filter(Boolean).join(" · "),
      },
    );
    fill(
      row,
      dot,
      h(
        "span",
        { class: "what" },
        h("span", { class: "name" }, one.segment.label),
        h("span", { class: "hint" }, `${clock(one.segment.start, 0)} ${one.video}`),
      ),
      h("span", { class: "count" }, one.done ? "✓" : `${Math.round(100 * one.uncertainty)} %`),
    );
    return row;
  }

  #panels() {
    this.classes.update();
    this.inspector.update();
  }

  /** In a review a class's key corrects the label. @param {string} label */
  classKey(label) {
    if (this.workspace.isReady) this.workspace.relabel(label);
  }

  /** @param {string} id */
  command(id) {
    if (id === "accept" && this.workspace.draft) this.#accept();
    else if (id === "next") this.#next();
    else return this.workspace.command(id);
    return true;
  }

  recolour() {
    this.workspace.timeline.recolour();
  }
}

/** Tells the entries of a queue apart. */
function nameOf({ video, segment }) {
  return `${segment.start} ${segment.end} ${video}`;
}

/** One curve per score. @param {{round: number, scores: Record<string, number> | null}[]} rounds */
function curvesOf(rounds) {
  const curves = {};
  for (const { round, scores } of rounds) {
    for (const [name, value] of Object.entries(scores ?? {})) {
      (curves[name] ??= []).push([round, value]);
    }
  }
  return curves;
}
