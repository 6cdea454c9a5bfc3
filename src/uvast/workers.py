"""Independent tasks: a process for each, a few at a time.

A process, not a thread or a pool: however a task fails, the others go on. No process outlives the
one that started it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.devices import n_cores
from uvast.errors import UvastError
from uvast.files import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    Hear = Callable[[int, str], None]

THREADS = "OMP_NUM_THREADS"
FAILED = 2


def threads_of_each(jobs: int) -> int:
    """Each job's fair share of the cores."""
    return max(1, n_cores() // jobs)


@dataclass(frozen=True)
class Workers:
    """Processes that run a module of ours, which calls `serve`.

    Args:
        module: its name.
        jobs: how many at a time; the cores are shared among them.
    """

    module: str
    jobs: int = 1

    def run(
        self, tasks: Sequence[str], hear: Hear | None = None
    ) -> Iterator[tuple[int, str | None]]:
        """Gives every task, one line of text, to its own process.

        As tasks end, yields the place of each in `tasks` and why it failed, None if it did not.
        `hear` gets the place of a task and each line that it prints, one at a time.
        """
        pool = ThreadPoolExecutor(self.jobs)
        running = _Running()
        one_at_a_time = threading.Lock()

        def hear_one(place: int, line: str) -> None:
            if hear is not None:
                with one_at_a_time:
                    hear(place, line)

        try:
            futures = [
                pool.submit(self._run_one, place, task, hear_one, running)
                for place, task in enumerate(tasks)
            ]
            for future in as_completed(futures):
                yield future.result()
        finally:  # after an interrupt, nothing new starts and nothing keeps running
            pool.shutdown(wait=False, cancel_futures=True)
            running.stop()
            pool.shutdown()

    def _run_one(
        self, place: int, task: str, hear: Hear, running: _Running
    ) -> tuple[int, str | None]:
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as words,
            subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", self.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
                encoding="utf-8",
                errors="replace",
                env={**safe_environment(), THREADS: self._threads()},
            ) as process,
        ):
            running.add(process)
            assert process.stdin is not None, "asked for above"
            assert process.stdout is not None, "asked for above"
            try:
                process.stdin.write(f"{task}\n")
                process.stdin.flush()
            except BrokenPipeError:
                pass  # it died at once; its output and exit code say why
            for line in process.stdout:
                hear(place, line.rstrip("\n"))
            code = process.wait()
            running.discard(process)
            words.seek(0)
            said = words.read().strip().splitlines()
        return place, None if code == 0 else _reason(code, said)

    def _threads(self) -> str:
        """What the user has set, else each job's share."""
        return os.environ.get(THREADS, str(threads_of_each(self.jobs)))


class _Running:
    """The running processes; after `stop`, one that was just starting ends as well."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._is_stopped = False

    def add(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._processes.add(process)
            if self._is_stopped:
                process.terminate()

    def discard(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._processes.discard(process)

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            for process in self._processes:
                process.terminate()


def safe_environment() -> dict[str, str]:
    """The environment for our own `python -m`: it imports nothing from the working directory.

    That may be a folder that somebody sent. Python 3.10 does not know the variable.
    """
    return {**os.environ, "PYTHONSAFEPATH": "1"}


def _reason(code: int, said: list[str]) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return said[-1] if said else f"ended with code {code}"


def serve(work: Callable[[str], str | None]) -> None:
    """Runs one task, read from stdin, in its process; `work` returns why it failed, or None."""
    task = sys.stdin.readline()
    threading.Thread(target=_die_with_parent, daemon=True).start()
    reason = work(task)
    if reason is not None:
        sys.stderr.buffer.write(f"{reason}\n".encode(errors="replace"))
        sys.exit(FAILED)


def reason_of_failure(work: Callable[[], object], report: Path) -> str | None:
    """Does some work; returns why it failed, or None. A crash leaves its traceback in `report`."""
    try:
        work()
    except UvastError as error:
        return str(error)
    except Exception as error:  # one crashed task must not stop the others
        write_text(report, traceback.format_exc())
        return f"{type(error).__name__}: {error}; see {report}"
    report.unlink(missing_ok=True)
    return None


def _die_with_parent() -> None:
    """Ends this process when stdin closes, as it does when the parent ends, however it ends."""
    while os.read(0, 1024):  # not sys.stdin: its lock would block the end of the process
        pass
    os.kill(os.getpid(), signal.SIGTERM)
