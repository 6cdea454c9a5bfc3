/** The panels beside the video: classes, and what is selected. */

import { button, h, icon, renew, setStyle, textButton } from "./dom.js";
import { editClasses } from "./classes.js";
import { keyText, titleOf } from "./keys.js";
import { clock, count, exactly } from "./times.js";

/** A class's colour. @param {string} colour */
export function swatch(colour) {
  const element = h("span", { class: "swatch" });
  setStyle(element, { background: colour });
  return element;
}

/** Buttons of the classes, with keys and counts. */
export class ClassPanel {
  /**
   * @param {import("./workspace.js").Workspace} workspace
   * @param {(label: string, event: MouseEvent) => void} choose
   */
  constructor(workspace, choose) {
    Object.assign(this, { workspace, choose });
    this.list = h("div", { class: "class-list" });
    const edit = button("Add and edit classes", () => editClasses(workspace.store), icon("gear"));
    edit.classList.add("quiet");
    this.element = h(
      "section",
      { class: "panel classes" },
      h("header", {}, h("h2", {}, "Classes"), edit),
      this.list,
    );
  }

  update() {
    const { store, state, open } = this.workspace;
    const counts = new Map();
    for (const one of state.events) counts.set(one.label, (counts.get(one.label) ?? 0) + 1);
    const { classes } = store;
    const rows = classes.map((one) => [one, counts.get(one.name) ?? 0, open?.label === one.name]);
    const build = () => (rows.length ? rows.map((one) => this.#row(...one)) : this.#first());
    renew(this.list, rows, build);
  }

  #first() {
    return [
      h("p", { class: "hint" }, "An action you want to find is a class: reach, cut, pour."),
      textButton("Add the first class", () => editClasses(this.workspace.store), { class: "main" }),
    ];
  }

  #row(one, n, on) {
    const does = this.workspace.hints
      ? "drop it here; with Shift, relabel what is selected"
      : "relabel what is selected";
    const row = button(
      `${one.name}: ${does}`,
      (event) => this.choose(one.name, event),
      swatch(one.colour),
      h("span", { class: "name" }, one.name),
      n ? h("span", { class: "count" }, n) : null,
      h("kbd", {}, one.key ? keyText(one.key) : "–"),
    );
    row.classList.toggle("on", on);
    row.dataset.label = one.name;
    return row;
  }
}

const HINTS = {
  clicks: "Play, and press a class's key once in each action.",
  segments: "Press a class's key where an action begins, and again where it ends.",
};
const NO_CLASS_HINT = "Add a class first: each action that you want to find is one.";
const REVIEW_HINT = "Choose a segment in the list or on the timeline.";
const SUGGESTED = {
  prediction: "Model's segment",
  pseudo: "Segment from clicks",
  next: "What happens here?",
};

const ALL_SEEN = "I looked at all of it: gaps are background";
const ALL_CLICKED = "Every action in this video has a click";

/** What is selected, and what can be done with it. */
export class Inspector {
  /**
   * @param {import("./workspace.js").Workspace} workspace
   * @param {() => void} [accept] what to do with a suggestion that is right
   */
  constructor(workspace, accept = () => workspace.acceptDraft()) {
    Object.assign(this, { workspace, accept });
    this.element = h("section", { class: "panel inspector", "aria-live": "polite" });
  }

  update() {
    const { workspace } = this;
    const { item, draft } = workspace;
    const { classes } = workspace.store;
    renew(this.element, [item, draft, workspace.mode, classes], () => {
      if (draft) return this.#about(draft, SUGGESTED[draft.from], this.#draftButtons());
      const toClick = classes.length ? HINTS[workspace.mode] : NO_CLASS_HINT;
      const hint = workspace.hints ? toClick : REVIEW_HINT;
      if (!item) return h("p", { class: "hint" }, hint);
      return this.#about(item, item.end === null ? "Click" : "Segment", this.#itemButtons(item));
    });
  }

  #about(one, kind, buttons) {
    const { workspace } = this;
    const names = workspace.store.classes.map((other) => other.name);
    if (!names.includes(one.label)) names.push(one.label);
    const choice = h(
      "select",
      { "aria-label": "Class of what is selected" },
      names.map((name) => h("option", { value: name, selected: name === one.label }, name)),
    );
    let byMouse = false; // :focus-visible does not tell for a select
    choice.addEventListener("pointerdown", () => (byMouse = true));
    choice.addEventListener("keydown", () => (byMouse = false));
    choice.addEventListener("change", () => {
      if (byMouse) choice.blur(); // the keyboard goes back to the player
      workspace.relabel(choice.value);
    });
    const times = one.end === null
      ? clock(one.start)
      : `${clock(one.start)} – ${clock(one.end)}, ${exactly(one.end - one.start)}`;
    const who = one.author ? `, ${one.author}` : "";
    const pending = one.pending ? ", not saved yet" : "";
    return [
      h("header", {}, h("h2", {}, kind), h("span", { class: "times" }, times, who, pending)),
      h("div", { class: "row" }, swatch(workspace.store.classOf(one.label).colour), choice),
      h("div", { class: "row" }, buttons),
    ];
  }

  #draftButtons() {
    const { workspace } = this;
    const title = titleOf("accept", workspace.store.classes);
    return [
      textButton("Accept", this.accept, { class: "main", title }),
      textButton("Dismiss", () => workspace.select(null)),
    ];
  }

  #itemButtons(item) {
    const does = (text, id) => textButton(text, () => this.workspace.command(id));
    const remove = does("Delete", "delete");
    return item.end === null
      ? [remove]
      : [
        does("Split here", "split"),
        does("Merge with next", "merge"),
        does("Loop", "loop"),
        remove,
      ];
  }
}

/** The state of the whole video. */
export class VideoPanel {
  /** @param {import("./workspace.js").Workspace} workspace */
  constructor(workspace) {
    this.workspace = workspace;
    this.element = h("section", { class: "panel about" });
  }

  update() {
    const { events, observed, reviewed, pseudo, pseudo_by, prediction, has_features } =
      this.workspace.state;
    const n_clicks = events.filter((one) => one.end === null).length;
    const n_segments = events.length - n_clicks;
    const shown = {
      n_clicks,
      n_segments,
      reviewed,
      gaps: n_segments || observed !== null ? observed === null : null,
      origin: prediction ? "prediction" : pseudo.length ? "pseudo" : null,
      halfway: pseudo.length && pseudo_by === "midpoint" && !has_features,
    };
    renew(this.element, shown, () => this.#about(shown));
  }

  #about(shown) {
    const facts = [
      shown.n_clicks && count(shown.n_clicks, "click"),
      shown.n_segments && count(shown.n_segments, "segment"),
      shown.reviewed && "reviewed",
    ].filter(Boolean);
    const title = h("span", { class: "times" }, facts.join(", ") || "nothing yet");
    const hint =
      "Edges are halfway between clicks. With features, they follow the video: see Train.";
    return [
      h("header", {}, h("h2", {}, "Video"), title),
      h("div", { class: "column" }, this.#origins(shown.origin), this.#checks(shown)),
      shown.halfway ? h("p", { class: "hint" }, hint) : null,
    ];
  }

  #change(one) {
    this.workspace.change([one]);
  }

  #origins(origin) {
    if (!origin) return null;
    const accept = () => this.#change({ do: "accept", from: origin, spans: null });
    const click = () => this.#change({ do: "clicks_from", from: origin });
    if (origin === "pseudo") return textButton("Accept segments from clicks", accept);
    return [
      textButton("Accept all of the model's segments", accept),
      textButton("Turn the model's segments into clicks", click),
    ];
  }

  #checks({ gaps, reviewed, n_clicks, n_segments }) {
    const looked = (on) => this.#change({ do: "observed", spans: on ? null : [] });
    const review = (on) => this.#change({ do: "reviewed", value: on });
    return [
      gaps === null ? null : check(n_segments ? ALL_SEEN : ALL_CLICKED, gaps, looked),
      n_clicks + n_segments ? check("Reviewed: good to learn from", reviewed, review) : null,
    ];
  }
}

function check(text, on, onchange) {
  const input = h("input", { type: "checkbox", checked: on, "aria-label": text });
  input.addEventListener("change", () => {
    if (!input.matches(":focus-visible")) input.blur(); // the keyboard goes back to the player
    onchange(input.checked);
  });
  return h("label", { class: "check" }, input, text);
}
