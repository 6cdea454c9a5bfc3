"""A benchmark's `results.json` to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvast.errors import CorruptFileError
from uvast.files import read_json
from uvast.report.content import SCORE_NAMES, BenchmarkRow, Report
from uvast.report.sources import RESULTS_FILE

if TYPE_CHECKING:
    from pathlib import Path


def report_benchmark(folder: Path) -> Report:
    """A report on a benchmark: its table."""
    path = folder / RESULTS_FILE
    try:
        rows = tuple(_row(values) for values in read_json(path))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorruptFileError(
            f"is not a benchmark's results ({error})", where=path, remedy="run the benchmark again"
        ) from error
    datasets = dict.fromkeys(row.labels[0] for row in rows)
    models = dict.fromkeys(row.labels[1] for row in rows)
    return Report(
        title=folder.resolve().name,
        facts={
            "Benchmark": str(folder),
            "Datasets": ", ".join(datasets) or "none",
            "Models": ", ".join(models) or "none",
        },
        notes=() if rows else ("No cell of this benchmark is finished.",),
        benchmark=rows,
    )


def _row(values: dict[str, Any]) -> BenchmarkRow:
    def scores(suffix: str) -> dict[str, float]:
        found = {name: values[name.lower() + suffix] for name in SCORE_NAMES}
        return {name: float(value) for name, value in found.items() if value is not None}

    dataset, model, supervision, decoding = (
        str(values[name]) for name in ("dataset", "model", "supervision", "decoding")
    )
    return BenchmarkRow(
        labels=(dataset, model, supervision, decoding),
        n_splits=int(values["splits"]),
        n_seeds=int(values["seeds"]),
        means=scores(""),
        spreads=scores(" spread"),
    )
