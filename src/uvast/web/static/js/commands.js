/** What the keys do: the one table that the keyboard, the buttons and the help card use. */

import { askTime } from "./asking.js";
import { mergeNext, nudge, segmentAt, splitHere } from "./editing.js";
import { edges, IntervalIndex, nextEdge } from "./intervals.js";
import { SPEEDS } from "./player.js";

/** @typedef {import("./workspace.js").Workspace} Workspace */

/**
 * All commands, in the order of the help card. Those without a function belong to the page (undo,
 * redo, help) or to the view (next).
 * @type {Record<string, [string, string, string[], ((workspace: Workspace) => void)?][]>}
 */
const TABLE = {
  Play: [
    ["play", "Play or pause", ["Space"], (work) => work.player.toggle()],
    ["slower", "Backwards, faster each time", ["j"], (work) => work.player.shuttle(-1)],
    ["stop", "Pause, normal speed", ["k"], stop],
    ["faster", "Forwards, faster each time", ["l"], (work) => work.player.shuttle(1)],
    ["rateDown", "Half the speed", ["<"], (work) => turnRate(work, -1)],
    ["rateUp", "Double the speed", [">"], (work) => turnRate(work, 1)],
    ["loop", "Loop the segment here", ["o"], loopHere],
  ],
  Move: [
    ["frameBack", "One frame back", [","], (work) => work.player.step(-1)],
    ["frameOn", "One frame forward", ["."], (work) => work.player.step(1)],
    ["back", "One second back", ["ArrowLeft"], (work) => work.goTo(work.now - 1)],
    ["on", "One second forward", ["ArrowRight"], (work) => work.goTo(work.now + 1)],
    ["farBack", "Ten seconds back", ["Ctrl+ArrowLeft"], (work) => work.goTo(work.now - 10)],
    ["farOn", "Ten seconds forward", ["Ctrl+ArrowRight"], (work) => work.goTo(work.now + 10)],
    ["edgeBack", "Previous edge or click", ["Shift+ArrowLeft"], (work) => toEdge(work, -1)],
    ["edgeOn", "Next edge or click", ["Shift+ArrowRight"], (work) => toEdge(work, 1)],
    ["itemBack", "Select the previous event", ["ArrowUp"], (work) => toItem(work, -1)],
    ["itemOn", "Select the next event", ["ArrowDown"], (work) => toItem(work, 1)],
    ["begin", "Start of the video", ["Home"], (work) => work.goTo(0)],
    ["end", "End of the video", ["End"], (work) => work.goTo(work.state.seconds ?? 0)],
    ["goTo", "Go to a time or frame", ["g"], askAndGo],
  ],
  Edit: [
    ["split", "Split the segment here", ["b"], (work) => edit(work, splitHere)],
    ["merge", "Merge with the next segment", ["Shift+B"], (work) => edit(work, mergeNext)],
    ["delete", "Delete the selected event", ["Backspace", "Delete"], remove],
    ["nudgeBack", "Nearest edge a frame earlier", ["["], (work) => nudgeHere(work, -1)],
    ["nudgeOn", "Nearest edge a frame later", ["]"], (work) => nudgeHere(work, 1)],
    ["undo", "Undo", ["Ctrl+z"]],
    ["redo", "Redo", ["Ctrl+Shift+Z", "Ctrl+y"]],
    ["accept", "Accept the suggested segment", ["Enter"], accept],
    ["mode", "Clicks or whole segments", ["Alt+s"], turnMode],
    ["escape", "Deselect or cancel", ["Escape"], escape],
  ],
  Timeline: [
    ["zoomIn", "Zoom in", ["+", "="], (work) => work.timeline.zoom(1.5)],
    ["zoomOut", "Zoom out", ["-"], (work) => work.timeline.zoom(1 / 1.5)],
    ["zoomFit", "Show the whole video", ["Alt+0"], (work) => work.timeline.fit()],
  ],
  Page: [
    ["next", "What to look at next", ["n"]],
    ["help", "Help", ["?"]],
  ],
};

/**
 * @typedef {object} Command
 * @property {string} id
 * @property {string} group
 * @property {string} title
 * @property {string[]} keys by default; people can change them
 * @property {(workspace: Workspace) => void} [does]
 */

/** @type {Command[]} */
export const COMMANDS = Object.entries(TABLE).flatMap(
  ([group, rows]) => rows.map(([id, title, keys, does]) => ({ id, group, title, keys, does })),
);

function edit(workspace, changes) {
  workspace.change(changes(workspace.state.events, workspace.selected, workspace.now));
}

function stop({ player }) {
  player.pause();
  player.setRate(1);
}

function turnMode(workspace) {
  workspace.setMode(workspace.mode === "clicks" ? "segments" : "clicks");
}

function accept(workspace) {
  if (workspace.acceptDraft()) return;
  const { prediction, pseudo } = workspace.state;
  const found = new IntervalIndex(prediction?.segments ?? pseudo).at(workspace.now);
  if (found) workspace.suggest(found, prediction ? "prediction" : "pseudo");
}

function nudgeHere(workspace, direction) {
  const { table } = workspace.player;
  const shift = (seconds, kind = "edge") => (
    kind === "click"
      ? table.start(table.frameAt(seconds) + direction)
      : table.edgeAt(seconds, direction)
  );
  if (workspace.draft) {
    const { start, end } = workspace.draft;
    const edge = workspace.now < (start + end) / 2 ? "start" : "end";
    const moved = { ...workspace.draft, [edge]: shift(workspace.draft[edge]) };
    if (moved.start < moved.end) workspace.select(null, moved);
    workspace.player.seek(moved[edge]);
    return;
  }
  const { changes, at } = nudge(
    workspace.state.events,
    workspace.selected,
    workspace.now,
    shift,
    workspace.frame,
  );
  workspace.change(changes);
  if (at !== null && changes.length) workspace.player.seek(at);
}

function toEdge(workspace, direction) {
  const { events, pseudo, prediction } = workspace.state;
  const all = events.length ? events : [...pseudo, ...(prediction?.segments ?? [])];
  const at = nextEdge(edges(all), workspace.now, direction);
  if (at !== null) workspace.goTo(at);
}

function toItem(workspace, direction) {
  const { events } = workspace.state;
  const place = events.findIndex((one) => one.id === workspace.selected);
  const after = events.findIndex((one) => one.start > workspace.now + 1e-3);
  const between = (after < 0 ? events.length : after) - (direction > 0 ? 1 : 0);
  const next = events[(place < 0 ? between : place) + direction];
  if (!next) return;
  workspace.select(next.id);
  workspace.goTo(next.start);
}

function remove(workspace) {
  if (!workspace.item) return;
  workspace.change([{ do: "delete", id: workspace.item.id }]);
  workspace.select(null);
}

/** Loops one stretch: the selected segment, the suggestion, or the segment at the playhead. */
function loopHere(workspace) {
  const { events, prediction, pseudo } = workspace.state;
  const chosen = workspace.item && workspace.item.end !== null ? workspace.item : null;
  const suggested = new IntervalIndex(prediction?.segments ?? pseudo).at(workspace.now);
  const here = chosen ?? workspace.draft ?? segmentAt(events, workspace.now) ?? suggested;
  const { player } = workspace;
  player.loop = here && !player.loop ? { start: here.start, end: here.end } : null;
  if (player.loop) {
    player.seek(player.loop.start);
    player.play();
  }
  workspace.onFrame();
}

function turnRate(workspace, direction) {
  const place = SPEEDS.indexOf(workspace.player.rate);
  workspace.player.setRate(SPEEDS[Math.min(Math.max(0, place + direction), SPEEDS.length - 1)]);
}

function escape(workspace) {
  workspace.open = null;
  workspace.player.loop = null;
  workspace.select(null);
  workspace.onFrame();
}

async function askAndGo(workspace) {
  const { table } = workspace.player;
  const at = await askTime(workspace.now, (frame) => table.start(frame));
  if (at !== null) workspace.goTo(at);
}
