"""Inner runs and members that are trained at the same time, each in a process of its own.

The processes are those of `uvast.training.worker`. They tell what happens as lines of JSON, which
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
    """What a process is to train.

    Args:
        run: a run folder that has begun.
        device: `auto`, `cpu`, `cuda`, …
        member: of that run, counted from 0; None is the run itself.
    """

    run: str
    device: str
    member: int | None = None


def train_side_by_side(tasks: Sequence[Task], watchers: Sequence[Watcher], jobs: int) -> None:
    """Trains all of them, `jobs` at a time; each has a watcher. One that fails stops the others."""
    lines = [json.dumps(asdict(task)) for task in tasks]
    workers = Workers(WORKER, jobs)
    for place, error in workers.run(lines, lambda place, line: tell(watchers[place], line)):
        if error is not None:
            raise TrainingError(error, where=tasks[place].run)


class Teller:
    """A watcher that says what it is told, a line each.

    Args:
        words: where to.
    """

    def __init__(self, words: TextIO) -> None:
        self._words = words

    def begin(self, plan: Plan) -> None:
        """With the whole plan."""
        self._say("begin", asdict(plan))

    def pseudo_labels(self, n_done: int, n_most: int) -> None:
        """With both numbers."""
        self._say("pseudo_labels", n_done, n_most)

    def step(self, step: Step) -> None:
        """With the whole step."""
        self._say("step", asdict(step))

    def epoch(self, report: EpochReport) -> None:
        """With the whole report."""
        self._say("epoch", asdict(report))

    def _say(self, *words: object) -> None:
        self._words.write(f"{json.dumps(words)}\n")
        self._words.flush()


def tell(watcher: Watcher, line: str) -> None:
    """Tells a watcher what a `Teller` in another process said; any other line is left alone."""
    if not line.startswith('["'):
        return  # a library that prints while it is imported
    what, *words = json.loads(line)
    kinds: dict[str, type[Any]] = {"begin": Plan, "step": Step, "epoch": EpochReport}
    if what in kinds:
        words = [checked(words[0], kinds[what])]
    getattr(watcher, what)(*words)
