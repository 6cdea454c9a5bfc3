"""What `uvast train` does by itself for a project: labels, supervision and run folder."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.cli.console import note
from uvast.cli.options import refresh_labels
from uvast.devices import is_one_of_several
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator


def needs_no_place(dataset: Path) -> bool:
    """Whether a run needs no `--out`, because it goes to the next folder of a project."""
    from uvast.projects import is_project

    if not is_project(dataset):
        return False
    if is_one_of_several():
        raise ConfigError(
            "several processes have to agree on the run's folder", remedy="pass --out RUN"
        )
    return True


def own_supervision(dataset: Path, *, run_follows: bool) -> dict[str, str]:
    """The settings that a project's labels call for: timestamps if most videos have clicks alone.

    Brings the label files up to date first, see `refresh_labels`.
    """
    from uvast.projects import Project

    if not refresh_labels(dataset, run_follows=run_follows):
        return {}
    found = Project.open(dataset).labelled.supervision
    return {"supervision.kind": f"={found}"} if found == "timestamps" else {}


def say_supervision(dataset: Path, kind: str) -> None:
    """Notes what a project's run learns from, where there was a choice."""
    from uvast.projects import Project, is_project

    if not is_project(dataset) or not (found := Project.open(dataset).labelled).is_mixed:
        return
    learned, other = ("segments", "timestamps") if kind == "full" else ("clicks", "full")
    note(
        f"this run learns from {learned} (labelled videos: {found.full} with segments, "
        f"{found.clicked} with clicks alone); --supervision {other} changes that"
    )


@contextmanager
def run_place(dataset: Path, out: Path | None) -> Iterator[Path]:
    """The run folder; one made for a project is removed again if it stays empty."""
    from uvast.projects import Project

    run = out or Project.open(dataset).next_run()
    try:
        yield run
    finally:
        if out is None:
            with suppress(OSError):  # only an empty folder can be removed
                run.rmdir()
