/**
 * A video with the changes that the server has not acknowledged yet. Pure. For display only: the
 * server's answer replaces it. Changes that only the server can work out (accepted predictions)
 * wait for that answer.
 */

import { inTime, seen } from "./deltas.js";

/**
 * @typedef {{id: string, kind: "click" | "segment", label: string, start: number, end: number |
 *   null, author?: string, pending?: boolean}} Item
 */
/** @typedef {Record<string, any> & {do: string}} Change */

let n_new = 0;

/** A name for an event until the server gives it one. */
export function newId() {
  return `new${++n_new}`;
}

/** @param {string} id */
export function isNew(id) {
  return id.startsWith("new");
}

/**
 * @param {any} state as the server sent it
 * @param {Change[]} changes in order; new events have their name in `as`
 */
export function applied(state, changes) {
  if (!changes.length) return state;
  const items = new Map(state.events.map((one) => [one.id, one]));
  const rest = { looked_at: state.looked_at, reviewed: state.reviewed };
  for (const change of changes) applyOne(items, rest, change);
  return seen({ ...state, ...rest, events: [...items.values()].sort(inTime) });
}

function applyOne(items, rest, change) {
  const one = items.get(change.id);
  const set = (id, values) => items.set(id, { ...items.get(id), ...values, pending: true });
  switch (change.do) {
    case "add":
      set(
        change.as,
        {
          id: change.as,
          kind: change.kind,
          label: change.label,
          start: change.start,
          end: change.end ?? null,
        },
      );
      break;
    case "move":
      if (one) {
        set(
          one.id,
          {
            start: change.start,
            end: one.end === null ? null : (change.end ?? change.start + one.end - one.start),
          },
        );
      }
      break;
    case "relabel":
      if (one) set(one.id, { label: change.label });
      break;
    case "delete":
      items.delete(change.id);
      break;
    case "split":
      if (one) {
        set(change.as, { ...one, id: change.as, start: change.at });
        set(one.id, { end: change.at });
      }
      break;
    case "merge":
      mergeInto(items, set, change.ids);
      break;
    case "clear":
      items.clear();
      break;
    case "observed":
      rest.looked_at = change.spans;
      break;
    case "reviewed":
      rest.reviewed = change.value;
      break;
  }
}

function mergeInto(items, set, ids) {
  const found = ids.map((id) => items.get(id)).filter(Boolean);
  if (found.length < 2) return;
  for (const one of found.slice(1)) items.delete(one.id);
  set(
    found[0].id,
    {
      start: Math.min(...found.map((one) => one.start)),
      end: Math.max(...found.map((one) => one.end)),
    },
  );
}

/**
 * Maps the names that new events got here to the server's names.
 * @param {Change[]} changes that were acknowledged
 * @param {string[]} ids of the new events, in order
 * @returns {Map<string, string>}
 */
export function namesGiven(changes, ids) {
  const made = changes.filter((one) => one.as);
  return new Map(ids.map((id, place) => [made[place].as, id]));
}

/**
 * The change with its ids renamed.
 * @param {Change} change
 * @param {Map<string, string>} names
 */
export function renamed(change, names) {
  const name = (id) => names.get(id) ?? id;
  if (change.ids) return { ...change, ids: change.ids.map(name) };
  return change.id ? { ...change, id: name(change.id) } : change;
}

/** The change in the form that the server accepts. @param {Change} change */
export function sendable(change) {
  const { as, ...rest } = change;
  return rest;
}

/** Whether a change refers to an event that the server does not know. @param {Change} change */
export function isOrphan(change) {
  return [change.id, ...(change.ids ?? [])].some((id) => id && isNew(id));
}
