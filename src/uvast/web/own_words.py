"""Plans of commands; a training with preset `auto` says in its own words what it will do."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uvast.errors import InputError, counted
from uvast.web.plan_words import plan_sentence
from uvast.workers import safe_environment

if TYPE_CHECKING:
    from collections.abc import Collection

    from uvast.web.app import App
    from uvast.web.jobs import Kind

NEW_RUN = "{run}"
LONGEST_SECONDS = 300.0
_N_KNOWN = 20
MOST_NOTES = 4
"""Notes on single videos that a plan has before its own sentences."""


@dataclass(frozen=True)
class Plan:
    """A command, and what it will do.

    Args:
        kind: of the job.
        command: its words; `{run}` stands for a new run folder.
        sentences: for people.
        output: where the result goes, relative to the project.
        video: the video, for a proxy.
    """

    kind: Kind
    command: tuple[str, ...]
    sentences: tuple[str, ...]
    output: str = ""
    video: str | None = None


def with_own_words(app: App, plan: Plan) -> Plan:
    """A training's plan in the sentences of `uvast train --plan`, which looks at the data.

    That takes seconds, so the sentences are remembered until labels or features change. A training
    with another preset has no such plan, and keeps the sentences it has.
    """
    if any(word.startswith("--preset") for word in plan.command):
        return plan
    app.store.save()
    words = [word for word in plan.command if word not in ("--out", NEW_RUN)]
    key = (*words, str(app.store.number), *_features(app))
    known = app.plans_said.get(key)
    if known is None:
        known = app.plans_said[key] = _asked([*words, "--plan"], app.project.names)
        while len(app.plans_said) > _N_KNOWN:
            app.plans_said.pop(next(iter(app.plans_said)))
    return replace(plan, sentences=(*known, plan.sentences[-1])) if known else plan


def _features(app: App) -> list[str]:
    """A key that changes with the features."""
    paths = [app.project.features_path(name) for name in app.project.names]
    return [f"{path.name} {path.stat().st_mtime_ns}" for path in paths if path.is_file()]


def _asked(command: list[str], names: Collection[str]) -> tuple[str, ...]:
    try:
        done = subprocess.run(  # noqa: S603 (the app makes the command, no shell reads it)
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST_SECONDS,
            stdin=subprocess.DEVNULL,
            env=safe_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()  # the training itself will say what is wrong
    notes, plan = _lines(done.stderr), _lines(done.stdout)
    if done.returncode:
        last = notes[-1] if notes else "it ended without a message"
        raise InputError(last.removeprefix("error: "))
    if len(notes) > MOST_NOTES:
        left = len(notes) - MOST_NOTES
        notes = [
            *notes[:MOST_NOTES],
            f"{counted(left, 'more note')} like this, which the log will have",
        ]
    found = (plan_sentence(line, names) for line in notes + plan)
    return tuple(one for one in found if one is not None)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
