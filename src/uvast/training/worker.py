"""The process that trains one of several runs side by side."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.files import checked
from uvast.training.member_runs import resume_member
from uvast.training.side_by_side import Task, Teller
from uvast.training.train import resume_run
from uvast.workers import reason_of_failure, serve

if TYPE_CHECKING:
    from typing import TextIO


def _work(line: str, words: TextIO) -> str | None:
    task = checked(json.loads(line), Task)
    report = "error.txt" if task.member is None else f"error-{task.member + 1}.txt"
    return reason_of_failure(partial(_train, task, Teller(words)), Path(task.run) / report)


def _train(task: Task, watcher: Teller) -> None:
    if task.member is None:
        resume_run(task.run, device=task.device, watcher=watcher)
    else:
        resume_member(Path(task.run), task.member, device=task.device, watcher=watcher)


def main() -> None:
    """Serves tasks; only the watcher writes to stdout, what libraries print goes to stderr."""
    words = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(partial(_work, words=words))


if __name__ == "__main__":
    main()
