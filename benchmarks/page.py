"""The page in a real browser: 200 random seeks, and the timeline with 5,000 segments.

    python benchmarks/page.py

Prints how many seeks showed the right frame and how many of them needed the server's picture, and
the main thread's time for each frame while a two-hour timeline is zoomed and scrolled.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

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
DRAW = """({n, segments}) => {
  const timeline = document.querySelector('.timeline').timeline;
  const labels = Array.from({length: segments}, (_, i) => ({
    id: `e${i}`, kind: 'segment', label: ['reach', 'pour', 'cut'][i % 3],
    start: i * 1.44, end: (i + 1) * 1.44,
  }));
  const probability = Array.from({length: 36000}, (_, i) => (i % 97) / 97);
  const prediction = {segments: labels, band: {step: 0.2, probability}};
  const state = {events: labels, observed: null, seconds: 7200, pseudo: labels, prediction};
  const {classOf} = timeline.scene;
  timeline.show(state, {selected: 'e9', draft: null, strip: null, classOf});
  const times = [];
  for (let i = 0; i < n; i++) {
    timeline.zoom(i % 60 < 30 ? 1.2 : 1 / 1.2, 3600);
    timeline.pan(Math.sin(i) * 20);
    const before = performance.now();
    timeline.stale = true;
    timeline.draw();
    times.push(performance.now() - before);
  }
  return times;
}"""


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


def measure_timeline(page: Page) -> None:
    """Draws the timeline of two hours at many zooms."""
    times = np.array(page.evaluate(DRAW, {"n": N_DRAWN, "segments": N_SEGMENTS}))
    print(
        f"timeline of {N_SEGMENTS} segments in three lanes: median {np.median(times):.2f} ms, "
        f"95 % {np.percentile(times, 95):.2f} ms, worst {times.max():.2f} ms a frame"
    )


def main() -> None:
    """Measures everything."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        project = make_page_project(Path(folder))
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=list(QUIET))
        with served(project) as app:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(app.app.door.link)
            measure_seeks(page, app, "even", 200)
            measure_seeks(page, app, "uneven", 90)
            measure_timeline(page)
            browser.close()


if __name__ == "__main__":
    main()
