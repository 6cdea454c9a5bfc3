"""What a path is: a run, a benchmark, or a folder of predictions; and a run's log as charts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from uvast.errors import MissingFileError
from uvast.evaluation.scores import PROTOCOLS, file_suffix
from uvast.files import missing
from uvast.report.content import Chart
from uvast.runs import RunFolder, is_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from uvast.evaluation.scores import ScoreProtocol
    from uvast.runs import RunInfo

Kind = Literal["run", "benchmark", "predictions"]

_NOT_LOSSES = ("stage", "epoch", "seconds", "learning_rate")
_VALIDATION = "validation_"
_JUDGED = ("validation_score", "validation_selection")


def report_kind(path: Path) -> Kind:
    """Tells the kind from the files in a folder."""
    if not path.exists():
        raise missing(path, remedy="name a run, a benchmark or a folder of predictions")
    if not path.is_dir():
        raise MissingFileError("is a file, not a folder", where=path, remedy="name its folder")
    if is_run(path):
        return "run"
    return "predictions" if find_results(path) is None else "benchmark"


def find_results(folder: Path) -> tuple[Path, ScoreProtocol] | None:
    """The results of a benchmark and their protocol: the standard one if there are both."""
    files = {one: folder / f"results{file_suffix(one)}.json" for one in PROTOCOLS}
    return next(((path, one) for one, path in files.items() if path.is_file()), None)


def run_charts(run: RunFolder, info: RunInfo) -> tuple[Chart, ...]:
    """How a run was trained; for an ensemble, the first member that still exists, others behind."""
    places = [run.path / one.source for one in info.members]
    logs = [run.read_log(), *(RunFolder(one).read_log() for one in places if is_run(one))]
    first, *others = [training_charts(log) for log in logs if log] or [()]
    by_title = [{one.title: one for one in charts} for charts in others]
    return tuple(
        replace(one, thin=tuple(found[one.title] for found in by_title if one.title in found))
        for one in first
    )


def training_charts(log: Sequence[Mapping[str, float]]) -> tuple[Chart, ...]:
    """A chart for each loss of each stage, and one for each stage's validation scores.

    Epochs whose value is missing or not finite (a diverged run's) are left out.
    """
    charts = []
    for stage in sorted({row["stage"] for row in log}):
        rows = [row for row in log if row["stage"] == stage]
        names = list(dict.fromkeys(name for row in rows for name in row))
        losses = [n for n in names if n not in _NOT_LOSSES and not n.startswith(_VALIDATION)]
        if losses[1:] and all(row.get(losses[0]) == row.get(losses[1]) for row in rows):
            losses = losses[1:]  # a single term is the loss
        charts += [
            _chart(f"Stage {stage:.0f}: {name.replace('_', ' ')}", rows, [name]) for name in losses
        ]
        scores = [n for n in names if n.startswith(_VALIDATION) and n not in _JUDGED]
        if scores:
            charts.append(_chart(f"Stage {stage:.0f}: validation", rows, scores))
    return tuple(chart for chart in charts if chart.epochs)


def _chart(title: str, rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> Chart:
    whole = [row for row in rows if all(math.isfinite(row.get(name, math.nan)) for name in names)]
    curves = {name.removeprefix(_VALIDATION): tuple(row[name] for row in whole) for name in names}
    return Chart(title, tuple(row["epoch"] for row in whole), curves)
