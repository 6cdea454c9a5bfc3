"""What `uvast train` says before it trains with preset `auto`."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING

from uvast.cli.console import note, print_json
from uvast.devices import n_cores

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from uvast.config.auto import AutoPlan


WORTH_PROCESSES = 120
"""Seconds: a shorter training is not worth starting more processes."""


def leaves_all_to_data(preset: str | None, file: Path | None, changes: Collection[str]) -> bool:
    """Whether the options of a training mean preset `auto`, which chooses its own model."""
    from uvast.presets import AUTO

    return preset in (None, AUTO) and file is None and "model.kind" not in changes


def say_plan(
    plan: AutoPlan,
    device: str,
    *,
    n_members: int = 1,
    jobs: int | None = None,
    as_json: bool = False,
) -> int:
    """Notes the plan and the time it will take; `as_json` also prints it on stdout, for scripts.

    Returns:
        How many models to train at a time: `jobs`, or as many as pay off.
    """
    from uvast.devices import choose_device
    from uvast.training import expected_seconds, jobs_that_pay

    chosen = choose_device(device)
    jobs = jobs or jobs_that_pay(plan.config, plan.facts, chosen, n_members)
    if os.environ.get("RANK", "0") != "0":  # of several processes, only the first prints
        return jobs
    for sentence in plan.sentences:
        note(sentence)
    seconds = expected_seconds(plan.config, plan.facts, chosen, n_members, jobs)
    each = f"{n_members} members will" if n_members > 1 else "this will"
    at_once = f", {jobs} models at a time" if jobs > 1 else ""
    note(f"{each} take {in_words(seconds)} ({chosen}{at_once})")
    if as_json:
        print_json(
            {
                "facts": dataclasses.asdict(plan.facts),
                "config": plan.config.as_dict(),
                "sentences": plan.sentences,
                "members": n_members,
                "jobs": jobs,
                "seconds": round(seconds, 1),
                "device": str(chosen),
            }
        )
    return jobs


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
