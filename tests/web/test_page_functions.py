"""The page's pure functions against brute force, in the browser that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from uvast.web.server import STATIC

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def run(browser: Browser) -> Iterator[Run]:
    """Runs a function with the modules it names, without a server."""
    page = browser.new_page()

    def send(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        if name:
            route.fulfill(path=STATIC / "js" / name, content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html>", content_type="text/html")

    page.route("http://page.test/**", send)
    page.goto("http://page.test/")
    page.evaluate(
        """() => {
          let seed = 7;
          globalThis.random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
          globalThis.equal = (a, b, what) => {
            if (JSON.stringify(a) !== JSON.stringify(b)) {
              throw new Error(`${what}: ${JSON.stringify(a)}, not ${JSON.stringify(b)}`);
            }
          };
          globalThis.near = (a, b, what) => {
            if (!(Math.abs(a - b) < 1e-6)) throw new Error(`${what}: ${a}, not ${b}`);
          };
        }"""
    )

    def call(module: str, function: str) -> Any:
        source = f"async () => ({function})(await import('http://page.test/{module}.js'))"
        return page.evaluate(source)

    yield call
    page.close()


def test_zooming_keeps_the_moment_under_the_pointer(run: Run) -> None:
    run(
        "geometry",
        """({zoomed, panned, whole, toX, toSeconds}) => {
          let view = whole(600, 1000);
          for (let i = 0; i < 500; i++) {
            const at = toSeconds(view, random() * 1000);
            const next = zoomed(view, Math.exp(random() - 0.4), at, 600);
            const clamped = next.start === 0 || Math.abs(next.end - 600) < 1e-9;
            if (!clamped) near(toX(next, at), toX(view, at), 'place');
            if (next.start < 0 || next.end > 600 + 1e-9) throw new Error('outside');
            view = panned(next, random() * 40 - 20, 600);
            if (view.start < 0 || view.end > 600 + 1e-9) throw new Error('panned outside');
          }
        }""",
    )


def test_the_index_finds_what_a_look_at_all_finds(run: Run) -> None:
    run(
        "intervals",
        """({IntervalIndex}) => {
          for (let i = 0; i < 200; i++) {
            const items = Array.from({length: 30}, () => random() * 100)
              .sort((a, b) => a - b)
              .map((start) => ({start, end: start + random() * random() * 40}));
            const index = new IntervalIndex(items);
            const start = random() * 110 - 5;
            const end = start + random() * 30;
            const [from, to] = index.range(start, end);
            const seen = items.slice(from, to).filter((one) => one.end > start && one.start <= end);
            const all = items.filter((one) => one.end > start && one.start <= end);
            equal(seen, all, 'range');
            const here = items.filter((one) => one.start <= start && start < one.end);
            const length = (one) => one.end - one.start;
            const shortest = here.sort((a, b) => length(a) - length(b))[0] ?? null;
            equal(index.at(start), shortest, 'at');
          }
        }""",
    )


def test_a_new_segment_takes_the_place_of_what_it_covers(run: Run) -> None:
    run(
        "editing",
        """async ({placeSegment}) => {
          const {applied} = await import('http://page.test/applied.js');
          for (let i = 0; i < 300; i++) {
            const labels = Array.from({length: 60}, () => null);
            const events = [];
            for (let at = 0; at < 50; at += 1 + Math.floor(random() * 5)) {
              const end = at + 1 + Math.floor(random() * 6);
              const start = at;
              at = end;
              const label = random() < 0.5 ? 'a' : 'b';
              events.push({id: `e${start}`, kind: 'segment', label, start, end});
              labels.fill(label, start, end);
            }
            const start = Math.floor(random() * 40);
            const end = start + 1 + Math.floor(random() * 15);
            labels.fill('new', start, end);
            const changes = placeSegment(events, 'new', start, end);
            const named = changes.map((one, n) => (one.do === 'add' ? {...one, as: `x${n}`} : one));
            const found = Array.from({length: 60}, () => null);
            for (const one of applied({events}, named).events) {
              if (found.slice(one.start, one.end).some(Boolean)) throw new Error('overlap');
              found.fill(one.label, one.start, one.end);
            }
            equal(found, labels, 'labels');
          }
        }""",
    )


def test_an_answer_tells_of_its_stretch_and_clicks_of_the_whole_video(run: Run) -> None:
    run(
        "editing",
        """({placeAnswer, placeClick}) => {
          const click = (label, start) => ({do: 'add', kind: 'click', label, start});
          const looked = (...spans) => ({do: 'observed', spans});
          const event = (start, end = null) => ({id: 'e1', label: 'a', start, end});
          const answer = (events, observed) =>
            placeAnswer({events, observed}, 'b', {start: 4, end: 6}, 0.1);
          equal(answer([], null), [click('b', 5), looked([4, 6])], 'first');
          equal(answer([event(1)], [[0, 2]]), [click('b', 5), looked([0, 2], [4, 6])], 'second');
          equal(answer([event(1)], null), [click('b', 5)], 'a clicked video');
          const segment = {do: 'add', kind: 'segment', label: 'b', start: 4, end: 6};
          equal(answer([event(1, 2)], [[1, 2]]), [segment], 'among segments');
          const at = (seconds, events, observed) =>
            placeClick({events, observed}, 'b', seconds, 0.1);
          equal(at(3, [event(1)], [[0, 2]]), [click('b', 3), looked()], 'the rest of the video');
          equal(at(1.5, [event(1)], [[0, 2]]), [click('b', 1.5)], 'inside');
          equal(at(3, [event(1)], null), [click('b', 3)], 'one more');
          equal(at(3, [event(1, 2)], [[1, 2]]), [click('b', 3)], 'beside segments');
          equal(at(1, [event(1)], [[0, 2]]), [{do: 'relabel', id: 'e1', label: 'b'}], 'relabel');
        }""",
    )


def test_neighbours_that_touch_stay_together_when_an_edge_moves(run: Run) -> None:
    run(
        "intervals",
        """({moveEdge}) => {
          const segments = [
            {id: 'e1', start: 1, end: 3},
            {id: 'e2', start: 3, end: 5},
            {id: 'e3', start: 6, end: 8},
          ];
          const row = ({id, start, end}) => [id, start, end];
          const moved = (...words) => moveEdge(segments, ...words).map(row);
          equal(moved('e2', 'start', 4, 0.1), [['e2', 4, 5], ['e1', 1, 4]], 'joint');
          equal(moved('e2', 'start', 0, 0.5), [['e2', 1.5, 5], ['e1', 1, 1.5]], 'not away');
          equal(moved('e2', 'end', 7, 0.1), [['e2', 3, 6]], 'up to the next');
          equal(moved('e3', 'start', 2, 0.1), [['e3', 5, 8]], 'back to the last');
          equal(moved('e1', 'end', 9, 0.5), [['e1', 1, 4.5], ['e2', 4.5, 5]], 'joint end');
        }""",
    )


def test_times_are_read_as_they_are_written(run: Run) -> None:
    run(
        "times",
        """({clock, parseTime}) => {
          for (let i = 0; i < 500; i++) {
            const hundredths = Math.floor(random() * 1e6);
            near(parseTime(clock(hundredths / 100), 0, null), hundredths / 100, 'round trip');
          }
          equal(clock(59.999), '1:00.00', 'carried');
          equal(parseTime('+2.5', 10, null), 12.5, 'relative');
          equal(parseTime('#7', 0, (frame) => frame / 2), 3.5, 'frame');
          for (const text of ['', 'x', '1:2:3:4', '#', '1..2']) {
            equal(parseTime(text, 0, null), null, text);
          }
        }""",
    )


def test_new_events_get_the_names_of_the_server(run: Run) -> None:
    run(
        "applied",
        """({applied, namesGiven, renamed, isOrphan}) => {
          const before = [{id: 'e1', label: 'a', start: 1, end: 4}];
          const changes = [
            {do: 'split', id: 'e1', at: 2, as: 'new1'},
            {do: 'add', kind: 'click', label: 'b', start: 9, as: 'new2'},
          ];
          const shown = applied({events: before}, changes).events;
          equal(shown.map((one) => [one.id, one.start, one.end]),
            [['e1', 1, 2], ['new1', 2, 4], ['new2', 9, null]], 'shown');
          const after = [
            {id: 'e1', label: 'a', start: 1, end: 2},
            {id: 'e3', label: 'b', start: 9, end: null},
            {id: 'e2', label: 'a', start: 2, end: 4},
          ];
          const names = namesGiven(changes, before, after);
          equal([...names], [['new1', 'e2'], ['new2', 'e3']], 'names');
          const next = {do: 'merge', ids: ['e1', 'new1']};
          if (!isOrphan(next) || isOrphan(renamed(next, names))) throw new Error('orphan');
        }""",
    )
