"""Processes that outlive the server, recognised by their number and start time.

    python -m uvast.web.processes JOB COMMAND…

runs a command, and writes its exit code to `JOB/end.json` even if the server is gone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from uvast.files import is_present, read_record, write_json
from uvast.files.progress import VARIABLE
from uvast.workers import safe_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

END_FILE = "end.json"
LOG_FILE = "log.txt"
PROGRESS_FILE = "progress.json"


@dataclass(frozen=True)
class ProcessId:
    """A process; numbers are reused, a number with its start time is not."""

    number: Annotated[int, Field(ge=1)]
    started: Annotated[str, Field(max_length=100)]

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return _started(self.number) == self.started

    def stop(self, *, kill: bool = False) -> None:
        """Ends it and whatever it has started, by Ctrl-C or by force."""
        if not self.is_alive:
            return
        number = signal.SIGKILL if kill else signal.SIGINT
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.number, number)


@dataclass(frozen=True)
class _End:
    code: int


def start(job: Path, command: Sequence[str]) -> ProcessId:
    """Runs a command in a session of its own; its output goes to the job's log."""
    with (job / LOG_FILE).open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 (the app makes the command, no shell reads it)
            [sys.executable, "-m", "uvast.web.processes", str(job), *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**safe_environment(), VARIABLE: str(job / PROGRESS_FILE), "COLUMNS": "200"},
            start_new_session=True,
        )
    _children[process.pid] = process
    return ProcessId(process.pid, _started(process.pid))


_children: dict[int, subprocess.Popen[bytes]] = {}
"""Polled when they end, so that they do not stay as zombies."""


def exit_code(job: Path) -> int | None:
    """How the command of a job ended; None if it has not, or was killed."""
    for process in list(_children.values()):
        if process.poll() is not None:
            del _children[process.pid]
    path = job / END_FILE
    return read_record(path, _End).code if is_present(path) else None


def _started(number: int) -> str:
    """When a process was started, as the system writes it; empty if there is no such process."""
    child = _children.get(number)
    if child is not None and child.poll() is not None:
        return ""
    path = Path(f"/proc/{number}/stat")
    try:
        fields = path.read_text().rpartition(")")[2].split()
    except OSError:
        return _listed(number) if not Path("/proc/self/stat").exists() else ""
    return "" if fields[0] == "Z" else fields[19]


def _listed(number: int) -> str:
    """As `_started`, where there is no /proc."""
    done = subprocess.run(  # noqa: S603
        ["ps", "-o", "lstart=", "-p", str(number)],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def main() -> None:
    """Runs the command and writes its exit code; Ctrl-C reaches both as one process group."""
    job, command = Path(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGINT, lambda *_: None)
    code = subprocess.call(command)  # noqa: S603
    write_json(job / END_FILE, {"code": code})
    sys.exit(code if code >= 0 else 1)


if __name__ == "__main__":
    main()
