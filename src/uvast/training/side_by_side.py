"""Trains inner runs and members at the same time, each in a process of its own.

The processes run `uvast.training.worker`. They report what happens as lines of JSON, which
`Teller` writes and `tell` reads.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from uvast.errors import TrainingError
from uvast.files import checked
from uvast.training.watching import EpochReport, Plan, Step
from uvast.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from uvast.training.watching import Watcher

WORKER = "uvast.training.worker"


@dataclass(frozen=True)
class Task:
    """What a process should train.

    Args:
        run: a run folder that has begun.
        device: `auto`, `cpu`, `cuda`, …
        member: the member of that run, counted from 0; None for the run itself.
    """

    run: str
    device: str
    member: int | None = None


def train_side_by_side(tasks: Sequence[Task], watchers: Sequence[Watcher], jobs: int) -> None:
    """Trains all tasks, `jobs` at a time, each with its watcher; one failure stops the others."""
    lines = [json.dumps(asdict(task)) for task in tasks]
    workers = Workers(WORKER, jobs)
    for place, error in workers.run(lines, lambda place, line: tell(watchers[place], line)):
        if error is not None:
            raise TrainingError(error, where=tasks[place].run)


class Teller:
    """A watcher that writes everything it hears about, one line each.

    Args:
        words: where to write.
    """

    def __init__(self, words: TextIO) -> None:
        self._words = words

    def begin(self, plan: Plan) -> None:
        """Writes the whole plan."""
        self._say("begin", asdict(plan))

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """Writes both numbers."""
        self._say("pseudo_labels", n_done, n_most)

    def step(self, step: Step) -> None:
        """Writes the whole step."""
        self._say("step", asdict(step))

    def epoch(self, report: EpochReport) -> None:
        """Writes the whole report."""
        self._say("epoch", asdict(report))

    def _say(self, *words: object) -> None:
        self._words.write(f"{json.dumps(words)}\n")
        self._words.flush()


def tell(watcher: Watcher, line: str) -> None:
    """Tells a watcher what a `Teller` in another process wrote; ignores any other line."""
    if not line.startswith('["'):
        return  # printed by a library while it was imported
    what, *words = json.loads(line)
    kinds: dict[str, type[Any]] = {"begin": Plan, "step": Step, "epoch": EpochReport}
    if what in kinds:
        words = [checked(words[0], kinds[what])]
    getattr(watcher, what)(*words)
