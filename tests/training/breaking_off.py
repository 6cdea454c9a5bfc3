"""A watcher that breaks a run off."""

from __future__ import annotations

from uvast.training import EpochReport
from uvast.training.watching import Silent


class StopError(Exception):
    """Thrown by a watcher, as Ctrl-C would be."""


class StopAfter(Silent):
    """Breaks a run off after so many epochs."""

    def __init__(self, n_epochs: int) -> None:
        self.left = n_epochs

    def epoch(self, report: EpochReport) -> None:
        self.left -= 1
        if not self.left:
            raise StopError
