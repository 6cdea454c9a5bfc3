/** The annotation view: video, timeline, classes. */

import { fill, h, renew, sorry, textButton } from "./dom.js";
import { annotateAddress } from "./guide.js";
import { titleOf } from "./keys.js";
import { tellMore } from "./more.js";
import { ClassPanel, Inspector, VideoPanel } from "./panels.js";
import { Workspace } from "./workspace.js";

export class AnnotateView {
  /**
   * @param {import("./store.js").Store} store
   * @param {string[]} path the name of the video, and the moment to start at
   */
  constructor(store, [name, seconds]) {
    this.store = store;
    this.begin = seconds === undefined ? null : Number(seconds) || 0;
    this.name = name;
    this.workspace = new Workspace(store, () => this.#update(), true);
    this.classes = new ClassPanel(
      this.workspace,
      (label, event) => this.classKey(label, event.shiftKey),
    );
    this.inspector = new Inspector(this.workspace);
    this.about = new VideoPanel(this.workspace);
    this.modes = h(
      "div",
      { class: "switch", role: "radiogroup", "aria-label": "What a class's key makes" },
    );
    this.modes.addEventListener("keydown", (event) => this.#otherMode(event));
    this.title = h("h1", { title: name }, name);
    this.side = h(
      "aside",
      { class: "side" },
      this.classes.element,
      this.inspector.element,
      this.about.element,
    );
    this.leave = tellMore(this.side);
    this.element = h("section", { class: "view workspace" },
      h(
        "div",
        { class: "bar" },
        this.title,
        this.modes,
        h("a", { class: "button quiet", href: "#/videos" }, "All videos"),
        textButton("Next", () => this.#next(), { title: titleOf("next", store.classes) }),
      ),
      this.workspace.stage,
      this.side,
      this.workspace.timeline.element,
    );
  }

  async mount() {
    try {
      await this.workspace.load(this.name);
    } catch (error) {
      this.#cannot(error.message);
      return;
    }
    if (this.begin !== null && this.workspace.isReady) this.#goTo(this.begin);
  }

  #cannot(sentence) {
    const isKnown = this.store.project.videos.some((one) => one.name === this.name);
    fill(this.element, sorry(
      "This video cannot be opened",
      isKnown ? sentence : `There is no “${this.name}” in this project.`,
      h("a", { class: "button main", href: "#/videos" }, "All videos"),
    ));
  }

  close() {
    this.isClosed = true;
    this.leave();
    this.workspace.close();
  }

  #update() {
    const { workspace } = this;
    const mode = (name, text) => textButton(
      text,
      () => workspace.setMode(name),
      {
        role: "radio",
        "aria-checked": String(workspace.mode === name),
        tabindex: workspace.mode === name ? 0 : -1, // one stop for Tab, as of all radio buttons
        class: workspace.mode === name ? "on" : "",
      },
    );
    const both = () => [mode("clicks", "Clicks"), mode("segments", "Segments")];
    renew(this.modes, workspace.mode, both);
    for (const part of [this.classes, this.inspector, this.about]) part.update();
  }

  /** Arrows choose among radio buttons; with two of them, each arrow goes to the other. */
  #otherMode(event) {
    if (!event.key.startsWith("Arrow") || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // the player's arrows
    this.workspace.setMode(this.workspace.mode === "clicks" ? "segments" : "clicks");
    this.modes.querySelector("[aria-checked=true]").focus();
  }

  /** @param {string} label @param {boolean} relabel */
  classKey(label, relabel) {
    if (!this.workspace.isReady) return;
    if (relabel) this.workspace.relabel(label);
    else if (this.workspace.isAsked) this.workspace.acceptDraft(label);
    else this.workspace.useClass(label);
  }

  /** @param {string} id */
  command(id) {
    if (id === "next") this.#next();
    else return this.workspace.command(id);
    return true;
  }

  /**
   * Goes to where a click would teach the model most; to the next video if there is no such place
   * or it was declined.
   */
  async #next() {
    if (this.isAsking) return;
    this.isAsking = true;
    const next = await this.store.proposal(this.name).catch((error) => {
      this.store.tell("problem", { sentence: error.message });
    });
    this.isAsking = false;
    if (this.isClosed || next === undefined) return;
    const isHere = next?.video === this.name;
    if (next && !isHere) location.hash = annotateAddress(next.video, next.seconds);
    else if (isHere && next.seconds !== this.proposed) this.#goTo(next.seconds);
    else this.#nextOfList();
  }

  #nextOfList() {
    const names = this.store.project.videos.map((one) => one.name);
    const other = names[(names.indexOf(this.name) + 1) % names.length];
    if (other !== this.name) location.hash = annotateAddress(other);
    else this.store.tell("note", "There is no other video in this project.");
  }

  /**
   * Goes to a moment. If that is where a click would teach most, marks the stretch that a class's
   * key will name.
   */
  #goTo(seconds) {
    const { next } = this.store.project;
    this.workspace.goTo(seconds);
    if (next?.video !== this.name || next.seconds !== seconds) return;
    this.proposed = seconds;
    if (next.segment) this.workspace.suggest(next.segment, "next");
  }

  recolour() {
    this.workspace.timeline.recolour();
  }
}
