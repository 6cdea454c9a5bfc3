/** The buttons under the video: play, step, speed, time, undo. */

import { button, fill, h, icon } from "./dom.js";
import { SPEEDS } from "./player.js";
import { titleOf } from "./keys.js";
import { clock } from "./times.js";

export class Controls {
  /** @param {import("./workspace.js").Workspace} workspace */
  constructor(workspace) {
    this.workspace = workspace;
    const title = (id) => titleOf(id, workspace.store.classes);
    const does = (id, name) => button(title(id), () => workspace.command(id), icon(name));
    this.playing = null;
    this.play = does("play", "play");
    this.play.classList.add("play");
    this.loop = does("loop", "loop");
    this.time = button(title("goTo"), () => workspace.command("goTo"), "0:00.00");
    this.time.classList.add("time");
    this.speed = h(
      "select",
      { title: "Speed", "aria-label": "Speed", onchange: () => this.#speed() },
      SPEEDS.map((one) => h("option", { value: one, selected: one === 1 }, `${one}×`)),
    );
    const turn = (what) => button(title(what), () => workspace.store.turn(what), icon(what));
    this.element = h("div", { class: "controls", role: "toolbar", "aria-label": "Player" },
      h(
        "div",
        { class: "group" },
        does("edgeBack", "begin"),
        does("frameBack", "back"),
        this.play,
        does("frameOn", "forward"),
        does("edgeOn", "end"),
      ),
      h("div", { class: "group" }, this.time, this.speed, this.loop),
      h("div", { class: "group" }, turn("undo"), turn("redo")),
      h(
        "div",
        { class: "group end" },
        does("zoomOut", "minus"),
        does("zoomFit", "fit"),
        does("zoomIn", "plus"),
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

  /** Runs on every frame, so it does as little as possible. */
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
