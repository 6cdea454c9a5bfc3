/** A video with its timeline, and everything that can be done to its events. */

import { applied } from "./applied.js";
import { h } from "./dom.js";
import { Controls } from "./controls.js";
import { classMenu } from "./asking.js";
import { COMMANDS } from "./commands.js";
import { moveTo, placeAnswer, placeClick, placeSegment } from "./editing.js";
import { recall, remember } from "./memory.js";
import { Screen } from "./screen.js";
import { Strip } from "./strip.js";
import { Timeline } from "./timeline.js";

/**
 * @typedef {{label: string, start: number, end: number, from: string, of: any}} Draft a suggested
 *   segment, not yet accepted, and what it was before it was corrected
 */

export class Workspace {
  /**
   * @param {import("./store.js").Store} store
   * @param {() => void} onchange when the selection or the state changes
   * @param {boolean} hints whether empty lanes say how to fill them
   */
  constructor(store, onchange, hints) {
    this.store = store;
    this.hints = hints;
    this.onchange = onchange;
    this.selected = null;
    /** @type {Draft | null} */
    this.draft = null;
    /** "clicks" or "segments" */
    this.mode = recall("mode", "clicks") === "segments" ? "segments" : "clicks";
    this.open = null;
    /**
     * What is dragged, and where to.
     * @type {{hit: import("./geometry.js").Hit, to: number} | null}
     */
    this.drag = null;
    this.classOf = (label) => store.classOf(label);
    this.screen = new Screen(store, () => this.onFrame());
    this.timeline = new Timeline({
      seek: (seconds) => this.player?.seek(seconds),
      select: (hit) => this.#onHit(hit),
      drag: (hit, seconds, over) => this.#onDrag(hit, seconds, over),
      cancel: () => ((this.drag = null), this.refresh()),
      menu: (hit, x, y) => this.#onMenu(hit, x, y),
    });
    this.controls = new Controls(this);
    this.stage = h("div", { class: "stage" }, this.screen.element, this.controls.element);
    this.leave = [
      store.on("video", (name) => name === this.name && this.refresh()),
      store.on("project", () => this.document && this.refresh()),
      store.on("renamed", (names) => (this.selected = names.get(this.selected) ?? this.selected)),
    ];
  }

  close() {
    this.isClosed = true;
    this.leave.forEach((stop) => stop());
    this.screen.close();
    this.timeline.close();
  }

  get player() {
    return this.screen.player;
  }

  /** Whether the video has loaded and is the one that was asked for last. */
  get isReady() {
    return Boolean(this.document) && !this.opening && this.screen.isReady;
  }

  get state() {
    return this.document.shown;
  }

  /** The moment of the playhead. */
  get now() {
    return this.player?.seconds ?? 0;
  }

  /** The length of the present frame. */
  get frame() {
    const { table, frame } = this.player;
    return table.end(frame) - table.start(frame);
  }

  /** The selected event, if it still exists. */
  get item() {
    return this.state.events.find((one) => one.id === this.selected) ?? null;
  }

  /**
   * Shows a video. Until it has loaded, the previous one stays and takes no changes.
   * @param {string} name
   */
  async load(name) {
    const mine = (this.opening = {});
    const isOver = () => this.isClosed || this.opening !== mine;
    try {
      const opened = await this.store.open(name);
      if (isOver()) return;
      Object.assign(this, { name, document: opened, selected: null, draft: null });
      Object.assign(this, { open: null, drag: null });
      this.screen.shape(this.state);
      this.strip = this.state.has_video
        ? new Strip(this.state, () => this.timeline.redraw())
        : null;
      await this.screen.show(this.state);
    } finally {
      if (this.opening === mine) this.opening = null;
    }
    if (this.isClosed || this.name !== name) return;
    this.refresh();
    this.timeline.fit();
  }

  /** Draws the newest state. */
  refresh() {
    if (!this.document) return;
    this.screen.show(this.state);
    this.#draw();
    this.controls.update();
    this.onchange();
  }

  /** Draws a dragged event under the pointer, whatever news arrives meanwhile. */
  #draw() {
    const more = {
      selected: this.selected,
      draft: this.open ? this.#opened : this.draft,
      strip: this.strip,
      classOf: this.classOf,
      classes: this.store.classes,
      hints: this.hints,
    };
    this.timeline.show(applied(this.state, this.#moved), more);
  }

  /** After the frame or the loop has changed, or playing has started or stopped. */
  onFrame() {
    if (!this.player || !this.document) return;
    this.timeline.setHead(this.now, this.player.loop, this.player.playing);
    this.screen.element.dataset.busy = this.player.settled ? "no" : "yes";
    if (this.open) this.#draw();
    this.controls.tick();
  }

  /** @param {any[]} changes @returns {any[]} as they were sent */
  change(changes) {
    return changes.length ? this.store.change(this.name, changes) : [];
  }

  /** @param {string | null} id */
  select(id, draft = null) {
    this.selected = id;
    this.draft = draft;
    this.refresh();
  }

  /** A corrected suggestion stays corrected when it is pressed again, or an empty place is. */
  #onHit(hit) {
    if (hit.lane === "clicks" || hit.lane === "labels") {
      this.select(hit.item?.id ?? null, hit.item ? null : this.draft);
    } else if (hit.item && !isOf(this.draft, hit.item)) this.suggest(hit.item, hit.lane);
  }

  /** Offers a segment from the model or from the clicks, to be accepted or corrected. */
  suggest({ label, start, end }, from) {
    this.select(null, { label, start, end, from, of: { label, start, end } });
  }

  #onDrag(hit, seconds, over) {
    this.drag = null;
    if (!this.isReady) return;
    const { table } = this.player;
    const to = hit.kind === "edge" ? table.edgeAt(seconds) : table.start(table.frameAt(seconds));
    if (hit.lane === "pseudo" || hit.lane === "prediction") {
      const moved = { ...this.draft, [hit.edge]: to };
      if (moved.start < moved.end) this.select(null, moved);
      return;
    }
    this.drag = { hit, to };
    const changes = this.#moved;
    if (over) {
      this.drag = null;
      this.change(changes);
    } else this.#draw();
    if (changes.length && hit.kind !== "body") this.player.seek(to);
  }

  /** What dropping the dragged event now would change; nothing if somebody has deleted it. */
  get #moved() {
    if (!this.drag || !this.isReady) return [];
    const { hit, to } = this.drag;
    const { events, seconds } = this.state;
    const id = this.document.nameOf(hit.item.id);
    const item = events.find((one) => one.id === id);
    return item ? moveTo(events, { ...hit, item }, to, this.frame, seconds ?? Infinity) : [];
  }

  #onMenu(hit, x, y) {
    const { name } = this;
    const choose = (label) => {
      if (this.name !== name) return;
      if (hit.item.id) this.change([{ do: "relabel", id: hit.item.id, label }]);
      else this.acceptDraft(label);
    };
    classMenu(this.store.classes, hit.item.label, x, y, choose);
  }

  /** What a class's key or button does: a click, or the start or end of a segment. */
  useClass(label) {
    if (this.mode === "clicks") {
      const sent = this.change(placeClick(this.state, label, this.now, this.frame));
      if (sent[0]?.as) this.select(sent[0].as);
    } else this.#turnSegment(label);
  }

  /** Begins a segment, or ends the open one; another class then begins its own. */
  #turnSegment(label) {
    const over = this.open && this.#opened;
    this.open = over?.label === label ? null : { label, start: this.now };
    if (over && over.end - over.start >= this.frame / 2) {
      this.change(placeSegment(this.state.events, over.label, over.start, over.end));
    } else this.refresh();
  }

  /** The open segment, up to the playhead; on the last frame, up to the end of the video. */
  get #opened() {
    const { label, start } = this.open;
    const [from, to] = start < this.now ? [start, this.now] : [this.now, start];
    const { table } = this.player;
    const isLast = table.frameAt(to) === table.n - 1;
    return { label, start: from, end: isLast ? table.edge(table.n) : to };
  }

  /** Gives the suggestion, or the selected event, another class. */
  relabel(label) {
    if (this.draft) this.select(null, { ...this.draft, label });
    else if (this.item && this.item.label !== label) {
      this.change([{ do: "relabel", id: this.item.id, label }]);
    }
  }

  /** Whether a class's key answers the question: only while the video is paused there. */
  get isAsked() {
    const { draft, player, now } = this;
    if (draft?.from !== "next" || !player || player.playing) return false;
    return draft.start - this.frame <= now && now <= draft.end;
  }

  /** Turns the suggestion into a segment, or into an answer to the question. */
  acceptDraft(label = this.draft?.label) {
    const { draft, state } = this;
    if (!draft) return false;
    this.draft = null;
    const changes = draft.from === "next"
      ? placeAnswer(state, label, draft, this.frame)
      : placeSegment(state.events, label, draft.start, draft.end);
    this.change(changes);
    return true;
  }

  /** @param {number} seconds */
  goTo(seconds) {
    if (!this.isReady) return;
    this.player.seek(seconds);
    this.timeline.setHead(this.now, this.player.loop, true);
  }

  setMode(mode) {
    this.mode = mode;
    remember("mode", mode);
    this.open = null;
    this.refresh();
  }

  /**
   * Runs a command of the keyboard.
   * @param {string} id
   * @returns {boolean} whether there is such a command here
   */
  command(id) {
    const does = COMMANDS.find((one) => one.id === id)?.does;
    if (does && this.isReady) does(this);
    return Boolean(does);
  }
}

/** Whether a draft was that segment before it was corrected. @param {Draft | null} draft */
export function isOf(draft, { label, start, end }) {
  const near = (one, other) => Math.abs(one - other) < 1e-3;
  const of = draft?.of;
  return Boolean(of) && of.label === label && near(of.start, start) && near(of.end, end);
}
