"""Cells as tasks on a Ray cluster. Results go to the shared folder, as on one machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uvast.benchmark.engine import CellOutcome, failure
from uvast.inference.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from uvast.benchmark.cell import Cell


@dataclass(frozen=True)
class RayEngine:
    """Runs each cell as a task; one whose worker or node is lost resumes elsewhere.

    It resumes from the last checkpoint in the shared folder.
    """

    cluster: Cluster = field(default_factory=Cluster)
    device: str = "auto"

    def run(self, cells: Sequence[Cell], out: Path) -> Iterator[CellOutcome]:
        """Yields outcomes as they come."""
        orders = [_Order(cell, out.resolve(), self.device) for cell in cells]
        for order, reason in self.cluster.run(_run_order, orders):
            yield CellOutcome(order.cell, reason)


@dataclass(frozen=True)
class _Order:
    """The input of a task."""

    cell: Cell
    out: Path
    device: str


def _run_order(order: _Order) -> str | None:
    return failure(order.cell, order.out, order.device)
