"""`uvast app` as a process, asked over the network, and killed."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

_LINK = re.compile(r"(http://[^/]+)/\?token=(\S+)")


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[str]
    address: str
    token: str
    largest_file: int | None = None

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        headers = {"x-uvast-token": self.token}
        with httpx.Client(base_url=self.address, headers=headers, timeout=60) as client:
            yield client

    def stop(self) -> tuple[int, str]:
        """By Ctrl-C: the exit code, and what it said."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def served(
    project: Path, *, largest_file: int | None = None, seconds: float = 120
) -> Iterator[Served]:
    """A server of its own, killed after some seconds.

    `largest_file` is the most bytes that any file of it may have.
    """

    def limit() -> None:
        # a write beyond the limit is an error, not the end of the process
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

    process = subprocess.Popen(
        [sys.executable, "-m", "uvast", "app", str(project), "--no-open", "--author", "anna"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=limit,
    )
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        link = _LINK.search(line)
        assert link is not None, (line, process.communicate())
        yield Served(process, link[1], link[2], largest_file)
    finally:
        timer.cancel()
        if process.poll() is None:
            process.kill()
        process.communicate()


def rapid_edits(
    client: httpx.Client, n_edits: int, acknowledged: dict[str, float], video: str = "cup"
) -> None:
    """Adds, moves and deletes until it is done or the server is gone.

    `acknowledged` has the events that the server said it has, by id, after every answer.
    """
    for number in range(n_edits):
        changes: list[dict[str, object]] = [
            {"do": "add", "kind": "click", "label": f"c{number % 5}", "start": 0.1 * (number % 59)}
        ]
        present = list(acknowledged)
        if number % 3 == 2 and present:
            changes = [{"do": "delete", "id": present[number % len(present)]}]
        value = {"version": 10**6, "author": "anna", "changes": changes}
        try:
            answer = client.post(f"/api/videos/{video}/changes", json=value)
        except httpx.TransportError:
            return
        if answer.status_code == 200:
            acknowledged.clear()
            events = answer.json()["video"]["events"]
            acknowledged.update({one["id"]: one["start"] for one in events})
