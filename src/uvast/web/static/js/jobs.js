/** Work in the background: the plan first, then progress, curves, time left. */

import { get, post } from "./api.js";
import { chart } from "./chart.js";
import { dialog } from "./asking.js";
import { fill, h, textButton } from "./dom.js";
import { field, select } from "./exchange.js";
import { span } from "./times.js";

const KINDS = {
  extract: ["Features", "What the model sees of each video. Needed once for every video."],
  train: ["Train", "Learns from the clicks or segments of all videos."],
  segment: ["Segment", "Finds the actions in all videos with the newest model."],
  report: ["Report", "One page about a model: scores, pictures, where it errs."],
};
const STATES = {
  queued: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
};

/** The options of each kind of work. @returns {Record<string, HTMLElement>} */
function options(kind, project) {
  const runs = () => select(
    "Model",
    [
      ["", "The newest"],
      ...project.runs.filter((one) => one.finished).map((one) => [one.name, one.name]),
    ],
  );
  const number = (label, more) => h(
    "input",
    { type: "number", min: 1, placeholder: "its own choice", "aria-label": label, ...more },
  );
  switch (kind) {
    case "extract":
      return {
        extractor: select(
          "Extractor",
          [
            ["", "Its own choice"],
            ["pixels", "Pixels: fast, rough"],
            ["appearance", "Appearance: objects and places"],
            ["i3d", "I3D: movements, slow"],
            ["appearance,i3d", "Both"],
          ],
        ),
      };
    case "train":
      return { epochs: number("Epochs", { step: 1 }) };
    default:
      return { run: runs() };
  }
}

const LABELS = { extractor: "Extractor", epochs: "Epochs", run: "Model" };

export class JobsView {
  /**
   * @param {import("./store.js").Store} store
   * @param {string[]} _path
   * @param {import("./notices.js").Notices} notices
   */
  constructor(store, _path, notices) {
    Object.assign(this, { store, notices });
    /** @type {Map<number, any>} jobs with their curves */
    this.whole = new Map();
    this.opened = null;
    this.list = h("div", { class: "job-list" });
    this.runs = h("div", { class: "runs" });
    const cards = Object.entries(KINDS).map(
      ([kind, [title, about]]) => h(
        "div",
        { class: "panel step" },
        h("h2", {}, title),
        h("p", { class: "hint" }, about),
        textButton(`${title}…`, () => this.#plan(kind), { class: "main", "data-kind": kind }),
      ),
    );
    this.element = h(
      "section",
      { class: "view jobs" },
      h("div", { class: "bar" }, h("h1", {}, "Train and segment")),
      h("div", { class: "steps" }, cards),
      h("h2", {}, "Jobs"),
      this.list,
      this.runs,
    );
    this.leave = [
      store.on("project", () => this.update()),
      store.on("job", (news) => this.#news(news)),
    ];
    this.update();
  }

  close() {
    this.leave.forEach((stop) => stop());
  }

  /** Says what would be done, before it is done. */
  #plan(kind) {
    const fields = options(kind, this.store.project);
    const sentences = h("ul", { class: "plan", "aria-live": "polite" });
    const fault = h("p", { class: "fault", role: "alert" });
    const start = textButton("Start", () => this.#start(wanted(), box, fault), { class: "main" });
    const wanted = () => {
      const values = Object.entries(fields).filter(([, input]) => input.value);
      return {
        kind,
        author: this.store.author,
        ...Object.fromEntries(
          values.map(
            ([name, input]) => [name, input.type === "number" ? Number(input.value) : input.value],
          ),
        ),
      };
    };
    const plan = async () => {
      try {
        fill(sentences, (await post("/api/plan", wanted())).plan.map((one) => h("li", {}, one)));
        fill(fault);
        start.disabled = false;
      } catch (error) {
        fill(sentences);
        fill(fault, error.message);
        start.disabled = true;
      }
    };
    for (const input of Object.values(fields)) input.addEventListener("change", plan);
    const box = dialog(
      KINDS[kind][0],
      Object.entries(fields).map(([name, input]) => field(LABELS[name], input)),
      h("h3", {}, "The plan"),
      sentences,
      fault,
      h("footer", {}, start),
    );
    plan();
  }

  async #start(wanted, box, fault) {
    try {
      const job = await post("/api/jobs", wanted);
      this.opened = job.number;
      this.whole.set(job.number, job);
      box.close();
      await this.store.load();
    } catch (error) {
      fill(fault, error.message);
    }
  }

  async #news(news) {
    if (news.job === this.opened || news.state !== "running") await this.#fetch(news.job);
    else this.update();
  }

  async #fetch(number) {
    const job = await get(`/api/jobs/${number}`).catch(() => null);
    if (job) this.whole.set(number, job);
    this.update();
  }

  update() {
    const { jobs, runs } = this.store.project;
    this.opened ??= jobs.find((one) => one.state === "running")?.number ?? jobs[0]?.number ?? null;
    if (this.opened !== null && !this.whole.has(this.opened)) this.#fetch(this.opened);
    fill(this.list, jobs.map((one) => this.#row({ ...one, ...this.whole.get(one.number) })));
    if (!jobs.length) {
      fill(
        this.list,
        h(
          "p",
          { class: "hint" },
          "Nothing was started yet. First features, then train, then segment.",
        ),
      );
    }
    fill(
      this.runs,
      runs.length ? [h("h2", {}, "Models"), runs.map((one) => this.#run(one))] : null,
    );
  }

  #row(job) {
    const open = job.number === this.opened;
    const title = `${KINDS[job.kind]?.[0] ?? "Copy for the browser"}${job.video ? `: ${job.video}` : ""}`;
    const busy = job.state === "running" || job.state === "queued";
    const left = job.seconds_left === null ? "" : `, ${span(job.seconds_left)} left`;
    const head = textButton(
      "",
      () => this.#open(open ? null : job.number),
      { class: "job-head", "aria-expanded": String(open) },
    );
    fill(
      head,
      h("span", { class: "number" }, job.number),
      h("strong", {}, title),
      h("span", { class: `state ${job.state}` }, STATES[job.state], left),
      h("span", { class: "hint" }, job.doing),
    );
    const bar = job.state === "running"
      ? h(
        "progress",
        {
          max: 1,
          ...(job.progress === null ? {} : { value: job.progress }),
          "aria-label": "Progress",
        },
      )
      : null;
    const cancel = busy
      ? textButton(
        job.stopping ? "Stopping…" : "Cancel",
        () => post(`/api/jobs/${job.number}/cancel`, {}).catch(
          (error) => this.notices.note(error.message, "bad"),
        ),
        { disabled: job.stopping },
      )
      : null;
    return h(
      "article",
      { class: "panel job", "data-job": job.number },
      h("div", { class: "row" }, head, cancel),
      bar,
      job.error ? h("p", { class: "fault" }, job.error) : null,
      open ? details(job) : null,
    );
  }

  #open(number) {
    this.opened = number;
    this.opened === null
      ? fill(this.list, this.store.project.jobs.map((one) => this.#row(one)))
      : this.#fetch(number);
  }

  #run(run) {
    const scores = run.scores
      ? Object.entries(run.scores).filter(([, value]) => value !== null && value !== undefined).map(
        ([name, value]) => `${name} ${Number(value).toFixed(1)}`,
      ).join(", ")
      : "no validation";
    const number = run.name.replace(/\D/g, "");
    return h(
      "div",
      { class: "run panel" },
      h("strong", {}, run.name),
      h(
        "span",
        { class: `state ${run.finished ? "done" : "running"}` },
        run.finished ? "finished" : "not finished",
      ),
      h("span", { class: "hint" }, scores),
      run.finished
        ? h("a", { href: `/report/${number}`, target: "_blank", rel: "noopener" }, "report")
        : null,
    );
  }
}

/** The plan, curves and log of a job. */
function details(job) {
  const groups = new Map();
  for (const [name, points] of Object.entries(job.curves ?? {})) {
    const [title, curve] = name.includes(": ")
      ? [name.slice(0, name.lastIndexOf(": ")), name.slice(name.lastIndexOf(": ") + 2)]
      : ["", name];
    groups.set(title, { ...groups.get(title), [curve]: points });
  }
  const log = Array.isArray(job.log) ? job.log.join("\n") : job.log;
  return h(
    "div",
    { class: "details" },
    h("ul", { class: "plan" }, (job.plan ?? []).map((one) => h("li", {}, one))),
    h("div", { class: "charts" }, [...groups].map(([title, curves]) => chart(title, curves))),
    log ? h("details", {}, h("summary", {}, "Log"), h("pre", {}, log)) : null,
  );
}
