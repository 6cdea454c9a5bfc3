"""A project's run folders: `PROJECT/runs/1`, `2` and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.errors import CheckpointError, command
from uvast.files import unwritable
from uvast.runs import RunFolder, is_run

if TYPE_CHECKING:
    from pathlib import Path


def next_run(project: Path) -> Path:
    """Makes an empty folder for a new run.

    Every call gets its own folder, even in several processes at once; folders of runs that were
    killed right at the start are skipped.
    """
    runs = project / "runs"
    try:
        runs.mkdir(exist_ok=True)
        while True:
            run = runs / str(max(_numbers(runs), default=0) + 1)
            try:
                run.mkdir()
            except FileExistsError:
                continue  # another process was quicker
            return run
    except OSError as error:
        raise unwritable(runs, error) from error


def newest_run(project: Path) -> Path:
    """The newest finished run."""
    folder = project / "runs"
    runs = [folder / str(number) for number in sorted(_numbers(folder), reverse=True)]
    for run in runs:
        if RunFolder(run).is_finished():
            return run
    begun = [f"finish one with {command('train', '--resume', run)}" for run in runs if is_run(run)]
    raise CheckpointError(
        "has no finished run",
        where=project,
        remedy=next(iter(begun), f"train one with {command('train', project)}"),
    )


def _numbers(runs: Path) -> list[int]:
    names = [one.name for one in runs.iterdir()] if runs.is_dir() else []
    return [int(name) for name in names if name.isascii() and name.isdecimal() and len(name) < 10]
