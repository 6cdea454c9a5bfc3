/** Work in the background: the plan first, then progress, curves, time left. */

import { get, post } from "./api.js";
import { dialog } from "./asking.js";
import { h, renew, textButton } from "./dom.js";
import { nextStep } from "./guide.js";
import { JobRow } from "./jobrow.js";
import { KINDS, openPlan } from "./plan.js";
import { count } from "./times.js";

/** Whether a job has got further than in another view of it: it never goes back. */
export function isFurther(one, other) {
  const far = ({ state }) => ["queued", "running"].indexOf(state) + 1 || 3;
  return far(one) > far(other);
}

export class JobsView {
  /**
   * @param {import("./store.js").Store} store
   * @param {string[]} path the plan to open at once
   * @param {import("./notices.js").Notices} notices
   */
  constructor(store, [first], notices) {
    Object.assign(this, { store, notices, first });
    /** @type {Map<number, any>} jobs with their curves */
    this.whole = new Map();
    /** @type {Map<number, number>} which request the last answer about a job belongs to */
    this.answered = new Map();
    this.asked = 0;
    /** @type {number | null | undefined} the job that somebody opened; undefined: the newest */
    this.opened = undefined;
    /** @type {Map<number, JobRow>} */
    this.rows = new Map();
    this.list = h("div", { class: "job-list" });
    this.none = h("p", { class: "hint" }, "Nothing has been started yet.");
    this.runs = h("div", { class: "runs" });
    this.steps = h("div", { class: "steps" });
    this.element = h(
      "section",
      { class: "view jobs" },
      h("div", { class: "bar" }, h("h1", {}, "Train and segment")),
      this.steps,
      h("h2", {}, "Jobs"),
      this.none,
      this.list,
      this.runs,
    );
    this.leave = [
      store.on("project", () => this.#later()),
      store.on("job", (news) => this.#fetch(news.job)),
    ];
    this.update();
  }

  close() {
    this.leave.forEach((stop) => stop());
  }

  /** Opens the plan that the address names. */
  mount() {
    if (KINDS[this.first]) this.#plan(this.first);
  }

  #plan(kind, run) {
    openPlan(this.store, kind, (job) => this.#started(job), run);
  }

  async #started(job) {
    this.opened = job.number;
    this.whole.set(job.number, job);
    await this.store.load().catch(() => {});
  }

  /** Opens the report of a model, or the plan to write it. */
  #report(run) {
    const number = run.name.replace(/\D/g, "");
    const written = (job) => job.kind === "report" && job.state === "done" && job.output === number;
    if (!this.store.project.jobs.some(written)) this.#plan("report", run.name);
    else {
      const page = h("iframe", { src: `/report/${number}`, title: `Report of ${run.name}` });
      dialog(`Report of ${run.name}`, page).classList.add("whole");
    }
  }

  /** Skips the update while somebody is pressing a button: it would be replaced. */
  #later() {
    if (!this.list.matches(":active")) this.update();
  }

  async #fetch(number) {
    const question = ++this.asked;
    const job = await get(`/api/jobs/${number}`).catch(() => null);
    if (job && question > (this.answered.get(number) ?? 0)) { // a later answer may arrive first
      this.answered.set(number, question);
      this.whole.set(number, job);
    }
    this.#later();
  }

  update() {
    const { jobs, runs } = this.store.project;
    const step = nextStep(this.store.project);
    const next = step.isBusy ? null : step.kind;
    const facts = factsOf(this.store.project);
    renew(this.steps, [next, facts], () => Object.keys(KINDS).map(
      (kind) => this.#step(kind, facts[kind], kind === next),
    ));
    const shown = this.#shown;
    if (shown && !this.whole.has(shown)) this.#fetch(shown);
    this.none.hidden = jobs.length > 0;
    for (const one of jobs.toReversed()) { // each new row goes on top, so the newest comes last
      const row = this.rows.get(one.number) ?? this.#newRow(one.number);
      row.update(this.#newest(one), one.number === shown);
    }
    renew(this.runs, runs, () => (
      runs.length ? [h("h2", {}, "Models"), runs.map((one) => this.#run(one))] : null
    ));
  }

  /** The job whose details are shown: the opened one, else the running one, else the newest. */
  get #shown() {
    const { jobs } = this.store.project;
    const first = jobs.find((one) => one.state === "running") ?? jobs[0];
    return this.opened === undefined ? first?.number : this.opened;
  }

  /** What can be started, and how far along the project is. */
  #step(kind, fact, isNext) {
    const [title, about] = KINDS[kind];
    return h(
      "div",
      { class: "panel step" },
      h("h2", {}, title),
      h("p", { class: "hint" }, about),
      h("p", {}, fact),
      textButton(
        `${title}…`,
        () => this.#plan(kind),
        { class: isNext ? "main" : "", "data-kind": kind },
      ),
    );
  }

  /** What is known of a job: its own news is fresher than the list, unless the list is further. */
  #newest(one) {
    const whole = this.whole.get(one.number);
    if (!whole) return one;
    return isFurther(one, whole) ? { ...whole, ...one } : { ...one, ...whole };
  }

  #newRow(number) {
    const cancel = () => post(`/api/jobs/${number}/cancel`, {}).catch(
      (error) => this.notices.note(error.message, "bad"),
    );
    const open = () => this.#open(number === this.#shown ? null : number);
    const row = new JobRow(number, { open, cancel });
    this.rows.set(number, row);
    this.list.prepend(row.element);
    return row;
  }

  #open(number) {
    this.opened = number;
    if (number === null) this.update();
    else this.#fetch(number).then(() => this.update());
  }

  #run(run) {
    const known = Object.entries(run.scores ?? {}).filter(([, value]) => typeof value === "number");
    const scores = known.map(([name, value]) => `${name} ${value.toFixed(1)}`).join(", ");
    return h(
      "div",
      { class: "run panel" },
      h("strong", {}, run.name),
      h(
        "span",
        { class: `state ${run.finished ? "done" : "running"}` },
        run.finished ? "finished" : "not finished",
      ),
      h("span", { class: "hint" }, scores || "no scores: no labelled videos were held out"),
      run.finished ? textButton("Report", () => this.#report(run)) : null,
    );
  }
}

/** How far along a project is with each kind of work. @param {any} project */
function factsOf({ videos, runs }) {
  const n = (holds) => videos.filter(holds).length;
  const of = (number, what) => (
    videos.length ? `${number} of ${count(videos.length, "video")} ${what}` : "No videos yet"
  );
  const finished = runs.filter((one) => one.finished);
  return {
    extract: of(n((one) => one.has_features), "done"),
    train: of(n((one) => one.n_clicks + one.n_segments), "with clicks or labels"),
    segment: of(n((one) => one.uncertainty !== null), "segmented"),
    report: finished.length ? `Newest model: ${finished[0].name}` : "No model yet",
  };
}
