/** One job of the list. News arrives every second, so only what has changed is updated. */

import { chart } from "./chart.js";
import { h, renew, textButton } from "./dom.js";
import { KINDS } from "./plan.js";
import { span } from "./times.js";

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
    this.head.setAttribute("aria-expanded", String(isOpen));
    renew(this.head, [job.state, left, job.doing], () => [
      h("span", { class: "number" }, job.number),
      h("strong", {}, KINDS[job.kind]?.[0] ?? `Copy for the browser: ${job.video}`),
      h("span", { class: `state ${job.state}` }, STATES[job.state], left),
      h("span", { class: "hint" }, job.doing),
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

/** A chart for each title; curves are named `title: curve`. */
function chartsOf(all) {
  const groups = new Map();
  for (const [name, points] of Object.entries(all)) {
    const cut = name.lastIndexOf(": ");
    const [title, curve] = [name.slice(0, Math.max(0, cut)), name.slice(cut < 0 ? 0 : cut + 2)];
    groups.set(title, { ...groups.get(title), [curve]: points });
  }
  return [...groups].map(([title, curves]) => chart(title, curves));
}
