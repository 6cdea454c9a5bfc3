"""How quick the app's server is: many clients at once on a large project.

    python benchmarks/web_load.py [--clients 50] [--videos 500] [--segments 5000] [--seconds 30]

Makes a project of `--videos` videos, one of them two hours long with `--segments` segments, and
serves it on loopback. Every client acts as a page: it listens to the news, and about once a second
(evenly spread between half and one and a half `--pause`) it makes one of these requests in turn:

- `change`: moves the end of a segment of its own in the long video, and gets the delta;
- `look`: asks what is new in the long video since the state it has;
- `open`: opens the whole long video, with all segments, as a new page does;
- `small`: opens one of the short videos;
- `list`: asks for the list of all videos, with the ETag of the list it has;
- `picture`: asks for a film strip of six pictures that another client may have seen.

When the news says that the list has changed, it asks for it, at most once in a quarter of a second,
as the page does; that counts as `list`. Prints the 50th, 95th and 99th percentile of each kind, the
CPU time of the server, and whether the 95th percentile of all stays below 100 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import httpx
import numpy as np

from uvast.exchange import Event, VideoAnnotations
from uvast.features.encode import video_writer
from uvast.projects import Project
from uvast.projects.videos import ProjectVideo, write_videos

HOURS = 2
LIMIT = 100.0
PICTURES_SECONDS = 60
N_STRIPS = 20


def make_project(folder: Path, n_videos: int, n_segments: int) -> Project:
    """A project that lists missing videos, except for the first clip, which has pictures."""
    folder.mkdir()
    names = ["long", *(f"clip {number:03d}" for number in range(1, n_videos))]
    videos = [
        ProjectVideo(
            name=name,
            path=folder / "videos" / f"{name}.mp4",
            n_bytes=1,
            fingerprint=f"{number:064d}",
            seconds=3600.0 * HOURS if number == 0 else float(PICTURES_SECONDS),
            n_frames=30 * 3600 * HOURS if number == 0 else 10 * PICTURES_SECONDS,
            frames_per_second=30.0 if number == 0 else 10.0,
            codec="h264",
            width=320,
            height=240,
        )
        for number, name in enumerate(names)
    ]
    (folder / "videos").mkdir()
    with video_writer(videos[1].path, width=320, height=240, rate=10, key_seconds=2) as write:
        for number in range(10 * PICTURES_SECONDS):
            write(np.full((240, 320, 3), number % 250, np.uint8), number / 10)
    write_videos(folder, videos)
    project = Project.open(folder)
    length = 3600.0 * HOURS / n_segments
    events = tuple(
        Event(f"action {number % 12}", number * length, (number + 0.9) * length)
        for number in range(n_segments)
    )
    project.write_annotations(VideoAnnotations("long", events))
    for name in names[1:]:
        clicks = tuple(Event(f"action {number}", 5.0 * number) for number in range(10))
        project.write_annotations(VideoAnnotations(name, clicks))
    return project


class Page:
    """One client.

    Args:
        client: its connections.
        number: the client's number.
        n_segments: the segments of the long video.
    """

    def __init__(self, client: httpx.AsyncClient, number: int, n_segments: int) -> None:
        self._client = client
        self._number = number
        self._length = 3600.0 * HOURS / n_segments
        self._mine = number * (n_segments // 100)
        self._chance = random.Random(number)
        self._stamp = 0
        self._mark = ""
        self._list_is_old = asyncio.Event()
        self.found: list[tuple[str, float, int]] = []
        self.n_heard = 0

    async def work(self, until: float, pause: float) -> None:
        """Makes requests in turn."""
        kinds = (self._change, self._look, self._open, self._small, self._list, self._picture)
        await asyncio.sleep(self._chance.random() * pause)
        await self._open()
        place = self._number
        while time.perf_counter() < until:
            await kinds[place % len(kinds)]()
            place += 1
            await asyncio.sleep(pause * self._chance.uniform(0.5, 1.5))

    async def listen(self) -> None:
        """Listens to the news until it is cancelled."""
        async with self._client.stream("GET", "/api/events", timeout=None) as news:
            async for line in news.aiter_lines():
                if line.startswith("data: "):
                    self.n_heard += 1
                    if '"project"' in line or '"reload"' in line:
                        self._list_is_old.set()

    async def follow(self) -> None:
        """Asks for the list when it has changed, until it is cancelled."""
        while True:
            await self._list_is_old.wait()
            await asyncio.sleep(0.25)
            self._list_is_old.clear()
            await self._list()

    async def _timed(
        self, kind: str, method: str, address: str, **options: object
    ) -> httpx.Response:
        began = time.perf_counter()
        answer = await self._client.request(method, address, **options)  # type: ignore[arg-type]
        self.found.append((kind, time.perf_counter() - began, answer.status_code))
        return answer

    async def _change(self) -> None:
        start = self._mine * self._length
        end = start + self._length * self._chance.uniform(0.3, 0.9)
        change = {"do": "move", "id": f"e{self._mine + 1}", "start": start, "end": end}
        about = {"version": 10**6, "author": str(self._number), "stamp": self._stamp}
        body = {**about, "changes": [change]}
        answer = await self._timed("change", "POST", "/api/videos/long/changes", json=body)
        self._take(answer.json())

    async def _look(self) -> None:
        address = f"/api/videos/long?since={self._stamp}"
        self._take((await self._timed("look", "GET", address)).json())

    async def _open(self) -> None:
        # not parsed: 5,000 segments of JSON would keep this process busy, not the server
        answer = await self._timed("open", "GET", "/api/videos/long")
        self._stamp = int(answer.headers["etag"].strip('"'))

    async def _small(self) -> None:
        await self._timed("small", "GET", f"/api/videos/clip {2 + self._number:03d}")

    async def _list(self) -> None:
        headers = {"if-none-match": self._mark}
        answer = await self._timed("list", "GET", "/api/project", headers=headers)
        self._mark = answer.headers["etag"]

    async def _picture(self) -> None:
        start = self._chance.randrange(N_STRIPS)
        address = f"/strip/clip 001?start={start}&end={start + 30}&n=6&width=96"
        await self._timed("picture", "GET", address)

    def _take(self, answer: dict[str, list[dict[str, int]]]) -> None:
        if answer.get("deltas"):
            self._stamp = answer["deltas"][-1]["stamp"]


async def measure(
    address: str, token: str, n_clients: int, seconds: float, pause: float, n_segments: int
) -> list[Page]:
    """Runs all clients at once."""
    limits = httpx.Limits(max_connections=3 * n_clients)
    headers = {"x-uvast-token": token}
    async with httpx.AsyncClient(
        base_url=address, headers=headers, limits=limits, timeout=60
    ) as client:
        pages = [Page(client, number, n_segments) for number in range(n_clients)]
        beside = [asyncio.create_task(one.listen()) for one in pages]
        beside += [asyncio.create_task(one.follow()) for one in pages]
        until = time.perf_counter() + seconds
        await asyncio.gather(*(one.work(until, pause) for one in pages))
        for task in beside:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    return pages


def cpu_seconds(process: int) -> float:
    """The CPU time that a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def say(pages: list[Page], seconds: float, cpu: float) -> None:
    """Prints one line per kind, and the verdict."""
    rows = [row for page in pages for row in page.found]
    for kind in sorted({kind for kind, _, _ in rows}):
        taken = [1000 * one for other, one, _ in rows if other == kind]
        middle, most, nearly_all = np.percentile(taken, [50, 95, 99])
        print(
            f"{kind:8} {len(taken):6} requests, p50 {middle:6.1f} ms, p95 {most:6.1f} ms, "
            f"p99 {nearly_all:6.1f} ms"
        )
    p95 = float(np.percentile([1000 * one for _, one, _ in rows], 95))
    answers = json.dumps(Counter(str(status) for _, _, status in rows))
    print(f"all      {len(rows):6} requests, answers {answers}")
    n_heard = sum(page.n_heard for page in pages)
    print(
        f"server: {100 * cpu / seconds:.0f} % of a core, {1000 * cpu / len(rows):.1f} ms of CPU a "
        f"request, news included; {n_heard} news heard"
    )
    verdict = "below" if p95 < LIMIT else "ABOVE"
    print(f"p95 of all requests {p95:.1f} ms: {verdict} {LIMIT:.0f} ms")


def main() -> None:
    """Serves, measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--videos", type=int, default=500)
    parser.add_argument("--segments", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between requests")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder) / "project", options.videos, options.segments)
        began = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "uvast", "app", str(project.path), "--no-open"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            line = server.stdout.readline() if server.stdout else ""
            link = re.search(r"(http://[^/]+)/\?token=(\S+)", line)
            assert link is not None, line
            print(f"ready after {time.perf_counter() - began:.1f} s")
            used = cpu_seconds(server.pid)
            pages = asyncio.run(
                measure(
                    link[1],
                    link[2],
                    options.clients,
                    options.seconds,
                    options.pause,
                    options.segments,
                )
            )
            say(pages, options.seconds, cpu_seconds(server.pid) - used)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


if __name__ == "__main__":
    main()
