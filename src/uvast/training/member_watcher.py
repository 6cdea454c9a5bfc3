"""Tells a watcher which of several members it hears about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvast.training.watching import EpochReport, Part, Plan, Step, Watcher


class MemberWatcher:
    """Passes everything on to another watcher, and adds which member it is about.

    Args:
        then: the other watcher.
        index: the member, counted from 0.
        n_members: how many there are.
        n_epochs: of each member, in all stages; without inner runs, which only the first has.
        begin: called before the first epoch.
    """

    def __init__(
        self,
        then: Watcher,
        index: int,
        n_members: int,
        n_epochs: int,
        begin: Callable[[], None],
    ) -> None:
        self._then = then
        self._index = index
        self._n_members = n_members
        self._n_epochs = n_epochs
        self._begin = begin

    def begin(self, plan: Plan) -> None:
        """Adds the epochs of the members that follow."""
        self._begin()
        n_later = self._n_members - self._index - 1
        self._then.begin(
            replace(
                plan,
                member=self._index + 1,
                n_members=self._n_members,
                later_epochs=n_later * self._n_epochs,
            )
        )

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Only passes it on."""
        self._then.pseudo_labels(n_done, n_most)

    def step(self, step: Step) -> None:
        """Adds the member."""
        self._then.step(replace(step, part=self._of_member(step.part)))

    def epoch(self, report: EpochReport) -> None:
        """Adds the member."""
        self._then.epoch(replace(report, part=self._of_member(report.part)))

    def _of_member(self, part: Part) -> Part:
        return replace(part, member=self._index + 1)
