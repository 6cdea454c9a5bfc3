/** What the keys do in a workspace. */

import { askTime } from "./asking.js";
import { mergeNext, nudge, segmentAt, splitHere } from "./editing.js";
import { edges, IntervalIndex, nextEdge } from "./intervals.js";
import { SPEEDS } from "./player.js";

/** What each key does to a workspace, by the name of the command. */
export const COMMANDS = {
  play: (workspace) => workspace.player.toggle(),
  slower: (workspace) => workspace.player.shuttle(-1),
  stop: (workspace) => (workspace.player.pause(), workspace.player.setRate(1)),
  faster: (workspace) => workspace.player.shuttle(1),
  rateDown: (workspace) => turnRate(workspace, -1),
  rateUp: (workspace) => turnRate(workspace, 1),
  loop: (workspace) => loopHere(workspace),
  frameBack: (workspace) => workspace.player.step(-1),
  frameOn: (workspace) => workspace.player.step(1),
  back: (workspace) => workspace.goTo(workspace.now - 1),
  on: (workspace) => workspace.goTo(workspace.now + 1),
  farBack: (workspace) => workspace.goTo(workspace.now - 10),
  farOn: (workspace) => workspace.goTo(workspace.now + 10),
  edgeBack: (workspace) => toEdge(workspace, -1),
  edgeOn: (workspace) => toEdge(workspace, 1),
  itemBack: (workspace) => toItem(workspace, -1),
  itemOn: (workspace) => toItem(workspace, 1),
  begin: (workspace) => workspace.goTo(0),
  end: (workspace) => workspace.goTo(workspace.state.seconds ?? 0),
  goTo: (workspace) => askAndGo(workspace),
  split: (workspace) => edit(workspace, splitHere),
  merge: (workspace) => edit(workspace, mergeNext),
  delete: (workspace) => remove(workspace),
  nudgeBack: (workspace) => nudgeHere(workspace, -1),
  nudgeOn: (workspace) => nudgeHere(workspace, 1),
  accept: (workspace) => accept(workspace),
  mode: (workspace) => workspace.setMode(workspace.mode === "clicks" ? "segments" : "clicks"),
  escape: (workspace) => escape(workspace),
  zoomIn: (workspace) => workspace.timeline.zoom(1.5),
  zoomOut: (workspace) => workspace.timeline.zoom(1 / 1.5),
  zoomFit: (workspace) => workspace.timeline.fit(),
};

function edit(workspace, changes) {
  workspace.change(changes(workspace.state.events, workspace.selected, workspace.now));
}

function accept(workspace) {
  if (workspace.acceptDraft()) return;
  const { prediction, pseudo } = workspace.state;
  const found = new IntervalIndex(prediction?.segments ?? pseudo).at(workspace.now);
  if (found) workspace.suggest(found, prediction ? "prediction" : "pseudo");
}

function nudgeHere(workspace, direction) {
  const { table } = workspace.player;
  const shift = (seconds) => table.start(table.frameAt(seconds) + direction);
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

/** Plays one stretch again and again: the suggestion, the selected or present segment. */
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
