"""The process that trains one of several runs side by side."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from uvast.files import checked
from uvast.training.member_runs import resume_member
from uvast.training.side_by_side import Task, Teller
from uvast.training.train import resume_run
from uvast.workers import reason_of_failure, serve


def _work(line: str) -> str | None:
    task = checked(json.loads(line), Task)
    return reason_of_failure(partial(_train, task), Path(task.run) / "error.txt")


def _train(task: Task) -> None:
    if task.member is None:
        resume_run(task.run, device=task.device, watcher=Teller())
    else:
        resume_member(Path(task.run), task.member, device=task.device, watcher=Teller())


if __name__ == "__main__":
    serve(_work)
