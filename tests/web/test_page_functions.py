"""The page's pure functions against brute force, in the browser that runs them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route

from uvast.exchange import Event, Span
from uvast.exchange.records import joined
from uvast.web.documents import Document
from uvast.web.items import Item
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


def test_ticks_of_a_chart_are_round_and_of_rounds_whole(run: Run) -> None:
    found = run(
        "chart",
        """({roundValues}) => [
          roundValues(0.013, 0.094, 4), roundValues(0, 100, 4), roundValues(-1, 1, 4),
          ...[[1, 2], [0.5, 1.5], [1, 3], [1, 60]].map(([a, b]) => roundValues(a, b, 5, 1)),
        ]""",
    )
    assert found[:3] == [[0.05], [0, 50, 100], [-1, -0.5, 0, 0.5, 1]]
    assert found[3:] == [[1, 2], [1], [1, 2, 3], [20, 40, 60]]


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
        """({clock, exactly, parseTime}) => {
          for (let i = 0; i < 500; i++) {
            const hundredths = Math.floor(random() * 1e6);
            near(parseTime(clock(hundredths / 100), 0, null), hundredths / 100, 'round trip');
          }
          equal(clock(59.999), '1:00.00', 'carried');
          equal([0.04, 1.2, 59.999, 90].map(exactly), ['0.04 s', '1.20 s', '1:00.00', '1:30.00'],
            'lengths');
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
          const names = namesGiven(changes, ['e2', 'e3']);
          equal([...names], [['new1', 'e2'], ['new2', 'e3']], 'names');
          const next = {do: 'merge', ids: ['e1', 'new1']};
          if (!isOrphan(next) || isOrphan(renamed(next, names))) throw new Error('orphan');
        }""",
    )


def test_what_is_looked_at_is_what_the_server_says(run: Run) -> None:
    """Against `Document.observed`, on documents of every kind."""
    chance = random.Random(3)
    cases = []
    for _ in range(150):
        events = []
        for _ in range(chance.randrange(6)):
            start = chance.randrange(40) / 2
            end = None if chance.random() < 0.4 else start + chance.randrange(1, 12) / 2
            events.append(Event("x", start, end))
        spans = [(one, one + chance.randrange(1, 9)) for one in chance.sample(range(20), 2)]
        looked_at = chance.choice([None, (), joined(tuple(Span(*one) for one in spans))])
        items = {f"e{i}": Item(f"e{i}", one) for i, one in enumerate(events, 1)}
        document = Document("cup", items, looked_at)
        shown = [json.loads(one.json) for one in document.ordered]
        cases.append([looked_at, shown, document.observed])
    run(
        "deltas",
        f"""({{observedOf}}) => {{
          for (const [lookedAt, events, observed] of {json.dumps(cases)}) {{
            equal(observedOf(lookedAt, events), observed, 'observed');
          }}
        }}""",
    )


def test_a_delta_leads_to_the_next_state_and_a_missed_one_is_noticed(run: Run) -> None:
    run(
        "documents",
        """({VideoDocument}) => {
          const click = (id, start) => ({id, kind: 'click', label: 'a', start, end: null});
          const state = {
            stamp: 5, version: 1, looked_at: [], reviewed: false,
            events: [click('e1', 1), click('e2', 2)], pseudo: [1, 2, 3],
          };
          const step = (from, stamp, set, gone, more = {}) => (
            {from, stamp, set, gone, about: {version: stamp}, ...more});
          const found = new VideoDocument(state);
          const pseudo = {at: 1, gone: 1, new: [7, 8]};
          const first = step(5, 6, [click('e3', 1.5), click('e2', 0)], ['e1'], {pseudo});
          found.take({deltas: [first]});
          equal(found.shown.events.map((one) => one.id), ['e2', 'e3'], 'events');
          equal(found.shown.pseudo, [1, 7, 8, 3], 'pseudo');
          equal([found.server.version, found.isBehind], [6, false], 'version');
          found.take({deltas: [first]});
          equal(found.server.stamp, 6, 'not twice');
          found.hear({stamp: 8, version: 8, delta: step(7, 8, [], ['e3'])});
          found.take();
          equal([found.server.stamp, found.isBehind], [6, true], 'a step is missing');
          found.take({deltas: [step(6, 7, [click('e4', 9)], [])]});
          equal([found.server.stamp, found.isBehind], [8, false], 'what was heard comes after it');
          equal(found.shown.events.map((one) => one.id), ['e2', 'e4'], 'both');
          found.take({video: {...state, stamp: 4}});
          equal(found.server.stamp, 8, 'never back');
          found.take({video: {...state, stamp: 9}});
          equal([found.server.stamp, found.shown.observed], [9, null], 'the whole');
        }""",
    )


def test_means_of_any_stretch(run: Run) -> None:
    run(
        "intervals",
        """({RunningMean}) => {
          const values = Array.from({length: 200}, random);
          const mean = new RunningMean(values, 0.2);
          for (let i = 0; i < 500; i++) {
            const start = random() * 44 - 2;
            const end = start + random() * 10;
            const from = Math.floor(start / 0.2);
            const to = Math.max(from + 1, Math.floor(end / 0.2));
            const cut = values.slice(Math.max(0, from), Math.max(0, to));
            const wanted = cut.length ? cut.reduce((a, b) => a + b, 0) / cut.length : 0;
            near(mean.over(start, end), wanted, `${start} to ${end}`);
          }
        }""",
    )


def test_a_fault_of_the_server_does_not_hold_the_others_up(run: Run) -> None:
    run(
        "outbox",
        """async ({Outbox}) => {
          const {ApiError} = await import('http://page.test/api.js');
          const ended = [];
          let tries = 0;
          const box = new Outbox(() => {});
          const send = async () => { tries += 1; throw new ApiError('a bug', 500); };
          box.add({send, done: () => {}, refused: (error) => ended.push(error.message)});
          box.add({send: async () => 'saved', done: (answer) => ended.push(answer)});
          for (let i = 0; i < 5; i++) {
            await new Promise((resolve) => setTimeout(resolve, 20));
            box.retry();
          }
          await new Promise((resolve) => setTimeout(resolve, 20));
          equal([tries, ended, box.n], [3, ['a bug', 'saved'], 0], 'given up');
        }""",
    )


def test_a_drag_keeps_its_distance_and_sticks_to_where_the_playhead_was(run: Run) -> None:
    run(
        "gestures",
        """({Gestures}) => {
          const stage = document.createElement('div');
          stage.setPointerCapture = () => {};
          const found = {lane: 'labels', kind: 'body', item: {start: 40, end: 60}};
          const dragged = [];
          let n_cancelled = 0;
          const timeline = {
            stage, bar: document.createElement('canvas'), head: {seconds: 0},
            view: {start: 0, end: 100, width: 1000}, setHead: () => {},
            hitAt: () => found, momentAt: (x) => x / 10,
            handlers: {
              select: () => {}, seek: () => {}, cancel: () => n_cancelled++,
              drag: (hit, seconds, over) => {
                dragged.push([seconds, over]);
                timeline.head.seconds = seconds;
              },
            },
          };
          new Gestures(timeline);
          const send = (name, clientX, pointerId = 1) => stage.dispatchEvent(
            new PointerEvent(name, {button: 0, clientX, pointerId}));
          send('pointerdown', 500);
          send('pointermove', 510);
          send('pointermove', 520);
          send('pointerup', 520);
          equal(dragged.splice(0), [[41, false], [42, false], [42, true]], 'body');
          Object.assign(found, {kind: 'edge', edge: 'end'});
          timeline.head.seconds = 70;
          send('pointerdown', 600);
          for (const x of [605, 608, 697, 710]) send('pointermove', x);
          send('pointerup', 710);
          equal(dragged.splice(0).map(([at]) => at), [60.5, 60.8, 70, 71, 71], 'edge');
          send('pointerdown', 600);
          send('pointermove', 650);
          send('pointercancel', 650);
          equal(n_cancelled, 1, 'cancelled');
          send('pointerdown', 600);
          send('pointermove', 650);
          send('pointerdown', 300, 2);
          equal(n_cancelled, 2, 'a second finger');
        }""",
    )


def test_an_edge_may_be_the_end_of_the_video_and_a_click_may_not(run: Run) -> None:
    run(
        "commands",
        """async ({COMMANDS}) => {
          const {FrameTable} = await import('http://page.test/frames.js');
          const table = FrameTable.even(10, 10, 1);
          equal([0.3, 0.34, 0.94, 0.96, 1].map((at) => table.edgeAt(at)),
            [0.3, 0.3, 0.9, 1, 1], 'edges');
          const press = (id, event, now) => {
            const work = {
              player: {table, seek: () => {}}, state: {events: [event]}, selected: 'e1',
              draft: null, now, frame: 0.1, change: (changes) => (work.made = changes),
            };
            COMMANDS.find((one) => one.id === id).does(work);
            return work.made.map(({start, end}) => [start, end]);
          };
          const segment = (end) => ({id: 'e1', start: 0.2, end});
          equal(press('nudgeOn', segment(1), 0.9), [], 'at the end already');
          equal(press('nudgeOn', segment(0.9), 0.9), [[0.2, 1]], 'the last frame');
          equal(press('nudgeBack', segment(1), 0.9), [[0.2, 0.9]], 'and back');
          equal(press('nudgeOn', {id: 'e1', start: 0.9, end: null}, 0.9), [], 'a click');
          const {moveTo} = await import('http://page.test/editing.js');
          const grip = {kind: 'body', item: segment(0.6)};
          const [moved] = moveTo([segment(0.6)], grip, 0.9, 0.1, 1);
          near(moved.end, 1, 'a body');
        }""",
    )


def test_a_loop_up_to_the_end_goes_on(run: Run) -> None:
    run(
        "player",
        """async ({SilentPlayer}) => {
          const {FrameTable} = await import('http://page.test/frames.js');
          const seen = [];
          const player = new SilentPlayer(FrameTable.even(6, 20, 0.3), () => {
            if (player.frame !== seen.at(-1)) seen.push(player.frame);
          });
          player.loop = {start: 0.2, end: 0.3};
          player.seekFrame(4);
          player.play();
          for (let i = 0; i < 100 && seen.filter((one) => one === 4).length < 3; i++) {
            await new Promise((done) => setTimeout(done, 20));
          }
          equal([player.playing, Math.min(...seen)], [true, 4], 'inside');
          equal(seen.slice(-4).toSorted(), [4, 4, 5, 5], 'again and again');
          player.pause();
        }""",
    )


def test_an_answer_that_is_cut_off_is_no_answer(run: Run) -> None:
    run(
        "api",
        """async ({get, post, ApiError}) => {
          const real = window.fetch;
          const signals = [];
          window.fetch = async (_address, options) => {
            signals.push(options.signal);
            return new Response('{"ids": [', {status: 200});
          };
          try {
            for (const call of [() => get('/x'), () => post('/x', {})]) {
              const error = await call().catch((one) => one);
              equal([error instanceof ApiError, error.status], [true, 0], 'cut off');
            }
          } finally {
            window.fetch = real;
          }
          equal(signals.every((one) => one instanceof AbortSignal), true, 'none waits for ever');
        }""",
    )


def test_a_fault_of_the_page_does_not_stop_the_outbox(run: Run) -> None:
    run(
        "outbox",
        """async ({Outbox}) => {
          const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
          const report = window.reportError;
          window.reportError = () => {};
          const ended = [];
          const box = new Outbox(() => {});
          box.add({send: async () => 1, done: () => { throw new Error('listener'); }});
          box.add({send: () => { throw new TypeError('bug'); },
            refused: (error) => ended.push(error.message)});
          box.add({send: async () => 'saved', done: (answer) => ended.push(answer)});
          for (let i = 0; i < 4; i++) {
            await pause();
            box.retry();
          }
          await pause();
          await box.settled();
          window.reportError = report;
          equal([ended, box.n, box.working], [['TypeError: bug', 'saved'], 0, null], 'all');
        }""",
    )


def test_a_full_disk_keeps_the_change_and_shows_the_sentence(run: Run) -> None:
    run(
        "outbox",
        """async ({Outbox}) => {
          const {ApiError} = await import('http://page.test/api.js');
          const sentence = 'journal.jsonl cannot be written (the disk is full); free some space';
          let full = true;
          const done = [];
          const box = new Outbox(() => {});
          box.add({
            send: async () => {
              if (full) throw new ApiError(sentence, 507, {error: sentence});
              return 'saved';
            },
            done: (answer) => done.push(answer),
            refused: () => done.push('lost'),
          });
          await new Promise((resolve) => setTimeout(resolve, 50));
          equal([box.n, box.trouble.message, done], [1, sentence, []], 'kept');
          full = false;
          box.retry();
          await new Promise((resolve) => setTimeout(resolve, 50));
          equal([box.n, box.trouble, done], [0, null, ['saved']], 'sent');
        }""",
    )


def test_changes_that_wait_have_seen_what_was_shown_when_they_were_made(run: Run) -> None:
    run(
        "store",
        """async ({Store}) => {
          const {VideoDocument} = await import('http://page.test/documents.js');
          const real = window.fetch;
          const sent = [];
          const answers = [];
          window.fetch = async (_address, {body}) => {
            sent.push(JSON.parse(body));
            return new Response(JSON.stringify(answers.shift()), {status: 200});
          };
          const about = (from, version) => ({from, stamp: from + 1, set: [], gone: [],
            about: {version}});
          const versions = async (...given) => {
            const store = new Store();
            store.project = {author: 'anna'};
            const state = {name: 'cup', stamp: 1, version: 5, events: [], looked_at: []};
            store.documents.set('cup', new VideoDocument(state));
            answers.push(...given);
            const [click] = store.change('cup', [{do: 'add', kind: 'click', start: 1}]);
            store.change('cup', [{do: 'move', id: click.as, start: 2}]);
            await store.outbox.settled();
            equal(sent[1].changes[0].id, 'e9', 'the name of the server');
            return sent.splice(0).map((one) => one.version);
          };
          try {
            const others = {ids: ['e9'], made: 7, deltas: [about(1, 6), about(2, 7)]};
            const next = {ids: [], made: 8, deltas: []};
            equal(await versions(others, next), [5, 5], 'somebody came in between');
            const own = {ids: ['e9'], made: 6, deltas: [about(1, 6)]};
            equal(await versions(own, next), [5, 6], 'its own work alone');
            const later = {ids: ['e9'], made: 6, deltas: [about(1, 6), about(2, 7)]};
            equal(await versions(later, next), [5, 6], 'somebody came after it');
          } finally {
            window.fetch = real;
          }
        }""",
    )


def test_text_is_readable_on_every_colour(run: Run) -> None:
    run(
        "colours",
        """({contrast, inkOn, mixed}) => {
          near(contrast('#000000', '#ffffff'), 21, 'most');
          equal(mixed('#ff0000', '#0000ff', 0.5), '#800080', 'mixed');
          for (let i = 0; i < 2000; i++) {
            const colour = `#${Math.floor(random() * 2 ** 24).toString(16).padStart(6, '0')}`;
            if (contrast(colour, inkOn(colour)) < 4.5) throw new Error(colour);
          }
        }""",
    )


def test_thousands_of_narrow_segments_are_one_row_of_pixels(run: Run) -> None:
    run(
        "blocks",
        """async ({Looks, PixelRow, paintBlocks}) => {
          const {IntervalIndex} = await import('http://page.test/intervals.js');
          const colours = ['#ff0000', '#00ff00', '#0000ff', '#ffff00'];
          const looks = new Looks((label) => ({colour: colours[label]}), '#000000', 1);
          const items = [];
          for (let at = 0; at < 1000; at += random() * 0.6) {
            const end = at + random() * 0.6;
            items.push({label: Math.floor(random() * 4), start: at, end});
            at = end;
          }
          const canvas = document.createElement('canvas');
          Object.assign(canvas, {width: 500, height: 20});
          const context = canvas.getContext('2d', {willReadFrequently: true});
          let n_calls = 0;
          for (const name of ['fillRect', 'fill', 'drawImage', 'fillText']) {
            const call = context[name].bind(context);
            context[name] = (...words) => (n_calls++, call(...words));
          }
          const lane = {top: 0, height: 20};
          const style = {looks, row: new PixelRow(), selected: null, ink: '#000000', dots: 1};
          const view = {start: 100, end: 900, width: 500};
          paintBlocks(context, lane, new IntervalIndex(items), style, view);
          equal(n_calls, 1, 'calls');
          const {data} = context.getImageData(0, 10, 500, 1);
          const at = (x) => 100 + (x / 500) * 800;
          for (let x = 0; x < 500; x++) {
            const here = items.filter((one) => one.start < at(x + 1) && one.end > at(x));
            const bytes = [...data.slice(4 * x, 4 * x + 3)];
            const colour = `#${bytes.map((one) => one.toString(16).padStart(2, '0')).join('')}`;
            const seen = data[4 * x + 3] ? colour : null;
            const may = here.map((one) => colours[one.label]);
            if (seen ? !may.includes(seen) : here.length > 1) throw new Error(`${x}: ${seen}`);
          }
        }""",
    )


def test_a_job_does_not_go_back(run: Run) -> None:
    run(
        "jobs",
        """({isFurther}) => {
          const order = [['queued'], ['running'], ['done', 'failed', 'cancelled']];
          order.forEach((some, i) => order.forEach((others, k) => some.forEach(
            (state) => others.forEach((other) => equal(
              isFurther({state}, {state: other}), i > k, `${state} after ${other}`,
            )),
          )));
        }""",
    )


def test_times_of_the_ruler_are_whole(run: Run) -> None:
    run(
        "paint",
        """({paintLanes}) => {
          const canvas = document.createElement('canvas');
          const context = canvas.getContext('2d');
          const ends = [];
          context.fillText = (text, x) => ends.push(x + context.measureText(text).width);
          const lanes = [{name: 'ruler', top: 0, height: 20}];
          const scene = {colours: {}, lanes, height: 20, classes: [], isHinting: false};
          for (let width = 300; width < 1200; width++) {
            const view = {start: 0, end: 12 * 3600 + 7, width};
            paintLanes(context, scene, view);
            paintLanes(context, scene, {start: 36000, end: 36000 + width / 2000, width});
            if (Math.max(...ends) > width) throw new Error(`${width}: ${Math.max(...ends)}`);
            ends.length = 0;
          }
        }""",
    )


def test_a_project_is_led_from_step_to_step(run: Run) -> None:
    run(
        "guide",
        """({nextStep}) => {
          const video = (more) => ({
            name: 'a b', n_clicks: 0, n_segments: 0, has_features: false, uncertainty: null,
            ...more,
          });
          const clicked = {n_clicks: 3};
          const seen = {...clicked, has_features: true};
          const step = (videos, runs = [], jobs = []) => nextStep({
            videos: videos.map(video), runs, jobs, next: null,
          });
          equal(step([]).kind, 'videos', 'nothing');
          equal(step([{}, {}]).kind, 'clicks', 'new videos');
          equal(step([{}, {}]).href, '#/annotate/a%20b', 'address');
          equal(step([clicked, {}, {}]).kind, 'clicks', 'one is not enough');
          equal(step([clicked]).kind, 'extract', 'unless there is only one');
          equal(step([seen, seen, {}]).kind, 'extract', 'a video without features');
          equal(step([seen, seen]).kind, 'train', 'no model');
          equal(step([seen, seen, {missing: true}]).kind, 'train', 'no file, no features');
          const busy = step([seen, seen], [], [{kind: 'train', state: 'running'}]);
          equal([busy.kind, busy.href, busy.isBusy], ['train', '#/jobs', true], 'training');
          equal(step([seen, seen], [{finished: false}]).kind, 'train', 'unfinished');
          equal(step([seen, seen], [{finished: true}]).kind, 'segment', 'no predictions');
          const predicted = {...seen, uncertainty: 0.2};
          equal(step([predicted, seen], [{finished: true}]).kind, 'review', 'predictions');
        }""",
    )


def test_keys_with_option_of_a_mac_are_known(run: Run) -> None:
    run(
        "keys",
        """({keyName}) => {
          const name = (key, code, more = {}) => keyName(
            new KeyboardEvent('keydown', {key, code, altKey: true, ...more}));
          equal(name('ß', 'KeyS'), 'Alt+s', 'Option S');
          equal(name('º', 'Digit0'), 'Alt+0', 'Option 0');
          equal(name('Í', 'KeyS', {shiftKey: true}), 'Alt+Shift+S', 'with Shift');
          equal(name('[', 'Digit5'), '[', 'German [');
          equal(name('s', 'KeyS'), 'Alt+s', 'elsewhere');
          equal(name('ArrowLeft', 'ArrowLeft'), 'Alt+ArrowLeft', 'no sign');
          equal(name('Alt', 'AltLeft'), '', 'alone');
          equal(name('[', 'BracketLeft', {altKey: false}), '[', 'without');
        }""",
    )


def test_a_class_of_this_project_keeps_its_key_from_commands(run: Run) -> None:
    """Keys of commands belong to the browser, and may have been chosen in another project."""
    run(
        "keys",
        """({bindings, commandOf, rebind, titleOf}) => {
          const q = [{name: 'reach', key: 'Q'}];
          equal(rebind('split', 'q', []), null, 'chosen in another project');
          equal(commandOf('q', []).id, 'split', 'where no class has it');
          equal(commandOf('q', q), null, 'the key of a class');
          equal(commandOf('b', q).id, 'split', 'its usual key instead');
          equal(titleOf('split', q), 'Split the segment here (B)', 'and says so');
          const both = [...q, {name: 'pour', key: 'b'}];
          equal(bindings(both).split, [], 'both are taken');
          equal(titleOf('split', both), 'Split the segment here', 'no key to name');
          equal(bindings(both).delete, ['Backspace', 'Delete'], 'others keep theirs');
          equal(rebind('split', 'x', both), null, 'it gets another');
          equal(commandOf('x', both).id, 'split', 'which works');
          equal(rebind('loop', 'b', []), null, 'free: split has x');
          equal(bindings([{name: 'turn', key: 'x'}]).split, [], 'its usual key went to another');
          localStorage.clear();
        }""",
    )


def test_the_docs_name_every_key(run: Run) -> None:
    rows = run(
        "commands",
        """async ({COMMANDS}) => {
          const {keyText} = await import('http://page.test/keys.js');
          return COMMANDS.map(({title, keys}) => [keys.map(keyText).join(' or '), title]);
        }""",
    )
    text = (Path(__file__).parents[2] / "docs" / "annotating.md").read_text()
    assert [row for row in rows if f"| `{row[0]}` | {row[1]} |" not in text] == []
