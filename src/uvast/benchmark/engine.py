"""Where cells run: local processes here, a cluster in `ray_engine`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from uvast.files import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.benchmark.cell import Cell


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


@dataclass(frozen=True)
class LocalEngine:
    """A process for each cell, `jobs` at a time, each with its share of the cores.

    A process, not a thread or a pool: whatever a cell does to itself, the others go on.
    """

    jobs: int = 1
    device: str = "auto"

    def run(self, cells: Sequence[Cell], out: Path) -> Iterator[CellOutcome]:
        """Yields outcomes as they come."""
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(self._run_one, cell, out) for cell in cells]
            for future in as_completed(futures):
                yield future.result()

    def _run_one(self, cell: Cell, out: Path) -> CellOutcome:
        threads = str(max(1, (os.cpu_count() or 1) // self.jobs))
        with tempfile.TemporaryDirectory() as scratch:
            order = Path(scratch) / "cell.json"
            order.write_text(json.dumps(cell.as_dict()), "utf-8")
            command = [sys.executable, "-m", "uvast.benchmark.engine", str(order), str(out)]
            finished = subprocess.run(  # noqa: S603 - our own module
                [*command, self.device],
                check=False,
                capture_output=True,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": threads},
            )
        if finished.returncode == 0:
            return CellOutcome(cell)
        lines = finished.stderr.strip().splitlines()
        return CellOutcome(cell, lines[-1] if lines else f"ended with {finished.returncode}")


def main(order: str, out: str, device: str) -> None:
    """The process of one cell."""
    from uvast.benchmark.cell import Cell, run_cell
    from uvast.errors import UvastError

    try:
        run_cell(Cell.from_dict(read_json(Path(order)), where=order), Path(out), device=device)
    except UvastError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main(*sys.argv[1:])
