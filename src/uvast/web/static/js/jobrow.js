/** One job of the list. News arrives every second, so only what has changed is updated. */

import { chart } from "./chart.js";
import { h, renew, textButton } from "./dom.js";
import { KINDS } from "./plan.js";
import { span } from "./times.js";

/** What the losses are about; for others, and in the tooltip, their own names. */
const LOSSES = {
  loss: "All errors together",
  frame: "Error in what each frame shows",
  segment: "Error in the order of the actions",
  group_frame: "Error in which actions the frames show at all",
  group_segment: "Error in which actions occur at all",
  cross_attention: "Error in which frames belong to which action",
  boundary: "Error in where actions begin",
  durations: "Error in how long actions take",
  alignment: "Error in where each action lies",
  smoothing: "Jumps from one frame to the next",
  validation: "Scores on videos that it did not learn from",
};

const STATES = {
  queued: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  cancelled: "cancelled",
};

export class JobRow {
  /**
   * @param {number} number of the job
   * @param {{open: () => void, cancel: () => void}} does what its buttons do
   */
  constructor(number, does) {
    this.head = textButton("", does.open, { class: "job-head" });
    this.cancel = textButton("Cancel", does.cancel);
    this.bar = h("progress", { max: 1, "aria-label": "Progress" });
    this.fault = h("p", { class: "fault" });
    this.plan = h("ul", { class: "plan" });
    this.charts = h("div", { class: "charts" });
    this.text = h("pre", {});
    this.log = h("details", {}, h("summary", {}, "Log"), this.text);
    this.details = h("div", { class: "details" }, this.plan, this.charts);
    this.element = h(
      "article",
      { class: "panel job", "data-job": number },
      h("div", { class: "row" }, this.head, this.cancel),
      this.bar,
      this.fault,
    );
  }

  /** @param {any} job @param {boolean} isOpen whether its details are shown */
  update(job, isOpen) {
    const isBusy = job.state === "running" || job.state === "queued";
    const left = job.seconds_left === null ? "" : `, ${span(job.seconds_left)} left`;
    const isStarting = job.state === "running" && job.progress === null;
    this.head.setAttribute("aria-expanded", String(isOpen));
    renew(this.head, [job.state, left, job.doing, isStarting], () => [
      h("span", { class: "number" }, job.number),
      h("strong", {}, KINDS[job.kind]?.[0] ?? `Copy for the browser: ${job.video}`),
      h("span", { class: `state ${job.state}` }, STATES[job.state], left, took(job)),
      h("span", { class: "hint" }, job.doing || (isStarting ? "starting…" : "")),
    ]);
    this.cancel.hidden = !isBusy;
    this.cancel.disabled = Boolean(job.stopping);
    write(this.cancel, job.stopping ? "Stopping…" : "Cancel");
    this.bar.hidden = job.state !== "running";
    if (job.progress === null) this.bar.removeAttribute("value");
    else this.bar.value = job.progress;
    write(this.fault, job.error ?? "");
    if (isOpen) this.#tell(job);
    else this.details.remove();
  }

  /** The plan, curves and log. */
  #tell(job) {
    renew(this.plan, job.plan ?? [], () => (job.plan ?? []).map((one) => h("li", {}, one)));
    renew(this.charts, job.curves ?? {}, () => chartsOf(job.curves ?? {}));
    write(this.text, (job.log ?? []).join("\n"));
    if (!job.log?.length) this.log.remove();
    else if (this.log.parentNode !== this.details) this.details.append(this.log);
    if (this.details.parentNode !== this.element) this.element.append(this.details);
  }
}

/** Leaves an unchanged text alone, so that a selection in it survives. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** How long a job took, if it is over. @param {any} job */
function took({ state, began, ended }) {
  if (!began || !ended) return "";
  return `${state === "done" ? " in" : " after"} ${span(ended - began)}`;
}

/** `Stage 1: frame` in words; the stage only if there are several. */
function inWords(term, titles) {
  const [, stage, name] = /^Stage (\d+): (.*)$/.exec(term) ?? [null, "", term];
  const isOne = titles.every((other) => other.startsWith(`Stage ${stage}:`));
  const words = LOSSES[name.replaceAll(" ", "_")] ?? `Error: ${name}`;
  return isOne || !stage ? words : `${words} (stage ${stage})`;
}

/** A chart for each title; curves are named `title: curve`. */
function chartsOf(all) {
  const groups = new Map();
  for (const [name, points] of Object.entries(all)) {
    const cut = name.lastIndexOf(": ");
    const [title, curve] = [name.slice(0, Math.max(0, cut)), name.slice(cut < 0 ? 0 : cut + 2)];
    groups.set(title, { ...groups.get(title), [curve]: points });
  }
  const titles = [...groups.keys()];
  return [...groups].map(
    ([term, curves]) => chart(inWords(term, titles), curves, undefined, term),
  );
}
