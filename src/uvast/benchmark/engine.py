"""Where cells run: in this process, in local processes; `ray_engine` has the cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from uvast.benchmark.cell import Cell, check_cell, is_finished, run_cell
from uvast.devices import n_cores
from uvast.errors import CheckpointError, DataError, OutputError, UvastError
from uvast.files import checked, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

THREADS = "OMP_NUM_THREADS"
CELL_FAILED = 2


@dataclass(frozen=True)
class CellOutcome:
    """What became of a cell; `error` is None if it has its scores."""

    cell: Cell
    error: str | None = None


class Engine(Protocol):
    """Runs cells in any order; a cell that fails never stops the others."""

    def run(self, cells: Sequence[Cell], out: Path) -> Iterator[CellOutcome]:
        """Yields outcomes as they come."""
        ...


def run_cells(cells: Sequence[Cell], out: Path, engine: Engine) -> Iterator[CellOutcome]:
    """Runs what is not finished; places that hold other settings are refused before any starts.

    Cells that others are calibrated by come first.
    """
    if out.exists() and not out.is_dir():
        raise OutputError("is a file", where=out, remedy="choose a folder")
    left, known = [], []
    for cell in cells:
        try:
            check_cell(cell, out)
            if is_finished(cell, out):
                known.append(CellOutcome(cell))
            else:
                left.append(cell)
        except (DataError, CheckpointError) as error:  # what lies there cannot be read
            known.append(CellOutcome(cell, str(error)))
    yield from known
    others = [cell for cell in left if cell.calibrated_by is not None]
    for part in ([cell for cell in left if cell.calibrated_by is None], others):
        if part:
            yield from engine.run(part, out)


@dataclass(frozen=True)
class SerialEngine:
    """One cell after the other in this process: for cells that take less than a start of Python."""

    device: str = "auto"

    def run(self, cells: Sequence[Cell], out: Path) -> Iterator[CellOutcome]:
        """Yields outcomes as they come."""
        for cell in cells:
            yield CellOutcome(cell, failure(cell, out, self.device))


@dataclass(frozen=True)
class LocalEngine:
    """A process for each cell, `jobs` at a time, each with its share of the cores.

    A process, not a thread or a pool: whatever a cell does to itself, the others go on.
    """

    jobs: int = 1
    device: str = "auto"

    def run(self, cells: Sequence[Cell], out: Path) -> Iterator[CellOutcome]:
        """Yields outcomes as they come."""
        pool = ThreadPoolExecutor(self.jobs)
        running: set[subprocess.Popen[str]] = set()
        try:
            futures = [pool.submit(self._run_one, cell, out, running) for cell in cells]
            for future in as_completed(futures):
                yield future.result()
        finally:  # after an interrupt nothing new starts, and nothing goes on
            pool.shutdown(wait=False, cancel_futures=True)
            for process in tuple(running):
                process.terminate()
            pool.shutdown()

    def _run_one(self, cell: Cell, out: Path, running: set[subprocess.Popen[str]]) -> CellOutcome:
        command = [sys.executable, "-m", "uvast.benchmark.engine", str(out), self.device]
        with subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, THREADS: self._threads()},
        ) as process:
            running.add(process)
            assert process.stdin is not None, "asked for above"
            assert process.stderr is not None, "asked for above"
            try:
                process.stdin.write(json.dumps(asdict(cell)) + "\n")
                process.stdin.flush()
            except BrokenPipeError:
                pass  # it died at once; its words and its code follow
            said = process.stderr.read().strip().splitlines()
            code = process.wait()
            running.discard(process)
        return CellOutcome(cell, None if code == 0 else _reason(code, said))

    def _threads(self) -> str:
        """A fair share of the cores; what the user has set stays."""
        return os.environ.get(THREADS, str(max(1, n_cores() // self.jobs)))


def failure(cell: Cell, out: Path, device: str) -> str | None:
    """Runs a cell; why it failed, or None."""
    report = out / cell.key / "error.txt"
    try:
        run_cell(cell, out, device=device)
    except UvastError as error:
        return str(error)
    except Exception as error:  # a crash of one cell is a line in the report
        write_text(report, traceback.format_exc())
        return f"{type(error).__name__}: {error}; see {report}"
    report.unlink(missing_ok=True)
    return None


def _reason(code: int, said: list[str]) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return said[-1] if said else f"ended with code {code}"


def _die_with_parent() -> None:
    """The other end of stdin closes when the parent ends, however it ends."""
    while os.read(0, 1024):  # not sys.stdin: its lock would block the end of the process
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main(out: str, device: str) -> None:
    """The process of one cell, which comes on stdin."""
    cell = checked(json.loads(sys.stdin.readline()), Cell)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    reason = failure(cell, Path(out), device)
    if reason is not None:
        sys.stderr.buffer.write(f"{reason}\n".encode(errors="replace"))
        sys.exit(CELL_FAILED)


if __name__ == "__main__":
    main(*sys.argv[1:])
