/** The list of videos: what to label next first. */

import { addressOf } from "./api.js";
import { fill, h, setStyle, textButton } from "./dom.js";
import { exportLabels, importLabels } from "./exchange.js";
import { clock, count } from "./times.js";
import { chooseFiles, dropTarget, Uploads } from "./uploads.js";

const STATES = {
  new: "new",
  clicks: "clicks",
  labelled: "labelled",
  predicted: "predicted",
  reviewed: "reviewed",
};
const URGENCY = { predicted: 0, clicks: 1, new: 2, labelled: 3, reviewed: 4 };
const VIDEO_TYPES = "video/*,.avi,.mkv,.mov,.mp4,.webm,.mpg,.wmv,.m4v";

/**
 * What to label next first, then the least sure, then in the order of the project.
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
    this.uploads = new Uploads(store, notices);
    this.next = h("div", { class: "next-card" });
    this.grid = h("div", { class: "video-grid" });
    this.summary = h("p", { class: "hint" });
    const find = h(
      "input",
      { type: "search", placeholder: "Find a video", "aria-label": "Find a video" },
    );
    find.addEventListener("input", () => ((this.filter = find.value.toLowerCase()), this.update()));
    const order = h(
      "select",
      { "aria-label": "Order" },
      [
        ["next", "What to label next"],
        ["name", "By name"],
        ["unsure", "Least sure first"],
        ["length", "Longest first"],
      ].map(([value, text]) => h("option", { value }, text)),
    );
    order.addEventListener("change", () => ((this.order = order.value), this.update()));
    this.element = h("section", { class: "view videos" },
      h(
        "div",
        { class: "bar" },
        h("h1", {}, "Videos"),
        find,
        order,
        h("span", { class: "stretch" }),
        textButton(
          "Add videos",
          () => chooseFiles(VIDEO_TYPES, (files) => this.uploads.send(files)),
          { class: "main" },
        ),
        textButton("Import labels", () => importLabels(store, notices)),
        textButton("Export", () => exportLabels(store, notices)),
      ),
      this.uploads.element, this.next, this.summary, this.grid);
    dropTarget(this.element, (files) => this.uploads.send(files));
    this.leave = store.on("project", () => this.update());
    this.update();
  }

  close() {
    this.leave();
  }

  update() {
    const { videos, next } = this.store.project;
    const shown = sorted(videos, this.order, next?.video).filter(
      (one) => one.name.toLowerCase().includes(this.filter),
    );
    const n = (state) => videos.filter((one) => one.state === state).length;
    const parts = Object.keys(STATES).filter(n).map((state) => `${n(state)} ${STATES[state]}`);
    const bare = videos.filter((one) => !one.has_features).length;
    fill(
      this.summary,
      videos.length ? `${count(videos.length, "video")}: ${parts.join(", ")}` : null,
      bare ? [`; ${bare} without features. `, h("a", { href: "#/jobs/extract" }, "Compute")] : null,
    );
    this.next.hidden = !next;
    if (next) fill(this.next, ...proposal(next));
    fill(this.grid, shown.map((one) => card(one)));
    if (!videos.length) {
      fill(
        this.grid,
        h(
          "div",
          { class: "empty" },
          h("h2", {}, "No videos yet"),
          h("p", {}, "Drop video files here, or add them with the button above."),
        ),
      );
    }
  }
}

/** Where a click would teach most. */
function proposal({ video, seconds, why }) {
  const place = seconds === null ? "" : ` at ${clock(seconds, 0)}`;
  const href = `#/annotate/${encodeURIComponent(video)}/${seconds ?? 0}`;
  return [
    h("div", {}, h("strong", {}, "Label next: "), video, place, h("p", { class: "hint" }, why)),
    h("a", { class: "button main", href }, "Go there"),
  ];
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
          { seconds: ((one.seconds ?? 0) / 2).toFixed(2), width: 320 },
        ),
        loading: "lazy",
        alt: "",
        decoding: "async",
      },
    )
    : h("div", { class: "no-picture" }, "features alone");
  const done = [
    one.n_clicks && count(one.n_clicks, "click"),
    one.n_segments && count(one.n_segments, "segment"),
  ].filter(Boolean).join(", ");
  return h("a", { class: "video-card", href: `#/annotate/${encodeURIComponent(one.name)}` },
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
    one.has_features ? null : h("p", { class: "hint" }, "no features yet"));
}

function sureness(uncertainty) {
  const bar = h(
    "div",
    { class: "unsure", title: `The model is ${Math.round(100 * uncertainty)} % unsure` },
    h("span", {}),
  );
  setStyle(bar.firstChild, { width: `${Math.round(100 * uncertainty)}%` });
  return bar;
}
