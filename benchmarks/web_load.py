"""How quick the app's server is: many clients at once on a large project.

    python benchmarks/web_load.py [--clients 50] [--videos 500] [--segments 5000] [--seconds 20]

Makes a project of so many videos, one of them two hours long with so many segments, serves it on
loopback, and lets every client edit that video and look at the list, a request every second or so,
as people do. Prints the 50th, 95th and 99th percentile of each kind of request.
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
from pathlib import Path

import httpx
import numpy as np

from uvast.exchange import Event, VideoAnnotations
from uvast.projects import Project
from uvast.projects.videos import ProjectVideo, write_videos

HOURS = 2


def make_project(folder: Path, n_videos: int, n_segments: int) -> Project:
    """Videos that are listed and not there: nothing of the measured requests reads them."""
    folder.mkdir()
    names = ["long", *(f"clip {number:03d}" for number in range(1, n_videos))]
    videos = [
        ProjectVideo(
            name=name,
            path=folder / "videos" / f"{name}.mp4",
            n_bytes=1,
            fingerprint=f"{number:064d}",
            seconds=3600.0 * HOURS if number == 0 else 60.0,
            n_frames=30 * 3600 * HOURS if number == 0 else 1800,
            frames_per_second=30.0,
            codec="h264",
            width=640,
            height=480,
        )
        for number, name in enumerate(names)
    ]
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


async def work(
    client: httpx.AsyncClient, number: int, until: float, pause: float, n_segments: int
) -> list[tuple[str, float, int]]:
    """One person: moves an edge of a segment of their own, and looks at the list now and then."""
    chance = random.Random(number)
    found: list[tuple[str, float, int]] = []
    length = 3600.0 * HOURS / n_segments
    await asyncio.sleep(chance.random() * pause)
    while time.perf_counter() < until:
        mine = number * (n_segments // 100)
        start = mine * length
        move = {"do": "move", "id": f"e{mine + 1}", "start": start}
        change = {**move, "end": start + length * chance.uniform(0.3, 0.9)}
        for kind, call in (
            (
                "change",
                _post(client, {"version": 10**6, "author": str(number), "changes": [change]}),
            ),
            ("video", client.get("/api/videos/long")),
            ("small video", client.get(f"/api/videos/clip {1 + number:03d}")),
            ("list", client.get("/api/project")),
        ):
            began = time.perf_counter()
            answer = await call
            found.append((kind, time.perf_counter() - began, answer.status_code))
            await asyncio.sleep(pause * chance.uniform(0.5, 1.5))
    return found


def _post(client: httpx.AsyncClient, value: object) -> object:
    return client.post("/api/videos/long/changes", json=value)


async def measure(
    address: str, token: str, n_clients: int, seconds: float, pause: float, n_segments: int
) -> list[tuple[str, float, int]]:
    """All clients at once."""
    limits = httpx.Limits(max_connections=n_clients, max_keepalive_connections=n_clients)
    headers = {"x-uvast-token": token}
    async with httpx.AsyncClient(
        base_url=address, headers=headers, limits=limits, timeout=60
    ) as client:
        await client.get("/api/project")
        until = time.perf_counter() + seconds
        done = await asyncio.gather(
            *(work(client, number, until, pause, n_segments) for number in range(n_clients))
        )
    return [one for each in done for one in each]


def main() -> None:
    """Serves, measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--videos", type=int, default=500)
    parser.add_argument("--segments", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between requests")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder) / "project", options.videos, options.segments)
        began = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "uvast", "app", str(project.path), "--no-open"],
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        try:
            line = server.stdout.readline() if server.stdout else ""
            link = re.search(r"(http://[^/]+)/\?token=(\S+)", line)
            assert link is not None, line
            print(f"ready after {time.perf_counter() - began:.1f} s")
            rows = asyncio.run(
                measure(
                    link[1],
                    link[2],
                    options.clients,
                    options.seconds,
                    options.pause,
                    options.segments,
                )
            )
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()
    for kind in dict.fromkeys(kind for kind, _, _ in rows):
        taken = [1000 * seconds for one, seconds, _ in rows if one == kind]
        middle, most, nearly_all = np.percentile(taken, [50, 95, 99])
        print(
            f"{kind:12} {len(taken):6} requests, p50 {middle:6.1f} ms, p95 {most:6.1f} ms, "
            f"p99 {nearly_all:6.1f} ms"
        )
    every = [1000 * seconds for _, seconds, _ in rows]
    statuses = {str(status): sum(one == status for _, _, one in rows) for *_, status in rows}
    print(
        f"{'all':12} {len(every):6} requests, p95 {np.percentile(every, 95):6.1f} ms, "
        f"answers {json.dumps(statuses)}"
    )


if __name__ == "__main__":
    main()
