/** Work in the background: its options, the plan in sentences, and the start. */

import { LONG, post } from "./api.js";
import { dialog } from "./asking.js";
import { fill, h, textButton } from "./dom.js";
import { field, select } from "./exchange.js";

export const KINDS = {
  extract: ["Features", "What the model sees of each video. Needed once for every video."],
  train: ["Train", "Learns from the clicks or segments of all videos."],
  segment: ["Segment", "Finds the actions in all videos with the newest model."],
  report: ["Report", "One page about a model: scores, pictures, where it goes wrong."],
};

/** Milliseconds without a key until the plan follows. */
const PAUSE = 300;

const LABELS = {
  extractor: "Extractor",
  supervision: "Learn from",
  epochs: "Epochs",
  run: "Model",
};

const SUPERVISIONS = [
  ["", "What most videos have"],
  ["timestamps", "Clicks; segments count as clicks"],
  ["full", "Segments only"],
];

const EXTRACTORS = [
  ["", "Choose automatically"],
  ["pixels", "Pixels: fast, rough"],
  ["appearance", "Appearance: objects and places"],
  ["i3d", "I3D: movements, slow"],
  ["appearance,i3d", "Both"],
];

/**
 * The options of a kind of work.
 * @param {string} kind
 * @param {any} project
 * @returns {Record<string, HTMLElement>}
 */
function options(kind, project) {
  if (kind === "extract") return { extractor: select("Extractor", EXTRACTORS) };
  if (kind === "train") {
    const own = { placeholder: "automatic", "aria-label": "Epochs" };
    return {
      supervision: select("Learn from", SUPERVISIONS),
      epochs: h("input", { type: "number", min: 1, step: 1, ...own }),
    };
  }
  const finished = project.runs.filter((one) => one.finished).map((one) => [one.name, one.name]);
  return { run: select("Model", [["", "The newest"], ...finished]) };
}

/** The chosen options in the form that the server accepts. */
function chosen(fields) {
  const values = Object.entries(fields).filter(([, input]) => input.value);
  const typed = (input) => (input.type === "number" ? Number(input.value) : input.value);
  return Object.fromEntries(values.map(([name, input]) => [name, typed(input)]));
}

/**
 * Shows what a job would do before it starts.
 * @param {import("./store.js").Store} store
 * @param {string} kind
 * @param {(job: any) => void} started
 * @param {string} [run] the model that is chosen at first
 */
export function openPlan(store, kind, started, run = "") {
  const fields = options(kind, store.project);
  if (fields.run) fields.run.value = run;
  const sentences = h("ul", { class: "plan", "aria-live": "polite" });
  const fault = h("p", { class: "fault", role: "alert" });
  const wait = new Wait();
  const wanted = () => ({ kind, author: store.author, ...chosen(fields) });
  const start = textButton("Start", () => send(), { class: "main" });
  let asked = 0;
  const plan = async () => {
    const mine = ++asked;
    start.disabled = true;
    fill(sentences, h("li", { class: "waiting" }, "Looking at the videos…"));
    wait.begin();
    try {
      const { plan: found } = await post("/api/plan", wanted(), LONG);
      if (mine !== asked) return; // the options have changed since
      fill(sentences, found.map((one) => h("li", {}, one)));
      fill(fault);
      start.disabled = false;
    } catch (error) {
      if (mine !== asked) return;
      fill(sentences);
      fill(fault, error.message);
    } finally {
      if (mine === asked) wait.end();
    }
  };
  const send = async () => {
    try {
      const job = await post("/api/jobs", wanted(), LONG);
      box.close();
      started(job);
    } catch (error) {
      fill(fault, error.message);
    }
  };
  let pause = 0;
  const planSoon = () => { // not once for every digit
    asked++;
    start.disabled = true;
    wait.end();
    clearTimeout(pause);
    pause = setTimeout(plan, PAUSE);
  };
  // a field that is typed in tells a change only when it is left: too late if Start is pressed then
  for (const input of Object.values(fields)) input.addEventListener("input", planSoon);
  const inputs = Object.entries(fields).map(([name, input]) => field(LABELS[name], input));
  const title = h("h3", {}, "The plan");
  const plans = [title, sentences, wait.element];
  const box = dialog(KINDS[kind][0], inputs, plans, fault, h("footer", {}, start));
  box.addEventListener("close", () => wait.end());
  plan();
}

/** Shows that the server is busy, and for how long it has been. */
class Wait {
  constructor() {
    const bar = h("progress", { "aria-label": "Making the plan" });
    this.seconds = h("span", { class: "hint", "aria-hidden": "true" });
    this.element = h("div", { class: "wait", hidden: true }, bar, this.seconds);
  }

  begin() {
    this.end();
    const began = performance.now();
    const tell = () => {
      const seconds = Math.round((performance.now() - began) / 1000);
      fill(this.seconds, seconds ? `${seconds} s` : "");
    };
    tell();
    this.element.hidden = false;
    this.timer = setInterval(tell, 1000);
  }

  end() {
    clearInterval(this.timer);
    this.element.hidden = true;
  }
}
