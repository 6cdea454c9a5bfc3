"""A benchmark's `results.json` to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from uvast.evaluation.scores import HEADINGS
from uvast.files import missing, read_record
from uvast.report.content import BenchmarkRow, Report
from uvast.report.sources import find_results

if TYPE_CHECKING:
    from pathlib import Path

_AGAIN = "run the benchmark again"
_Name = Annotated[str, Field(max_length=1_000)]
_Count = Annotated[int, Field(ge=0, le=10**6)]
_Score = Annotated[float, Field(ge=0, le=100)] | None


class _Row(BaseModel):
    """A line of the table, as `uvast benchmark` writes it."""

    model_config = ConfigDict(frozen=True)
    dataset: _Name
    model: _Name
    supervision: _Name
    decoding: _Name
    note: _Name = ""
    splits: _Count
    splits_wanted: _Count = Field(default=0, alias="splits wanted")
    seeds: _Count
    seeds_wanted: _Count = Field(default=0, alias="seeds wanted")
    f1_10: _Score = Field(alias="f1@10")
    f1_25: _Score = Field(alias="f1@25")
    f1_50: _Score = Field(alias="f1@50")
    edit: _Score
    acc: _Score
    f1_10_spread: _Score = Field(alias="f1@10 spread")
    f1_25_spread: _Score = Field(alias="f1@25 spread")
    f1_50_spread: _Score = Field(alias="f1@50 spread")
    edit_spread: _Score = Field(alias="edit spread")
    acc_spread: _Score = Field(alias="acc spread")

    def as_row(self) -> BenchmarkRow:
        """The record that is drawn; undefined scores are left out."""
        known = self.model_dump(by_alias=True, exclude_none=True)

        def scores(suffix: str) -> dict[str, float]:
            return {n: known[key + suffix] for key, n in HEADINGS.items() if key + suffix in known}

        model = f"{self.model} [{self.note}]" if self.note else self.model
        return BenchmarkRow(
            labels=(self.dataset, model, self.supervision, self.decoding),
            n_splits=self.splits,
            n_seeds=self.seeds,
            means=scores(""),
            spreads=scores(" spread"),
            is_whole=self.splits >= self.splits_wanted and self.seeds >= self.seeds_wanted,
        )


def report_benchmark(folder: Path) -> Report:
    """A report on a benchmark: its table."""
    results = find_results(folder)
    if results is None:
        raise missing(folder / "results.json", remedy=_AGAIN)
    path, protocol = results
    found = read_record(path, list[_Row], remedy=_AGAIN)
    rows = tuple(one.as_row() for one in found)
    datasets = dict.fromkeys(row.labels[0] for row in rows)
    models = dict.fromkeys(row.labels[1] for row in rows)
    return Report(
        title=folder.resolve().name,
        facts={
            "Benchmark": str(folder),
            "Datasets": ", ".join(datasets) or "none",
            "Models": ", ".join(models) or "none",
            "Protocol": protocol,
        },
        notes=() if rows else ("No cell of this benchmark is finished.",),
        benchmark=rows,
    )
