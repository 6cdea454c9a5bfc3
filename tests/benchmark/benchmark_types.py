"""Types of the room's fixtures."""

from __future__ import annotations

from collections.abc import Callable

from uvast.benchmark.cell import Cell

MakeCell = Callable[..., Cell]
