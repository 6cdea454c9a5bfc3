/** The model's segments, least sure first: accept, correct, next. */

import { get } from "./api.js";
import { chart } from "./chart.js";
import { fill, h, sorry, textButton } from "./dom.js";
import { ClassPanel, Inspector } from "./panels.js";
import { clock, count } from "./times.js";
import { Workspace } from "./workspace.js";

const MOST_SHOWN = 200;

export class ReviewView {
  /**
   * @param {import("./store.js").Store} store
   * @param {string[]} _path
   * @param {import("./notices.js").Notices} notices
   */
  constructor(store, _path, notices) {
    Object.assign(this, { store, notices, queue: [], place: -1 });
    this.workspace = new Workspace(store, () => this.#panels(), false);
    this.classes = new ClassPanel(this.workspace, (label) => this.classKey(label));
    this.inspector = new Inspector(this.workspace, () => this.#accept());
    this.list = h("div", { class: "queue", role: "list" }, h("p", { class: "hint" }, "Looking…"));
    this.title = h("h1", {}, "Review");
    this.buttons = h("div", { class: "row" });
    this.curve = h("div", { class: "curve" });
    this.element = h("section", { class: "view workspace review" },
      h("div", { class: "bar" }, this.title, this.buttons),
      this.workspace.stage,
      h(
        "aside",
        { class: "side" },
        this.inspector.element,
        this.classes.element,
        h(
          "section",
          { class: "panel" },
          h("header", {}, h("h2", {}, "Least sure first")),
          this.list,
        ),
        this.curve,
      ),
      this.workspace.timeline.element);
  }

  close() {
    this.workspace.close();
  }

  async mount() {
    try {
      this.queue = await get("/api/review?order=unsure");
    } catch (error) {
      this.#nothing(error.message);
      return;
    }
    if (this.queue.length) await this.#go(0);
    else {
      this.#nothing(
        "The model has nothing to show yet. Train one, segment the videos, and come back.",
      );
    }
    this.#score();
  }

  #nothing(sentence) {
    fill(this.element, sorry(
      "Nothing to review",
      sentence,
      h("a", { class: "button main", href: "#/jobs" }, "Train and segment"),
    ));
  }

  async #score() {
    const rounds = (await get("/api/curve").catch(() => [])).filter((one) => one.scores);
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

  /** Shows one of the queue. */
  async #go(place) {
    const wanted = this.queue[place];
    if (!wanted) return;
    this.place = place;
    const { workspace } = this;
    if (workspace.name !== wanted.video || !workspace.document) {
      try {
        await workspace.load(wanted.video);
      } catch (error) {
        this.notices.note(error.message, "bad");
        return;
      }
    }
    if (this.queue[this.place] !== wanted) return;
    workspace.suggest(wanted.segment, "prediction");
    workspace.timeline.focus(wanted.segment.start, wanted.segment.end);
    workspace.goTo(wanted.segment.start);
    this.#draw();
  }

  #next() {
    const next = this.queue.findIndex((one, i) => i > this.place && !one.done);
    if (next >= 0) this.#go(next);
    else this.notices.note("That was the last one. Train again with what you corrected.");
  }

  /** Makes the suggestion a label, and goes on. */
  #accept() {
    const { workspace } = this;
    if (!workspace.draft) return;
    workspace.acceptDraft();
    this.queue[this.place].done = true;
    this.#next();
    this.#draw();
  }

  async #acceptVideo() {
    const { name } = this.workspace;
    this.workspace.draft = null;
    this.workspace.change(
      [{ do: "accept", from: "prediction", spans: null }, { do: "reviewed", value: true }],
    );
    this.queue.forEach((one) => (one.done ||= one.video === name));
    this.#next();
    this.#draw();
  }

  #draw() {
    const left = this.queue.filter((one) => !one.done).length;
    const { video, why } = this.queue[this.place];
    const about = `${count(left, "segment")} left. ${video}: ${why}`;
    fill(this.title, "Review ", h("small", { title: about }, about));
    const { workspace } = this;
    fill(
      this.buttons,
      textButton("Accept", () => this.#accept(), { class: "main", title: "Enter" }),
      textButton("Next", () => this.#next(), { title: "N" }),
      textButton("Accept the whole video", () => this.#acceptVideo()),
      textButton(
        "Turn into clicks",
        () => workspace.change([{ do: "clicks_from", from: "prediction" }]),
      ),
    );
    const from = Math.max(0, Math.min(this.place - 3, this.queue.length - MOST_SHOWN));
    fill(
      this.list,
      this.queue.slice(from, from + MOST_SHOWN).map((one, i) => this.#row(one, from + i)),
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
        role: "listitem",
        title: one.why,
      },
    );
    fill(
      row,
      dot,
      h("span", { class: "name" }, one.segment.label),
      h("span", { class: "hint" }, `${clock(one.segment.start, 0)} ${one.video}`),
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
    if (this.workspace.document) this.workspace.relabel(label);
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

/** One curve a score. @param {{round: number, scores: Record<string, number> | null}[]} rounds */
function curvesOf(rounds) {
  const curves = {};
  for (const { round, scores } of rounds) {
    for (const [name, value] of Object.entries(scores ?? {})) {
      (curves[name] ??= []).push([round, value]);
    }
  }
  return curves;
}
