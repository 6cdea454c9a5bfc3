"""The app in a thread on a free port, videos that tell their frames, and what a page shows."""

from __future__ import annotations

import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import uvicorn
from playwright.sync_api import Page, Route, expect

from uvast.features.encode import video_writer
from uvast.projects import Project
from uvast.web.app import App
from uvast.web.changes import Add
from uvast.web.classes import ClassChange
from uvast.web.routes.videos import scene_of
from uvast.web.security import Door
from uvast.web.server import make_asgi
from uvast.web.serving import listen

DESKTOP, PHONE = (1440, 900), (390, 844)

Opener = Callable[..., Page]

N_BITS = 12
SIDE = 16
RATE = 25


def numbered_picture(number: int) -> np.ndarray[Any, Any]:
    """The number in binary squares, the smallest bit on the left, over a moving shade."""
    picture = np.full((3 * SIDE, N_BITS * SIDE, 3), (number * 3) % 90, np.uint8)
    for bit in range(N_BITS):
        colour = 235 if number >> bit & 1 else 15
        picture[SIDE : 2 * SIDE, bit * SIDE : (bit + 1) * SIDE] = colour
    return picture


def write_binary(path: Path, times: list[float]) -> None:
    """An H.264 video whose pictures tell their number."""
    with video_writer(
        path, width=N_BITS * SIDE, height=3 * SIDE, rate=RATE, key_seconds=2
    ) as write:
        for number, seconds in enumerate(times):
            write(numbered_picture(number), seconds)


def write_avi(path: Path, n_frames: int) -> None:
    """MPEG-4 part 2, which browsers do not play."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(RATE))
        stream.width, stream.height, stream.pix_fmt = N_BITS * SIDE, 3 * SIDE, "yuv420p"
        for number in range(n_frames):
            frame = av.VideoFrame.from_ndarray(numbered_picture(number), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def even(n_frames: int) -> list[float]:
    return [number / RATE for number in range(n_frames)]


def uneven(n_frames: int) -> list[float]:
    """Every third frame lasts three times as long."""
    return np.cumsum([0.0, *[0.12 if i % 3 == 0 else 0.04 for i in range(n_frames - 1)]]).tolist()


def make_page_project(folder: Path) -> Project:
    """Videos of even and uneven rates, and one that browsers do not play."""
    source = folder / "source"
    source.mkdir()
    write_binary(source / "even.mp4", even(200))
    write_binary(source / "uneven.mp4", uneven(90))
    write_avi(source / "old.avi", 60)
    return Project.create(folder / "project", [source])[0]


@dataclass(frozen=True)
class Served:
    """A running app."""

    app: App


@contextmanager
def served(project: Project, port: int = 0) -> Iterator[Served]:
    """The real server, with real jobs, in a thread."""
    with listen("127.0.0.1", port) as listener:
        door = Door.new("127.0.0.1", listener.getsockname()[1])
        app = App(project, door, "anna")
        server = uvicorn.Server(
            uvicorn.Config(make_asgi(app), log_level="critical", timeout_graceful_shutdown=1)
        )
        app.news.is_over = lambda: server.should_exit
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Served(app)
        finally:
            server.should_exit = True
            thread.join()


def copied(project: Project, folder: Path) -> Project:
    shutil.copytree(project.path, folder)
    return Project.open(folder)


def until(page: Page, expression: str, seconds: float = 60.0) -> None:
    """Waits until an expression holds; the page's own policy forbids Playwright's way to."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"not after {seconds} s: {expression}"
        page.wait_for_timeout(40)


SCENE = "document.querySelector('.timeline')?.timeline"
READY = (
    f"{SCENE}?.seconds > 0 && document.querySelector('.class-list *')"
    " && document.querySelector('.screen')?.dataset.busy == 'no'"
)
"""A video is there, and takes keys."""


class Held:
    """Requests of a page that wait until they are let go.

    Args:
        page: whose they are.
        pattern: of their addresses.
        answered: whether the server has answered, and its answers wait.
    """

    def __init__(self, page: Page, pattern: str, *, answered: bool = False) -> None:
        self._page = page
        self._answered = answered
        self._waiting: list[Callable[[], None]] = []
        self.is_open = False
        page.route(pattern, self._take)

    def _take(self, route: Route) -> None:
        if self.is_open:
            route.continue_()
        elif self._answered:
            answer = route.fetch()
            self._waiting.append(lambda: route.fulfill(response=answer))
        else:
            self._waiting.append(route.continue_)

    def wait(self, seconds: float = 60.0) -> None:
        """Until there is one."""
        end = time.monotonic() + seconds
        while not self._waiting:
            assert time.monotonic() < end, f"nobody asked in {seconds} s"
            self._page.wait_for_timeout(40)

    def let_go(self) -> None:
        """All that wait, and all that come."""
        self.is_open = True
        self.let_one_go(len(self._waiting))

    def let_one_go(self, n: int = 1) -> None:
        """The first ones."""
        for go in [self._waiting.pop(0) for _ in range(n)]:
            go()


def lane(page: Page, name: str) -> list[tuple[Any, ...]]:
    """What a lane of the timeline holds: labels and times."""
    items = f"{SCENE}.scene.{name}.items ?? {SCENE}.scene.{name}"
    shown = f"({items}).map((one) => [one.label, one.start, one.end])"
    return [tuple(one) for one in page.evaluate(shown)]


def place(page: Page, seconds: float, name: str) -> tuple[float, float]:
    """Where a moment of a lane is on the page."""
    found = page.evaluate(f"{SCENE}.placeOf({seconds}, '{name}')")
    return found["x"], found["y"]


READ_NUMBER = """() => {
  const picture = document.querySelector('.screen .exact:not([hidden])');
  const source = picture ?? document.querySelector('.screen video');
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [12 * 16, 3 * 16];
  const context = canvas.getContext('2d', {willReadFrequently: true});
  context.drawImage(source, 0, 0, canvas.width, canvas.height);
  let number = 0;
  for (let bit = 0; bit < 12; bit++) {
    if (context.getImageData(bit * 16 + 8, 24, 1, 1).data[0] > 127) number |= 1 << bit;
  }
  return {number, borrowed: Boolean(picture)};
}"""


def add_classes(app: Served, *names: str) -> None:
    for name in names:
        app.app.store.change_classes(ClassChange(do="add", name=name), "anna")


def add_events(app: Served, *events: tuple[str, float, float | None], video: str = "even") -> None:
    """Clicks, and segments where there is an end."""
    adds = [
        Add(do="add", kind="click" if end is None else "segment", label=label, start=start, end=end)
        for label, start, end in events
    ]
    app.app.store.change(video, adds, "anna", seen=0, scene=scene_of(app.app, video))


def clicks(app: Served, video: str = "even") -> list[tuple[str, float]]:
    return [(one.event.label, one.event.start) for one in app.app.store.document(video).clicks]


def segments(app: Served, video: str = "even") -> list[tuple[str, float, float | None]]:
    items = app.app.store.document(video).segments
    return [(one.event.label, one.event.start, one.event.end) for one in items]


def saved(page: Page) -> None:
    expect(page.locator(".saved")).to_have_text("saved")


def player(page: Page, what: str) -> float:
    """A number of the timeline, such as the moment of its playhead."""
    return float(page.evaluate(f"{SCENE}.{what}"))


def dropped(page: Page, key: str, seconds: float) -> tuple[float, float]:
    """Presses a key while playing; the moments just before and after it."""
    until(page, f"{SCENE}.head.seconds >= {seconds}")
    before = player(page, "head.seconds")
    page.keyboard.press(key)
    after = player(page, "head.seconds")
    until(page, f"{SCENE}.head.seconds > {after}")  # it plays on
    return before, after


def go_to(page: Page, frame: int) -> None:
    page.keyboard.press("g")
    page.keyboard.type(f"#{frame}")
    page.keyboard.press("Enter")


def shown_number(page: Page, wanted: int) -> int:
    """What the picture tells, once the page says to be there."""
    expect(page.locator(".controls .time")).to_have_text(re.compile(f" · {wanted}$"))
    until(page, "document.querySelector('.screen').dataset.busy == 'no'")
    return int(page.evaluate(READ_NUMBER)["number"])


def predict(app: Served, *found: tuple[str, int, int], video: str = "even") -> None:
    """A prediction at ten frames a second, as `uvast segment` leaves it."""
    segments = [
        {"label": label, "start": start, "end": end, "confidence": 0.9}
        for label, start, end in found
    ]
    folder = app.app.project.path / "predictions"
    folder.mkdir(exist_ok=True)
    value = {"segments": segments, "frames_per_second": 10, "run": "runs/1"}
    (folder / f"{video}.json").write_text(json.dumps(value))
