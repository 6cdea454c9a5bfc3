/** The list of videos, with what to label next at the top. */

import { addressOf } from "./api.js";
import { fill, h, renew, setStyle, textButton } from "./dom.js";
import { exportLabels, importLabels, select } from "./exchange.js";
import { annotateAddress, guide, nextStep } from "./guide.js";
import { clock, count } from "./times.js";
import { chooseFiles } from "./uploads.js";

const STATES = {
  new: "new",
  clicks: "clicks",
  labelled: "labelled",
  predicted: "predicted",
  reviewed: "reviewed",
  missing: "missing",
};
const IN_WORDS = { ...STATES, clicks: "with clicks" };
const URGENCY = { predicted: 0, clicks: 1, new: 2, labelled: 3, reviewed: 4, missing: 5 };
const ORDERS = [
  ["next", "Most useful first"],
  ["name", "Name"],
  ["unsure", "Least sure first"],
  ["length", "Longest first"],
];
const VIDEO_TYPES = "video/*,.avi,.mkv,.mov,.mp4,.webm,.mpg,.wmv,.m4v";

/**
 * Sorts videos. The order `next` starts with what to label next and goes on by state, then by how
 * unsure the model is.
 * @param {any[]} videos @param {string} order @param {string | undefined} next
 */
export function sorted(videos, order, next) {
  const by = {
    next: (a, b) => (b.name === next) - (a.name === next)
      || URGENCY[a.state] - URGENCY[b.state]
      || (b.uncertainty ?? 0) - (a.uncertainty ?? 0),
    name: (a, b) => a.name.localeCompare(b.name, undefined, { numeric: true }),
    unsure: (a, b) => (b.uncertainty ?? -1) - (a.uncertainty ?? -1),
    length: (a, b) => (b.seconds ?? 0) - (a.seconds ?? 0),
  }[order];
  return [...videos].sort(by);
}

export class VideosView {
  /**
   * @param {import("./store.js").Store} store
   * @param {string[]} _path
   * @param {import("./notices.js").Notices} notices
   */
  constructor(store, _path, notices) {
    Object.assign(this, { store, notices, filter: "", order: "next" });
    this.guide = h("section", { class: "panel guide", "aria-label": "What to do next" });
    this.grid = h("div", { class: "video-grid" });
    this.summary = h("p", { class: "hint" });
    this.tools = h("div", { class: "bar" }, this.#tools());
    this.element = h(
      "section",
      { class: "view videos" },
      this.tools,
      this.guide,
      this.summary,
      this.grid,
    );
    this.leave = store.on("project", () => this.#later());
    this.update();
    store.proposal().catch(() => {}); // so that the box on top is up to date
  }

  close() {
    this.leave();
    clearTimeout(this.timer);
  }

  /** Delays an update while somebody is pressing a card: it would be replaced. */
  #later() {
    clearTimeout(this.timer);
    if (this.grid.matches(":active")) this.timer = setTimeout(() => this.#later(), 250);
    else this.update();
  }

  #tools() {
    const { store, notices } = this;
    const find = h(
      "input",
      { type: "search", placeholder: "Find a video", "aria-label": "Find a video" },
    );
    find.addEventListener("input", () => ((this.filter = find.value.toLowerCase()), this.update()));
    const order = select("Order", ORDERS);
    order.addEventListener("change", () => ((this.order = order.value), this.update()));
    return [
      h("h1", {}, "Videos"),
      find,
      h("label", { class: "order" }, "Order", order),
      h("span", { class: "stretch" }),
      this.#add(""),
      textButton("Import labels", () => importLabels(store, notices)),
      textButton("Export", () => exportLabels(store, notices)),
    ];
  }

  #add(kind) {
    const send = () => chooseFiles(VIDEO_TYPES, (files) => this.store.uploads.send(files));
    return textButton("Add videos", send, { class: kind });
  }

  update() {
    const { videos, next } = this.store.project;
    const shown = sorted(videos, this.order, next?.video).filter(
      (one) => one.name.toLowerCase().includes(this.filter),
    );
    const n = (state) => videos.filter((one) => one.state === state).length;
    const parts = Object.keys(STATES).filter(n).map((state) => `${n(state)} ${IN_WORDS[state]}`);
    fill(
      this.summary,
      videos.length ? `${count(videos.length, "video")}: ${parts.join(", ")}` : null,
    );
    this.tools.hidden = this.guide.hidden = !videos.length;
    const step = nextStep(this.store.project);
    renew(this.guide, [step, next], () => guide(this.store.project, step));
    renew(this.grid, [videos.length, shown], () => {
      if (!videos.length) return this.#welcome();
      return shown.length ? shown.map(card) : h("p", {}, "No video name matches.");
    });
  }

  /** The first thing people see in a new project. */
  #welcome() {
    const steps = [
      ["Add your videos", "Drop them here, or choose them."],
      [
        "Click once in each action",
        "Press a key while the video plays, and the segmentation appears.",
      ],
      ["Train, then correct", "A model finds the actions everywhere; you look where it is unsure."],
    ];
    return h("div", { class: "welcome" },
      h("h1", {}, "Which actions are in your videos?"),
      h("ol", {}, steps.map(([title, text]) => h("li", {}, h("strong", {}, title), text))),
      this.#add("main"),
      h("p", { class: "hint" },
        "Dropped files are copied into the project. To use large videos where they are, type ",
        h("code", {}, `${this.store.project.add_videos} FOLDER`)));
  }
}

/** One video. */
function card(one) {
  const picture = one.has_video
    ? h(
      "img",
      {
        src: addressOf(
          "frame",
          one.name,
          { seconds: ((one.seconds ?? 0) / 2).toFixed(2), width: 320, v: one.v },
        ),
        loading: "lazy",
        alt: "",
        decoding: "async",
      },
    )
    : h("div", { class: "no-picture" }, one.missing ? "file missing" : one.has_features ? "features only" : "no picture");
  const done = [
    one.n_clicks && count(one.n_clicks, "click"),
    one.n_segments && count(one.n_segments, "segment"),
  ].filter(Boolean).join(", ");
  return h("a", { class: "video-card", href: annotateAddress(one.name) },
    h(
      "div",
      { class: "picture" },
      picture,
      one.seconds ? h("span", { class: "length" }, clock(one.seconds, 0)) : null,
    ),
    h(
      "div",
      { class: "words" },
      h("strong", { title: one.name }, one.name),
      h("span", { class: `state ${one.state}` }, STATES[one.state]),
      h("span", { class: "hint" }, done),
    ),
    one.uncertainty === null ? null : sureness(one.uncertainty),
    one.error ? h("p", { class: "fault" }, one.error) : null,
  );
}

function sureness(uncertainty) {
  const share = Math.round(100 * uncertainty);
  const bar = h("span", {});
  setStyle(bar, { width: `${share}%` });
  return h("p", { class: "hint unsure" }, `model ${share} % unsure`, h("span", {}, bar));
}
