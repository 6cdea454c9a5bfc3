/** What the timeline holds, in order and indexed; recomputed only where it has changed. */

import { Looks, PixelRow } from "./blocks.js";
import { hatching, mixed, palette } from "./colours.js";
import { lanes } from "./geometry.js";
import { gaps, IntervalIndex, RunningMean } from "./intervals.js";
import { Pins } from "./pins.js";

const STRENGTHS = { clicks: 1, labels: 1, pseudo: 0.62, prediction: 0.85, draft: 0.45 };
const BAND_STRENGTH = 0.4;

export class Scene {
  constructor() {
    /** @type {any[]} */
    this.clicks = [];
    this.clickTimes = new Float64Array(0);
    /** the selected click */
    this.chosen = null;
    this.labels = this.pseudo = this.prediction = this.unlabelled = new IntervalIndex([]);
    /** @type {RunningMean | null} how sure the model is */
    this.band = null;
    this.lanes = lanes(["ruler"]);
    this.height = 24;
    this.selected = this.draft = this.strip = this.classOf = null;
    this.row = new PixelRow();
    this.from = {};
  }

  /**
   * Takes over a state.
   * @param {any} state of the video
   * @param {{selected: string | null, draft: any, strip: any, classOf: (name: string) => any,
   *   classes: any, hints: boolean}} more
   * @returns {boolean} whether the lanes have to be painted again
   */
  show(state, { selected, draft, strip, classOf, classes, hints }) {
    const { events, observed, pseudo, prediction, seconds } = state;
    const isHinting = hints && !draft;
    const from = {
      events,
      observed,
      pseudo,
      prediction,
      seconds,
      selected,
      strip,
      classes,
      isHinting,
    };
    const changed = new Set(Object.keys(from).filter((one) => from[one] !== this.from[one]));
    this.from = from;
    Object.assign(this, { selected, draft, strip, classOf, classes, isHinting });
    if (changed.has("events")) this.#events(events);
    if (changed.has("events") || changed.has("observed") || changed.has("seconds")) {
      this.unlabelled = unlabelled(this.labels.items.length ? observed : [], seconds ?? 0);
    }
    if (changed.has("pseudo")) this.pseudo = new IntervalIndex(pseudo);
    if (changed.has("prediction")) {
      this.prediction = new IntervalIndex(prediction?.segments ?? []);
      const band = prediction?.band;
      this.band = band ? new RunningMean(band.probability, band.step) : null;
    }
    if (changed.has("events") || changed.has("selected")) {
      this.chosen = this.clicks.find((one) => one.id === selected) ?? null;
    }
    if (changed.has("classes")) this.#looks();
    return changed.size > 0;
  }

  #events(events) {
    this.clicks = events.filter((one) => one.end === null);
    this.clickTimes = Float64Array.from(this.clicks, (one) => one.start);
    this.labels = new IntervalIndex(events.filter((one) => one.end !== null));
  }

  /** After a change of the theme. @param {CanvasRenderingContext2D} context */
  recolour(context) {
    const colours = palette();
    this.colours = { ...colours, band: mixed(colours.accent, colours.sunk, BAND_STRENGTH) };
    this.hatch = hatching(context, this.colours.hatch);
    this.#looks();
  }

  #looks() {
    if (!this.classOf || !this.colours) return;
    this.pins = new Pins(this.dots);
    const looks = (name) => new Looks(this.classOf, this.colours.sunk, STRENGTHS[name]);
    this.looks = Object.fromEntries(Object.keys(STRENGTHS).map((name) => [name, looks(name)]));
  }

  /** The names of the lanes that have something to show. */
  get names() {
    return [
      "ruler",
      this.strip && "strip",
      "clicks",
      "labels",
      "pseudo",
      this.from.prediction && "prediction",
      this.band && "band",
    ].filter(Boolean);
  }

  /** @param {string[]} names @returns {boolean} whether they have changed */
  lay(names) {
    if (names.join() === this.lanes.map((one) => one.name).join()) return false;
    this.lanes = lanes(names);
    const last = this.lanes[this.lanes.length - 1];
    this.height = last.top + last.height;
    return true;
  }
}

function unlabelled(observed, seconds) {
  return new IntervalIndex(gaps(observed, seconds).map(([start, end]) => ({ start, end })));
}
