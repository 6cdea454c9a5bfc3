/** What to do next with a project: one step at a time, from the first video to the last review. */

import { h } from "./dom.js";
import { clock, count } from "./times.js";

/**
 * @typedef {object} Step
 * @property {"videos" | "clicks" | "extract" | "train" | "segment" | "review"} kind
 * @property {string} title
 * @property {string} why
 * @property {string} [href] where to do it
 * @property {string} [button]
 * @property {boolean} [isBusy] whether it is in progress
 */

/** Names of the steps, in order. */
export const STEPS = {
  videos: "Videos",
  clicks: "Clicks",
  extract: "Features",
  train: "Model",
  segment: "Predictions",
  review: "Review",
};

const ENOUGH = 2;
const BUSY = { extract: "Features are being computed", train: "A model is learning",
  segment: "The videos are being segmented" };

/** @param {string} name of a video @param {number | null} [seconds] */
export function annotateAddress(name, seconds = null) {
  return `#/annotate/${encodeURIComponent(name)}${seconds === null ? "" : `/${seconds}`}`;
}

/**
 * The first step that is not done. Pure.
 * @param {any} project
 * @returns {Step}
 */
export function nextStep(project) {
  const { videos, runs, jobs, next } = project;
  const n_bare = videos.filter((one) => !one.has_features && !one.missing).length;
  const n_labelled = videos.filter((one) => one.n_clicks + one.n_segments).length;
  const kind = !videos.length ? "videos"
    : n_labelled < Math.min(ENOUGH, videos.length) ? "clicks"
    : n_bare ? "extract"
    : !runs.some((one) => one.finished) ? "train"
    : !videos.some((one) => one.uncertainty !== null) ? "segment"
    : "review";
  const isBusy = jobs.some((one) => one.kind === kind && ["running", "queued"].includes(one.state));
  if (isBusy) {
    const why = "Meanwhile you can keep clicking, or close the page.";
    return { kind, isBusy, title: BUSY[kind], why, href: "#/jobs", button: "Watch" };
  }
  const todo = next?.video ?? videos[0]?.name;
  return { kind, ...WORDS[kind]({ n_bare, n_labelled, todo, seconds: next?.seconds }) };
}

const WORDS = {
  videos: () => ({
    title: "Add your videos",
    why: "Drop video files anywhere on this page. They are copied into the project.",
  }),
  clicks: ({ n_labelled, todo }) => ({
    title: n_labelled ? "Click in one more video" : "Click once in each action",
    why: "Play a video and press a key when you see an action: one click anywhere in it will do.",
    href: annotateAddress(todo),
    button: `Open ${todo}`,
  }),
  extract: ({ n_bare }) => ({
    title: "Compute features",
    why: `What the model sees, computed once per video. Still to do: ${count(n_bare, "video")}.`,
    href: "#/jobs/extract",
    button: "Features…",
  }),
  train: ({ n_labelled }) => ({
    title: "Train a model",
    why: `It learns from the ${count(n_labelled, "video")} with clicks or labels. More is better.`,
    href: "#/jobs/train",
    button: "Train…",
  }),
  segment: () => ({
    title: "Segment all videos",
    why: "The model finds the actions, even in videos that nobody has clicked in.",
    href: "#/jobs/segment",
    button: "Segment…",
  }),
  review: () => ({
    title: "Review what the model is least sure of",
    why: "Accept or correct, then train again. Export takes your labels to other tools.",
    href: "#/review",
    button: "Review",
  }),
};

/** The steps with their ticks, and what to do now. @param {any} project @param {Step} step */
export function guide(project, step) {
  const kinds = Object.keys(STEPS);
  const place = kinds.indexOf(step.kind);
  const { next } = project;
  const other = step.kind === "review" && next
    ? h("a", { class: "button", href: annotateAddress(next.video, next.seconds), title: next.why },
      `Label next: ${next.video}${next.seconds ? ` at ${clock(next.seconds, 0)}` : ""}`)
    : null;
  return [
    h("ol", {}, kinds.map((kind, i) => h(
      "li",
      { class: i < place ? "done" : "", "aria-current": i === place ? "step" : null },
      STEPS[kind],
    ))),
    h("div", { class: "row" },
      h("div", { class: "stretch" }, h("h2", {}, step.title), h("p", { class: "hint" }, step.why)),
      other,
      step.href ? h("a", { class: "button main", href: step.href }, step.button) : null),
  ];
}
