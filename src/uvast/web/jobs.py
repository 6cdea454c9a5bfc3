"""Work in the background: one process per job, found again after a restart.

One job runs at a time, and next to it one that makes a proxy.

`app/jobs/N/job.json` says what a job is and what became of it; its process writes `progress.json`,
`log.txt` and finally `end.json` beside it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from uvast.errors import InputError, MissingFileError, UvastError
from uvast.files import is_present, read_record, write_json
from uvast.web.processes import LOG_FILE, PROGRESS_FILE, ProcessId, exit_code, start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Kind = Literal["extract", "train", "segment", "report", "proxy"]
State = Literal["queued", "running", "done", "failed", "cancelled"]

SECONDS_TO_END = 20.0
"""From Ctrl-C until the process is killed."""

MOST_WAITING = 1000
N_LOG_LINES = 40
_LARGEST_LOG = 64 * 1024


@dataclass(frozen=True)
class Job:
    """What to do, and how far it has got.

    Args:
        number: from 1.
        kind: what kind of work it is.
        command: the words of the command.
        plan: what it will do, in sentences for people.
        author: who asked for it.
        state: how far it has got.
        created: seconds since 1970, as are the others.
        began: when its process was started.
        ended: when it was over.
        process: its process.
        output: the run folder, prediction folder, page or proxy it makes, in the project.
        video: the video it is about.
        error: why it failed, one sentence.
        stopped: when somebody cancelled it.
        asked: the command as it was asked for, before a training got its folder; asking for the
            same again gives the same job.
    """

    number: Annotated[int, Field(ge=1, lt=2**31)]
    kind: Kind
    command: tuple[str, ...]
    plan: tuple[str, ...] = ()
    author: str = ""
    state: State = "queued"
    created: float = 0.0
    began: float | None = None
    ended: float | None = None
    process: ProcessId | None = None
    output: str = ""
    video: str | None = None
    error: str | None = None
    stopped: float | None = None
    asked: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens."""
        return self.state in ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Progress:
    """The progress that a command reports; see `uvast.files.progress`."""

    what: str = ""
    done: float = 0.0
    total: float | None = None
    seconds_left: float | None = None

    @property
    def share(self) -> float | None:
        """The share that is done, between 0 and 1; None if unknown."""
        return min(1.0, max(0.0, self.done / self.total)) if self.total else None


class Jobs:
    """The jobs of a project.

    Args:
        folder: `PROJECT/app/jobs`.
        tell: called with every job that changes.
    """

    def __init__(self, folder: Path, tell: Callable[[Job], None] = lambda _: None) -> None:
        self._folder = folder
        self._tell = tell
        self._lock = threading.RLock()
        self._jobs: dict[int, Job] = {}
        for path in sorted(folder.glob("*/job.json")):
            if path.parent.name.isdecimal():
                job = read_record(path, Job, remedy="remove its folder")
                self._jobs[job.number] = job

    @property
    def all(self) -> tuple[Job, ...]:
        """All jobs, newest first."""
        with self._lock:
            return tuple(sorted(self._jobs.values(), key=lambda job: -job.number))

    def job(self, number: int) -> Job:
        """One job, by its number."""
        with self._lock:
            if number not in self._jobs:
                raise MissingFileError(f"no job {number}", remedy="reload the page")
            return self._jobs[number]

    def open(self, kind: Kind, asked: Sequence[str], video: str | None = None) -> Job | None:
        """The unfinished job that was asked for in the same words, if there is one."""
        wanted = kind, tuple(asked), video
        with self._lock:
            found = (
                job
                for job in self._jobs.values()
                if not job.is_over and (job.kind, job.asked, job.video) == wanted
            )
            return next(found, None)

    def add(
        self,
        kind: Kind,
        command: Sequence[str],
        *,
        plan: Sequence[str] = (),
        author: str = "",
        output: str = "",
        video: str | None = None,
        asked: Sequence[str] | None = None,
    ) -> Job:
        """Queues a job, unless the same one already waits or runs.

        `asked` is the command by which the same job is recognised; None if it is `command`.
        """
        asked = command if asked is None else asked
        with self._lock:
            if (same := self.open(kind, asked, video)) is not None:
                return same
            if sum(not job.is_over for job in self._jobs.values()) >= MOST_WAITING:
                raise InputError(
                    f"{MOST_WAITING} jobs are already waiting", remedy="cancel some of them"
                )
            number = 1 + max(self._jobs, default=0)
            job = Job(
                number,
                kind,
                tuple(command),
                tuple(plan),
                author,
                created=time.time(),
                output=output,
                video=video,
                asked=tuple(asked),
            )
            self._keep(job)
        self.step()
        return self.job(number)

    def cancel(self, number: int) -> Job:
        """Ends a job as Ctrl-C would, so that it can finish cleanly."""
        with self._lock:
            job = self.job(number)
            if job.state == "queued":
                self._keep(replace(job, state="cancelled", ended=time.time()))
            elif job.state == "running" and job.stopped is None and job.process is not None:
                job.process.stop()
                self._keep(replace(job, stopped=time.time()))
            return self.job(number)

    def progress(self, number: int) -> Progress:
        """The progress that a job's command reports."""
        path = self._folder / str(number) / PROGRESS_FILE
        try:
            return read_record(path, Progress) if is_present(path) else Progress()
        except UvastError:
            return Progress()

    def log(self, number: int) -> list[str]:
        """The last lines of what it printed."""
        path = self._folder / str(number) / LOG_FILE
        try:
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - _LARGEST_LOG))
                text = file.read(_LARGEST_LOG).decode(errors="replace")
        except OSError:
            return []
        return text.splitlines()[-N_LOG_LINES:]

    def step(self) -> None:
        """Looks after running jobs, and starts the next ones; called every second."""
        with self._lock:
            for job in [one for one in self._jobs.values() if one.state == "running"]:
                self._look_after(job)
            # whoever wants to see a video does not wait for a training
            proxies = [job for job in self._jobs.values() if job.kind == "proxy"]
            others = [job for job in self._jobs.values() if job.kind != "proxy"]
            self._start_next(proxies)
            self._start_next(others)

    def _start_next(self, line: Sequence[Job]) -> None:
        """Starts the first waiting job of a line, unless one of the line is running."""
        queued = [job for job in line if job.state == "queued"]
        if queued and not any(job.state == "running" for job in line):
            self._start(min(queued, key=lambda job: job.number))

    def _start(self, job: Job) -> None:
        try:
            process = start(self._folder / str(job.number), job.command)
        except OSError as error:
            sentence = f"its process cannot be started ({error.strerror or error})"
            self._keep(replace(job, state="failed", ended=time.time(), error=sentence))
            return
        running = replace(job, state="running", began=time.time(), process=process)
        self._jobs[job.number] = running  # even if the disk is full: it must not start twice
        self._keep(running)

    def _look_after(self, job: Job) -> None:
        assert job.process is not None, "it runs"
        if job.process.is_alive:
            if job.stopped is not None and time.time() - job.stopped > SECONDS_TO_END:
                job.process.stop(kill=True)
            return
        code = exit_code(self._folder / str(job.number))
        now = time.time()
        if job.stopped is not None:
            self._keep(replace(job, state="cancelled", ended=now))
        elif code == 0:
            self._keep(replace(job, state="done", ended=now))
        else:
            lines = [line for line in self.log(job.number) if line.strip()]
            last = lines[-1].removeprefix("error: ") if lines else "it ended without a word"
            sentence = (
                last if code is not None else f"its process was killed; its last words: {last}"
            )
            self._keep(replace(job, state="failed", ended=now, error=sentence[:1000]))

    def _keep(self, job: Job) -> None:
        write_json(self._folder / str(job.number) / "job.json", asdict(job))
        self._jobs[job.number] = job
        self._tell(job)
