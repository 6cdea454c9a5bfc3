/** The buttons under the video: play, step, speed, time, undo. */

import { button, fill, h, icon } from "./dom.js";
import { SPEEDS } from "./player.js";
import { bindings, keyText } from "./keys.js";
import { clock } from "./times.js";

export class Controls {
  /** @param {import("./workspace.js").Workspace} workspace */
  constructor(workspace) {
    this.workspace = workspace;
    const does = (id, title, name) => button(
      `${title} (${bindings()[id].map(keyText).join(" or ")})`,
      () => workspace.command(id),
      icon(name),
    );
    this.playing = null;
    this.play = does("play", "Play or pause", "play");
    this.play.classList.add("play");
    this.loop = does("loop", "Loop the segment here", "loop");
    this.time = button("Go to a time or frame", () => workspace.command("goTo"), "0:00.00");
    this.time.classList.add("time");
    this.speed = h(
      "select",
      { title: "Speed", "aria-label": "Speed", onchange: () => this.#speed() },
      SPEEDS.map((one) => h("option", { value: one, selected: one === 1 }, `${one}×`)),
    );
    const turn = (what, name) => button(
      `${what === "undo" ? "Undo" : "Redo"} (${bindings()[what].map(keyText).join(" or ")})`,
      () => workspace.store.turn(what),
      icon(name),
    );
    this.element = h("div", { class: "controls", role: "toolbar", "aria-label": "Player" },
      h(
        "div",
        { class: "group" },
        does("edgeBack", "Previous edge", "begin"),
        does("frameBack", "One frame back", "back"),
        this.play,
        does("frameOn", "One frame on", "forward"),
        does("edgeOn", "Next edge", "end"),
      ),
      h("div", { class: "group" }, this.time, this.speed, this.loop),
      h("div", { class: "group" }, turn("undo", "undo"), turn("redo", "redo")),
      h(
        "div",
        { class: "group end" },
        does("zoomOut", "Zoom out", "minus"),
        does("zoomFit", "Whole video", "fit"),
        does("zoomIn", "Zoom in", "plus"),
      ),
    );
  }

  #speed() {
    this.workspace.player?.setRate(Number(this.speed.value));
    this.speed.blur();
  }

  /** After a change of the state. */
  update() {
    this.tick();
  }

  /** Every frame: as little as possible. */
  tick() {
    const { player } = this.workspace;
    if (!player) return;
    this.time.textContent = `${clock(player.seconds)} · ${player.frame}`;
    if (player.playing !== this.playing) {
      this.playing = player.playing;
      fill(this.play, icon(player.playing ? "pause" : "play"));
    }
    const rate = String(player.rate);
    if (this.speed.value !== rate) this.speed.value = rate;
    this.loop.classList.toggle("on", Boolean(player.loop));
  }
}
