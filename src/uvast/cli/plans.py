"""What `uvast train` says before it trains with preset `auto`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from uvast.cli.console import LONGEST_NOTE, is_first_process, note, print_json, results
from uvast.devices import n_cores
from uvast.errors import printable

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import torch

    from uvast.config.auto import AutoPlan


WORTH_PROCESSES = 120
"""Seconds: a shorter training is not worth starting more processes."""


def leaves_all_to_data(preset: str | None, file: Path | None, changes: Collection[str]) -> bool:
    """Whether the options of a training mean preset `auto`, which chooses its own model."""
    from uvast.presets import AUTO

    return preset in (None, AUTO) and file is None and "model.kind" not in changes


@dataclass(frozen=True)
class TimedPlan:
    """A plan, how it is carried out, and how long that will take.

    Args:
        plan: what preset `auto` chose.
        device: where it trains.
        n_members: models with different seeds.
        jobs: how many models are trained at a time.
    """

    plan: AutoPlan
    device: torch.device
    n_members: int
    jobs: int

    @cached_property
    def seconds(self) -> float:
        """The time that training will take; a few steps are measured."""
        from uvast.training import expected_seconds

        config, facts = self.plan.config, self.plan.facts
        return expected_seconds(config, facts, self.device, self.n_members, self.jobs)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a person is told."""
        each = f"{self.n_members} members will" if self.n_members > 1 else "this will"
        at_once = f", {self.jobs} models at a time" if self.jobs > 1 else ""
        return (
            *self.plan.sentences,
            f"{each} take {in_words(self.seconds)} ({self.device}{at_once})",
        )

    @property
    def values(self) -> dict[str, object]:
        """The same and all settings, for scripts."""
        return {
            "facts": dataclasses.asdict(self.plan.facts),
            "config": self.plan.config.as_dict(),
            "sentences": self.plan.sentences,
            "members": self.n_members,
            "jobs": self.jobs,
            "seconds": round(self.seconds, 1),
            "device": str(self.device),
        }


def timed_plan(
    plan: AutoPlan, device: str, *, n_members: int = 1, jobs: int | None = None
) -> TimedPlan:
    """The plan on a device, with `jobs` models at a time, or as many as pay off."""
    from uvast.devices import choose_device
    from uvast.training import jobs_that_pay

    chosen = choose_device(device)
    jobs = jobs or jobs_that_pay(plan.config, plan.facts, chosen, n_members)
    return TimedPlan(plan, chosen, n_members, jobs)


def note_plan(plan: TimedPlan) -> None:
    """Notes a plan before it is carried out; of several processes, only the first does."""
    if is_first_process():
        for sentence in plan.sentences:
            note(sentence)


def print_plan(plan: TimedPlan, *, as_json: bool) -> None:
    """Prints a plan that is not carried out."""
    if not is_first_process():
        return
    if as_json:
        print_json(plan.values)
        return
    for sentence in plan.sentences:
        results.print(printable(sentence, LONGEST_NOTE))


def idle_cores(n_models: int, jobs: int, seconds: float, device: str) -> str:
    """The end of a sentence: how to use cores that training one model at a time leaves idle."""
    from uvast.devices import choose_device

    at_once = min(n_cores(), n_models)
    if jobs > 1 or at_once == 1 or seconds < WORTH_PROCESSES or choose_device(device).type != "cpu":
        return ""
    return f"; --jobs {at_once} trains {at_once} models at a time, which takes less"


def in_words(seconds: float) -> str:
    """`about 12 minutes`."""
    minutes = round(seconds / 60)
    if minutes <= 1:
        return "about a minute" if minutes else "less than a minute"
    return f"about {minutes} minutes" if minutes < 120 else f"about {minutes / 60:.0f} hours"
