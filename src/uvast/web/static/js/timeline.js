/** The timeline: two canvases, of which only the playhead's is drawn while a video plays. */

import { h, setStyle } from "./dom.js";
import {
  around,
  following,
  hit,
  panned,
  toSeconds,
  toX,
  whole,
  zoomed,
} from "./geometry.js";
import { Gestures } from "./gestures.js";
import { paintOverlay, paintScrollBar } from "./overlay.js";
import { paintLanes } from "./paint.js";
import { Scene } from "./scene.js";
import { clock } from "./times.js";

const MOMENTS_TO_TELL = 250;

/**
 * @typedef {object} Handlers
 * @property {(seconds: number) => void} seek
 * @property {(hit: import("./geometry.js").Hit) => void} select
 * @property {(hit: import("./geometry.js").Hit, seconds: number, over: boolean) => void} drag
 * @property {() => void} cancel when a drag is cancelled
 * @property {(hit: import("./geometry.js").Hit, x: number, y: number) => void} menu
 */

export class Timeline {
  /** @param {Handlers} handlers */
  constructor(handlers) {
    this.handlers = handlers;
    this.seconds = 0;
    this.view = whole(1, 1);
    this.scene = new Scene();
    this.head = { seconds: 0, loop: null, hover: null };
    this.#build();
    this.gestures = new Gestures(this);
    this.observer = new ResizeObserver(() => this.#resize());
    this.observer.observe(this.stage);
  }

  #build() {
    this.lower = h("canvas", { "aria-hidden": "true" });
    this.upper = h("canvas", { "aria-hidden": "true" });
    this.stage = h(
      "div",
      {
        class: "timeline-stage",
        tabindex: "0",
        role: "slider",
        "aria-label": "Timeline",
        "aria-valuemin": "0",
      },
      this.lower,
      this.upper,
    );
    this.titles = h("div", { class: "timeline-titles", "aria-hidden": "true" });
    this.bar = h("canvas", { class: "scroll-bar", "aria-hidden": "true" });
    this.element = h("div", { class: "timeline" }, this.titles, this.stage, this.bar);
    this.element.timeline = this;
  }

  close() {
    this.observer.disconnect();
    this.gestures.close();
    clearTimeout(this.telling);
    cancelAnimationFrame(this.asked);
  }

  /**
   * What to show.
   * @param {any} state of the video
   * @param {Parameters<Scene["show"]>[1]} more
   */
  show(state, more) {
    const isNew = this.scene.show(state, more);
    if (this.scene.lay(this.scene.names)) this.#lay();
    if (state.seconds !== this.seconds) {
      this.seconds = state.seconds ?? 0;
      this.fit();
    }
    this.#soon(isNew);
  }

  #lay() {
    setStyle(this.stage, { height: `${this.scene.height}px` });
    this.titles.replaceChildren(...this.scene.lanes.map((lane) => {
      const title = h("span", {}, lane.title);
      setStyle(title, { top: `${lane.top}px`, height: `${lane.height}px` });
      return title;
    }));
    this.#resize();
  }

  #resize() {
    const width = Math.max(1, this.stage.clientWidth);
    const dots = window.devicePixelRatio || 1;
    this.barHeight = this.bar.clientHeight;
    const { height } = this.scene;
    for (const [canvas, tall] of [[this.lower, height], [this.upper, height], [this.bar, this.barHeight]]) {
      canvas.width = Math.round(width * dots);
      canvas.height = Math.round(tall * dots);
      canvas.getContext("2d").setTransform(dots, 0, 0, dots, 0, 0);
    }
    for (const canvas of [this.lower, this.upper]) {
      setStyle(canvas, { width: `${width}px`, height: `${height}px` });
    }
    this.scene.dots = dots;
    this.view = { ...this.view, width };
    this.recolour();
  }

  /** After a change of the theme. */
  recolour() {
    this.scene.recolour(this.lower.getContext("2d"));
    this.redraw();
  }

  /**
   * @param {number} seconds
   * @param {any} loop
   * @param {boolean} follow whether the view follows it
   */
  setHead(seconds, loop, follow) {
    this.head.seconds = seconds;
    this.head.loop = loop;
    const view = follow ? following(this.view, seconds, this.seconds) : this.view;
    if (view !== this.view) this.setView(view);
    else this.#soon(false);
  }

  /** @param {import("./geometry.js").View} view */
  setView(view) {
    this.view = view;
    this.redraw();
  }

  zoom(factor, at = this.head.seconds) {
    const inside = at >= this.view.start && at <= this.view.end;
    this.setView(
      zoomed(this.view, factor, inside ? at : (this.view.start + this.view.end) / 2, this.seconds),
    );
  }

  pan(by) {
    this.setView(panned(this.view, by, this.seconds));
  }

  fit() {
    this.setView(whole(this.seconds, this.view.width));
  }

  /** @param {number} start @param {number} end */
  focus(start, end) {
    this.setView(around(this.view, start, end, this.seconds));
  }

  /** The moment at a position on the page. @param {number} clientX */
  momentAt(clientX) {
    const left = this.stage.getBoundingClientRect().left;
    return Math.min(Math.max(0, toSeconds(this.view, clientX - left)), this.seconds);
  }

  /** What is under a pointer. @param {PointerEvent | MouseEvent} event */
  hitAt(event) {
    const box = this.stage.getBoundingClientRect();
    const reach = event.pointerType === "touch" ? 14 : 6;
    return hit(
      this.scene.lanes,
      this.scene,
      this.view,
      event.clientX - box.left,
      event.clientY - box.top,
      reach,
    );
  }

  /** Where a moment is on the page. @param {number} seconds @param {string} lane */
  placeOf(seconds, lane) {
    const box = this.stage.getBoundingClientRect();
    const found = this.scene.lanes.find((one) => one.name === lane);
    return { x: box.left + toX(this.view, seconds), y: box.top + found.top + found.height / 2 };
  }

  redraw() {
    this.#soon(true);
  }

  #soon(everything) {
    this.stale ||= everything;
    this.asked ||= requestAnimationFrame(() => this.draw());
  }

  /** Draws what is stale. */
  draw() {
    this.asked = 0;
    if (!this.scene.looks) return;
    if (this.stale) {
      paintLanes(this.lower.getContext("2d"), this.scene, this.view);
      paintScrollBar(
        this.bar.getContext("2d"),
        this.scene,
        this.view,
        this.seconds,
        this.barHeight,
      );
      this.stale = false;
    }
    paintOverlay(this.upper.getContext("2d"), this.scene, this.view, this.head);
    this.telling ||= setTimeout(() => this.#tell(), MOMENTS_TO_TELL);
  }

  /** Informs screen readers, a few times a second. */
  #tell() {
    this.telling = 0;
    this.stage.setAttribute("aria-valuemax", this.seconds.toFixed(2));
    this.stage.setAttribute("aria-valuenow", this.head.seconds.toFixed(2));
    this.stage.setAttribute("aria-valuetext", clock(this.head.seconds));
  }
}
