"""Where cells run: in this process or in local processes; `ray_engine` has the cluster."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from uvast.benchmark.cell import Cell  # noqa: TC001 - a record's field types are read
from uvast.benchmark.cell_scores import is_finished
from uvast.benchmark.run_cell import check_cell, run_cell
from uvast.errors import CheckpointError, DataError, OutputError
from uvast.files import checked
from uvast.workers import Workers, reason_of_failure, serve

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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
    """Runs unfinished cells; refuses folders with other settings before any cell starts.

    Cells that calibrate others come first.
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
        except (DataError, CheckpointError) as error:  # the folder cannot be read
            known.append(CellOutcome(cell, str(error)))
    yield from known
    others = [cell for cell in left if cell.calibrated_by is not None]
    for part in ([cell for cell in left if cell.calibrated_by is None], others):
        if part:
            yield from engine.run(part, out)


@dataclass(frozen=True)
class SerialEngine:
    """One cell after the other in this process, for cells that run faster than Python starts."""

    device: str = "auto"

    def run(self, cells: Sequence[Cell], out: Path) -> Iterator[CellOutcome]:
        """Yields outcomes as they come."""
        for cell in cells:
            yield CellOutcome(cell, failure(cell, out, self.device))


@dataclass(frozen=True)
class LocalEngine:
    """One process per cell, `jobs` at a time, each with its share of the cores."""

    jobs: int = 1
    device: str = "auto"

    def run(self, cells: Sequence[Cell], out: Path) -> Iterator[CellOutcome]:
        """Yields outcomes as they come."""
        tasks = [json.dumps(asdict(_Task(cell, str(out), self.device))) for cell in cells]
        for place, error in Workers(__name__, self.jobs).run(tasks):
            yield CellOutcome(cells[place], error)


@dataclass(frozen=True)
class _Task:
    """The input of a cell's process."""

    cell: Cell
    out: str
    device: str


def failure(cell: Cell, out: Path, device: str) -> str | None:
    """Runs a cell; returns why it failed, or None."""
    run = partial(run_cell, cell, out, device=device)
    return reason_of_failure(run, out / cell.key / "error.txt")


def _work(line: str) -> str | None:
    task = checked(json.loads(line), _Task)
    return failure(task.cell, Path(task.out), task.device)


if __name__ == "__main__":
    serve(_work)
