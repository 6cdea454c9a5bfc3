/** The panels beside the video: classes, and what is selected. */

import { button, fill, h, icon, setStyle, textButton } from "./dom.js";
import { editClasses } from "./classes.js";
import { keyText } from "./keys.js";
import { clock, count, span } from "./times.js";

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
    const { classes } = store.project;
    fill(
      this.list,
      classes.map((one) => this.#row(one, counts.get(one.name) ?? 0, open?.label === one.name)),
    );
    if (!classes.length) {
      fill(
        this.list,
        h("p", { class: "hint" }, "An action you want to find is a class: reach, cut, pour."),
        textButton("Add the first class", () => editClasses(store), { class: "main" }),
      );
    }
  }

  #row(one, n, on) {
    const row = button(
      `${one.name}: drop it here; with Shift, relabel what is selected`,
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

const SUGGESTED = { prediction: "Model's segment", pseudo: "Segment from clicks" };

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
    if (item) this.#show(item, item.end === null ? "Click" : "Segment", this.#itemButtons(item));
    else if (draft) this.#show(draft, SUGGESTED[draft.from], this.#draftButtons());
    else {
      fill(
        this.element,
        h(
          "p",
          { class: "hint" },
          workspace.mode === "clicks"
            ? "Play, and press a class's key once in each action."
            : "Press a class's key where an action begins, and again where it ends.",
        ),
      );
    }
  }

  #show(one, kind, buttons) {
    const { workspace } = this;
    const names = workspace.store.project.classes.map((other) => other.name);
    if (!names.includes(one.label)) names.push(one.label);
    const choice = h(
      "select",
      { "aria-label": "Class of what is selected" },
      names.map((name) => h("option", { value: name, selected: name === one.label }, name)),
    );
    choice.addEventListener("change", () => workspace.relabel(choice.value));
    const times = one.end === null
      ? clock(one.start)
      : `${clock(one.start)} – ${clock(one.end)}, ${span(one.end - one.start)}`;
    const who = one.author ? `, ${one.author}` : "";
    fill(
      this.element,
      h(
        "header",
        {},
        h("h2", {}, kind),
        h("span", { class: "times" }, times, who, one.pending ? ", not saved yet" : ""),
      ),
      h("div", { class: "row" }, swatch(workspace.store.classOf(one.label).colour), choice),
      h("div", { class: "row" }, buttons),
    );
  }

  #draftButtons() {
    const { workspace } = this;
    return [
      textButton("Accept", this.accept, { class: "main", title: "Enter" }),
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
    const { state } = this.workspace;
    const change = (one) => this.workspace.change([one]);
    const n_clicks = state.events.filter((one) => one.end === null).length;
    const n_segments = state.events.length - n_clicks;
    const facts = [
      n_clicks && count(n_clicks, "click"),
      n_segments && count(n_segments, "segment"),
      state.reviewed && "reviewed",
    ].filter(Boolean);
    const tools = [];
    if (state.prediction) {
      tools.push(
        textButton(
          "Accept all of the model",
          () => change({ do: "accept", from: "prediction", spans: null }),
        ),
      );
      tools.push(
        textButton(
          "Model's segments to clicks",
          () => change({ do: "clicks_from", from: "prediction" }),
        ),
      );
    } else if (state.pseudo.length) tools.push(
      textButton(
        "Accept segments from clicks",
        () => change({ do: "accept", from: "pseudo", spans: null }),
      ),
    );
    if (n_segments || state.observed !== null) {
      tools.push(
        check(
          "I looked at all of it: gaps are background",
          state.observed === null,
          (on) => change({ do: "observed", spans: on ? null : [] }),
        ),
      );
    }
    if (state.events.length) {
      tools.push(
        check(
          "Reviewed: good to learn from",
          state.reviewed,
          (on) => change({ do: "reviewed", value: on }),
        ),
      );
    }
    fill(
      this.element,
      h(
        "header",
        {},
        h("h2", {}, "Video"),
        h("span", { class: "times" }, facts.join(", ") || "nothing yet"),
      ),
      h("div", { class: "column" }, tools),
      state.pseudo.length
        && state.pseudo_by === "midpoint"
        && !state.has_features
        ? h(
          "p",
          { class: "hint" },
          "Edges halfway between clicks. With features they follow the video: see Train.",
        )
        : null,
    );
  }
}

function check(text, on, onchange) {
  const input = h("input", { type: "checkbox", checked: on });
  input.addEventListener("change", () => (onchange(input.checked), input.blur()));
  return h("label", { class: "check" }, input, text);
}
