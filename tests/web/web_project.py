"""A small project with videos and features, and a client of its app, without a network."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
from starlette.applications import Starlette

from uvast.features.card import FeatureCard, card_path, write_card
from uvast.features.encode import video_writer
from uvast.projects import Project
from uvast.web.app import App
from uvast.web.security import TOKEN_HEADER, Door
from uvast.web.server import make_asgi

Result = TypeVar("Result")

RATE = 10
N_FRAMES = 60
PORT = 8470
HOST = f"127.0.0.1:{PORT}"


def write_numbered(path: Path, n_frames: int = N_FRAMES, rate: int = RATE) -> Path:
    """A video whose frame i is of a grey that tells i."""
    with video_writer(path, width=32, height=32, rate=rate, quality=1, key_seconds=2) as write:
        for number in range(n_frames):
            write(np.full((32, 32, 3), grey(number), np.uint8), number / rate)
    return path


def grey(number: int) -> int:
    return 40 + 5 * (number % 40)


def write_features(project: Project, name: str, features: np.ndarray[Any, Any]) -> None:
    """Features of one row a tenth of a second."""
    path = project.features_path(name)
    path.parent.mkdir(exist_ok=True)
    np.save(path, features.astype(np.float32))
    n_frames, width = features.shape
    card = FeatureCard(
        model="pixels",
        version=("1",),
        widths=(width,),
        source=str(project.video(name).path),
        source_bytes=1,
        fingerprint="x",
        frames_per_second=float(RATE),
        seconds=n_frames / RATE,
        n_frames=n_frames,
        n_features=width,
        times=tuple(i / RATE for i in range(n_frames)),
        source_frames=tuple(range(n_frames)),
    )
    write_card(card_path(path), card)


def make_project(folder: Path) -> Project:
    """Two videos that play, without labels."""
    videos = folder / "source"
    videos.mkdir()
    write_numbered(videos / "cup.mp4")
    write_numbered(videos / "tea.mp4", 40)
    return Project.create(folder / "project", [videos])[0]


@dataclass(frozen=True)
class Client:
    """Asks the app as the page does."""

    app: App
    asgi: Starlette
    http: httpx.AsyncClient
    loop: asyncio.AbstractEventLoop

    def get(self, address: str, **options: Any) -> httpx.Response:
        return self.send("GET", address, **options)

    def post(self, address: str, value: object = None, **options: Any) -> httpx.Response:
        return self.send("POST", address, json={} if value is None else value, **options)

    def send(
        self, method: str, address: str, *, headers: dict[str, str] | None = None, **options: Any
    ) -> httpx.Response:
        """With the token, unless the headers say otherwise (an empty one is left out)."""
        return self.start(method, address, headers=headers, **options).result()

    def start(
        self, method: str, address: str, *, headers: dict[str, str] | None = None, **options: Any
    ) -> Future[httpx.Response]:
        """As `send`, without waiting for the answer."""
        given = {TOKEN_HEADER: self.app.door.token, "host": HOST, **(headers or {})}
        given = {name: value for name, value in given.items() if value}
        self.http.cookies.clear()
        work = self.http.request(method, address, headers=given, **options)
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """In the loop's own thread: Playwright's runs in this one as long as its browser does."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def change(self, video: str, *changes: dict[str, object], **more: object) -> httpx.Response:
        """Changes of the newest version, by anna."""
        version = self.app.store.document(video).version
        value = {"version": version, "author": "anna", "changes": list(changes), **more}
        return self.post(f"/api/videos/{video}/changes", value)

    def video(self, name: str) -> dict[str, Any]:
        answer = self.get(f"/api/videos/{name}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@contextmanager
def opened(project: Project, static: Path) -> Iterator[Client]:
    """The app of a project; ends without a save by a thread of its own."""
    app = App(project, Door("secret", "127.0.0.1", PORT), "somebody")
    asgi = make_asgi(app, static)
    transport = httpx.ASGITransport(asgi, raise_app_exceptions=False)
    http = httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    client = Client(app, asgi, http, loop)
    try:
        yield client
    finally:
        client.wait(http.aclose())
        client.wait(loop.shutdown_default_executor())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        app.end()


def copied(project: Project, folder: Path) -> Project:
    shutil.copytree(project.path, folder)
    return Project.open(folder)
