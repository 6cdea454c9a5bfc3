"""The server as a process: killed, on a full disk, twice, and with two people at once."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from server_process import Served, rapid_edits, served

from uvast.projects import Project
from uvast.web import serving

CLICK: dict[str, object] = {"do": "add", "kind": "click", "label": "x"}
N_KILLS = 2
"""In CI; `benchmarks/web_crash.py` kills it ten times and more."""


def saw_after(seen: dict[str, float], present: dict[str, float], in_flight: int = 1) -> bool:
    """Whether what is there is what was acknowledged, but for one edit without an answer."""
    return len(seen.items() ^ present.items()) <= in_flight


def test_killed_at_any_moment_nothing_acknowledged_is_lost(project: Project) -> None:
    acknowledged: dict[str, float] = {}
    for round_ in range(N_KILLS):
        with served(project.path) as server, server.client() as client:
            found = client.get("/api/videos/cup").json()["events"]
            present = {one["id"]: one["start"] for one in found}
            assert saw_after(acknowledged, present)
            acknowledged = dict(present)
            killer = threading.Timer(0.3 + 0.4 * round_, server.kill)
            killer.start()
            rapid_edits(client, 200, acknowledged)
            killer.join()
    assert acknowledged
    with served(project.path) as server, server.client() as client:
        found = client.get("/api/videos/cup").json()["events"]
        assert saw_after(acknowledged, {one["id"]: one["start"] for one in found})
        code, said = server.stop()
        assert (code, "Traceback" in said) == (0, False)
    annotations = project.annotations("cup")
    assert annotations is not None
    assert len(annotations.events) == len(found)


def test_answers_are_not_held_back_until_their_heads_have_arrived() -> None:
    async def accepted(listener: socket.socket) -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def look(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            found.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(look, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            writer.close()
            return await found

    # a thread of its own: the browser of other tests keeps an event loop in this one
    with serving.listen("127.0.0.1", 0) as listener, ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: asyncio.run(accepted(listener))).result() != 0


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(project: Project) -> None:
    acknowledged: dict[str, float] = {}
    with served(project.path, largest_file=3000) as server, server.client() as client:
        rapid_edits(client, 60, acknowledged)
        change = {"do": "add", "kind": "click", "label": "x", "start": 5.95}
        value = {"version": 10**6, "changes": [change]}
        answer = client.post("/api/videos/cup/changes", json=value)
        assert answer.status_code == 507
        assert "cannot be written" in answer.json()["error"]
        found = client.get("/api/videos/cup").json()["events"]
        assert {one["id"]: one["start"] for one in found} == acknowledged
        server.kill()
    with served(project.path) as server, server.client() as client:
        found = client.get("/api/videos/cup").json()["events"]
        assert {one["id"]: one["start"] for one in found} == acknowledged
        assert client.post("/api/videos/cup/changes", json=value).status_code == 200


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_is_really_full(project: Project, small_disk: Path) -> None:
    """All edits say why they fail, nothing is broken, and work goes on when there is room."""
    shutil.copytree(project.path, small_disk / "project")
    acknowledged: dict[str, float] = {}
    with served(small_disk / "project") as server, server.client() as client:
        rapid_edits(client, 10, acknowledged)
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 512)
        answers = [
            client.post(
                "/api/videos/cup/changes",
                json={"version": 10**6, "changes": [{**CLICK, "start": 3.05 + number / 10}]},
            )
            for number in range(25)
        ]
        refused = [one for one in answers if one.status_code != 200]
        assert refused
        assert {one.status_code for one in refused} == {507}
        assert "the disk is full" in refused[-1].json()["error"]
        upload = {"content-type": "application/octet-stream", "x-name": "new.mp4"}
        assert client.post("/api/videos", content=b"x", headers=upload).status_code == 507
        time.sleep(2.5)  # saving in the background fails, too
        found = client.get("/api/videos/cup").json()["events"]
        n_more = sum(one.status_code == 200 for one in answers)
        assert len(found) == len(acknowledged) + n_more
        filler.unlink()
        value = {"version": 10**6, "changes": [{**CLICK, "start": 5.95}]}
        assert client.post("/api/videos/cup/changes", json=value).status_code == 200
        expected = client.get("/api/videos/cup").json()["events"]
        assert server.stop()[0] == 0
    with served(small_disk / "project") as server, server.client() as client:
        assert client.get("/api/videos/cup").json()["events"] == expected
    annotations = Project.open(small_disk / "project").annotations("cup")
    assert annotations is not None
    assert len(annotations.events) == len(expected)


def listen(server: Served, heard: queue.Queue[dict[str, object]]) -> None:
    headers = {"x-uvast-token": server.token}
    try:
        with httpx.stream(
            "GET", f"{server.address}/api/events", headers=headers, timeout=30
        ) as news:
            for line in news.iter_lines():
                if line.startswith("retry"):
                    heard.put({"begun": True})
                if line.startswith("data: "):
                    heard.put(json.loads(line.removeprefix("data: ")))
    except httpx.TransportError:
        heard.put({"gone": True})


def test_two_people_see_each_other_and_a_second_server_stays_away(project: Project) -> None:
    heard: queue.Queue[dict[str, object]] = queue.Queue()
    with served(project.path) as server, server.client() as anna, server.client() as ben:
        listener = threading.Thread(target=listen, args=(server, heard))
        listener.start()
        assert heard.get(timeout=30) == {"begun": True}
        change = {"do": "add", "kind": "click", "label": "reach", "start": 1.0}
        value = {"version": 0, "author": "anna", "changes": [change]}
        began = time.monotonic()
        assert anna.post("/api/videos/cup/changes", json=value).status_code == 200
        item = heard.get(timeout=30)
        while item.get("video") != "cup":
            item = heard.get(timeout=30)
        assert item["version"] == 1
        assert time.monotonic() - began < 10
        found = ben.get("/api/videos/cup").json()["events"]
        assert [(one["label"], one["author"]) for one in found] == [("reach", "anna")]
        move = {"do": "move", "id": "e1", "start": 2.0}
        assert ben.post(
            "/api/videos/cup/changes", json={"version": 1, "author": "ben", "changes": [move]}
        ).is_success
        assert (
            anna.post(
                "/api/videos/cup/changes", json={"version": 1, "author": "anna", "changes": [move]}
            ).status_code
            == 409
        )
        second = subprocess.run(
            [sys.executable, "-m", "uvast", "app", str(project.path), "--no-open"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert second.returncode == 2
        assert f"is open in the app already, at {server.address}" in second.stderr
        assert server.stop()[0] == 0
        listener.join(timeout=30)
    assert not (project.path / "app" / "server.json").exists()
