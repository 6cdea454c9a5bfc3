/** Mouse, pen and fingers on the timeline: scrub, select, drag, zoom, pinch. */

import { panned, zoomed } from "./geometry.js";

const STILL = 4;

export class Gestures {
  /** @param {import("./timeline.js").Timeline} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    this.end = new AbortController();
    this.pointers = new Map();
    this.grip = null;
    const stage = timeline.stage;
    const on = (target, name, call, options) => target.addEventListener(
      name,
      call,
      { signal: this.end.signal, ...options },
    );
    on(stage, "pointerdown", (event) => this.#down(event));
    on(stage, "pointermove", (event) => this.#move(event));
    on(stage, "pointerup", (event) => this.#up(event));
    on(stage, "pointercancel", (event) => this.#up(event, true));
    on(stage, "pointerleave", () => this.#hover(null));
    on(stage, "wheel", (event) => this.#wheel(event), { passive: false });
    on(stage, "dblclick", (event) => this.#double(event));
    on(stage, "contextmenu", (event) => this.#menu(event));
    on(timeline.bar, "pointerdown", (event) => this.#scroll(event));
    on(timeline.bar, "pointermove", (event) => event.buttons && this.#scroll(event));
  }

  close() {
    this.end.abort();
  }

  #down(event) {
    if (event.button !== 0) return;
    this.timeline.stage.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event.clientX);
    if (this.pointers.size > 1) {
      if (this.grip?.moved) this.timeline.handlers.cancel();
      this.grip = { kind: "pinch", ...this.#pinch(), view: this.timeline.view };
      return;
    }
    const found = this.timeline.hitAt(event);
    const head = this.timeline.head.seconds;
    this.grip = { kind: "press", hit: found, x: event.clientX, head, moved: false };
    if (found.kind === "empty") this.#scrub(event);
    this.timeline.handlers.select(found);
  }

  #move(event) {
    if (this.pointers.has(event.pointerId)) this.pointers.set(event.pointerId, event.clientX);
    if (!this.grip) {
      this.#hover(event);
      return;
    }
    if (this.grip.kind === "pinch") {
      this.#pinched();
      return;
    }
    if (!this.grip.moved && Math.abs(event.clientX - this.grip.x) < STILL) return;
    this.grip.moved = true;
    const { hit } = this.grip;
    if (hit.kind === "empty" || (hit.kind === "body" && hit.lane !== "labels")) this.#scrub(event);
    else this.timeline.handlers.drag(hit, this.#target(event, this.grip), false);
  }

  #up(event, cancelled = false) {
    this.pointers.delete(event.pointerId);
    const grip = this.grip;
    if (this.pointers.size) return;
    this.grip = null;
    const { drag, cancel } = this.timeline.handlers;
    if (cancelled) cancel();
    if (!grip || grip.kind === "pinch" || cancelled) return;
    const draggable = grip.hit.kind !== "empty"
      && (grip.hit.kind !== "body" || grip.hit.lane === "labels");
    if (grip.moved && draggable) drag(grip.hit, this.#target(event, grip), true);
    else if (!grip.moved && grip.hit.kind !== "empty") this.#scrub(event);
  }

  /**
   * Where a dragged item goes. A body keeps its distance from the pointer. Items snap to where the
   * playhead was when the drag began, because the playhead itself follows the drag.
   */
  #target(event, { hit, x, head }) {
    const timeline = this.timeline;
    let moment = timeline.momentAt(event.clientX);
    if (hit.kind === "body") moment = Math.max(0, hit.item.start + moment - timeline.momentAt(x));
    const near = ((timeline.view.end - timeline.view.start) / timeline.view.width) * 6;
    return Math.abs(moment - head) < near ? head : moment;
  }

  #scrub(event) {
    this.timeline.handlers.seek(this.timeline.momentAt(event.clientX));
  }

  #hover(event) {
    const timeline = this.timeline;
    const found = event && timeline.hitAt(event);
    const cursors = { edge: "ew-resize", click: "grab", body: "pointer", empty: "default" };
    timeline.stage.style.setProperty("cursor", found ? cursors[found.kind] : "default");
    timeline.head.hover = event
      && event.pointerType !== "touch"
      ? timeline.momentAt(event.clientX)
      : null;
    timeline.setHead(timeline.head.seconds, timeline.head.loop, false);
  }

  #wheel(event) {
    event.preventDefault();
    const { timeline } = this;
    const length = timeline.view.end - timeline.view.start;
    const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) {
      timeline.pan((sideways / timeline.view.width) * length);
    } else {
      const speed = event.ctrlKey ? 0.01 : 0.002;
      timeline.zoom(Math.exp(-event.deltaY * speed), timeline.momentAt(event.clientX));
    }
  }

  #pinch() {
    const [a, b] = [...this.pointers.values()];
    return { apart: Math.max(10, Math.abs(a - b)), middle: (a + b) / 2 };
  }

  #pinched() {
    if (this.pointers.size < 2) return;
    const { view, apart, middle } = this.grip;
    const now = this.#pinch();
    const { timeline } = this;
    const left = timeline.stage.getBoundingClientRect().left;
    const at = view.start + ((middle - left) / view.width) * (view.end - view.start);
    const near = zoomed(view, now.apart / apart, at, timeline.seconds);
    const by = ((middle - now.middle) / view.width) * (near.end - near.start);
    timeline.setView(panned(near, by, timeline.seconds));
  }

  #double(event) {
    const found = this.timeline.hitAt(event);
    if (found.item && found.item.end !== null) {
      this.timeline.focus(found.item.start, found.item.end);
    }
  }

  #menu(event) {
    event.preventDefault();
    const found = this.timeline.hitAt(event);
    if (!found.item) return;
    this.timeline.handlers.select(found);
    this.timeline.handlers.menu(found, event.clientX, event.clientY);
  }

  #scroll(event) {
    const { timeline } = this;
    timeline.bar.setPointerCapture(event.pointerId);
    const box = timeline.bar.getBoundingClientRect();
    const middle = ((event.clientX - box.left) / box.width) * timeline.seconds;
    timeline.pan(middle - (timeline.view.start + timeline.view.end) / 2);
  }
}
