"""The page in a real browser: 200 random seeks, and the timeline with 5,000 segments.

    python benchmarks/page.py [timeline]

Prints how many seeks showed the right frame and how many of them needed the server's picture, and
the main thread's time for each frame while a two-hour timeline is zoomed, scrolled and played. The
time by the clock means something only on an idle machine; processor time comes from the browser's
own trace. `timeline` skips the seeks.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from web_page import READ_NUMBER, Served, make_page_project, served, until

from conftest import QUIET

N_SEEKS = 200
N_SEGMENTS = 5000
N_DRAWN = 300
SEEK = """(seconds) => {
  document.querySelector('.timeline').timeline.handlers.seek(seconds);
}"""
SHOW = """(n) => {
  const timeline = document.querySelector('.timeline').timeline;
  const labels = Array.from({length: n}, (_, i) => ({
    id: `e${i}`, kind: 'segment', label: ['reach', 'pour', 'cut'][i % 3],
    start: i * 1.44, end: (i + 1) * 1.44,
  }));
  const click = (one) => ({...one, id: `c${one.id}`, start: one.start + 0.7, end: null});
  const clicks = labels.map(click);
  const events = [...labels, ...clicks].sort((a, b) => a.start - b.start);
  const probability = Array.from({length: 36000}, (_, i) => (i % 97) / 97);
  const prediction = {segments: labels, band: {step: 0.2, probability}};
  const state = {events, observed: null, seconds: 7200, pseudo: labels, prediction};
  const colours = {reach: '#2f9bff', pour: '#ff7f3f', cut: '#5b2a8c'};
  const classOf = (label) => ({colour: colours[label], key: label[0]});
  timeline.show(state, {selected: 'e9', draft: null, strip: null, classOf, classes: []});
}"""
DRAW = """async ({n, playing}) => {
  const timeline = document.querySelector('.timeline').timeline;
  const draw = timeline.draw.bind(timeline);
  const times = [];
  timeline.draw = () => {
    const before = performance.now();
    draw();
    times.push(performance.now() - before);
  };
  for (let i = 0; i < n; i++) {
    if (playing) timeline.setHead(i / 25, null, false);
    else {
      timeline.zoom(i % 60 < 30 ? 1.2 : 1 / 1.2, 3600);
      timeline.pan(Math.sin(i) * 20);
    }
    await new Promise(requestAnimationFrame);
  }
  delete timeline.draw;
  return times;
}"""
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline"]


def measure_seeks(page: Page, app: Served, video: str, n_frames: int) -> None:
    """Seeks at random and reads the number in the picture."""
    page.goto(f"{app.app.door.address}/#/annotate/{video}")
    until(page, "document.querySelector('.screen')?.dataset.busy == 'no'")
    times = app.app.media.table(video)
    right = borrowed = 0
    for frame in np.random.default_rng(1).integers(n_frames, size=N_SEEKS).tolist():
        page.evaluate(SEEK, float(times[frame]))
        until(page, "document.querySelector('.screen').dataset.busy == 'no'")
        found = page.evaluate(READ_NUMBER)
        right += found["number"] == frame
        borrowed += found["borrowed"]
    print(f"{video}: {right} of {N_SEEKS} seeks right, {borrowed} by the server's picture")


def measure_timeline(browser: Browser, page: Page) -> None:
    """Zooms and scrolls through two hours, then plays, one browser frame at a time."""
    page.evaluate(SHOW, N_SEGMENTS)
    for what, playing in (("zooming and scrolling", False), ("playing", True)):
        browser.start_tracing(page=page, categories=TRACED)
        drawn = np.array(page.evaluate(DRAW, {"n": N_DRAWN, "playing": playing}))
        tasks = frame_tasks(browser.stop_tracing())
        print(f"{what}, {N_SEGMENTS} segments in each of three lanes and {N_SEGMENTS} clicks:")
        print(f"  drawing, by the clock: {_spread(drawn)}")
        print(f"  main thread, processor time of the whole frame: {_spread(tasks)}")


def frame_tasks(trace: bytes) -> np.ndarray[Any, Any]:
    """Milliseconds of processor time of each main-thread task that drew a frame."""
    events = json.loads(trace)["traceEvents"]
    frames = [one for one in events if one["name"] == "FireAnimationFrame"]
    tasks = [one for one in events if one["name"] == "RunTask" and "tdur" in one]
    found = {
        task["ts"]: task["tdur"] / 1000
        for frame in frames
        for task in tasks
        if task["tid"] == frame["tid"]
        and task["pid"] == frame["pid"]
        and task["ts"] <= frame["ts"] < task["ts"] + task["dur"]
    }
    return np.array(list(found.values()))


def _spread(times: np.ndarray[Any, Any]) -> str:
    return (
        f"median {np.median(times):.2f} ms, 95 % {np.percentile(times, 95):.2f} ms, "
        f"worst {times.max():.2f} ms of {len(times)} frames"
    )


def main() -> None:
    """Measures everything."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        project = make_page_project(Path(folder))
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(QUIET))
        with served(project) as app:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(app.app.door.link)
            if "timeline" not in sys.argv[1:]:
                measure_seeks(page, app, "even", 200)
                measure_seeks(page, app, "uneven", 90)
            page.goto(f"{app.app.door.address}/#/annotate/even")
            until(page, "document.querySelector('.timeline')?.timeline.seconds > 0")
            measure_timeline(browser, page)
            browser.close()


if __name__ == "__main__":
    main()
