"""Scores of cells to one table: mean over splits, then mean and spread over seeds."""

from __future__ import annotations

import csv
import io
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.benchmark.cell import COLUMNS, Cell, Scores, finished_scores
from uvast.files import write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class ResultRow:
    """One line of the table.

    Args:
        dataset: the dataset's name.
        model: the model's name.
        supervision: `full` or `timestamps`.
        decoding: the name of the decoding.
        n_splits: the splits in the mean.
        n_seeds: the seeds in the mean.
        mean: column to mean.
        spread: column to standard deviation over seeds; empty for one seed.
    """

    dataset: str
    model: str
    supervision: str
    decoding: str
    n_splits: int
    n_seeds: int
    mean: Scores
    spread: Scores

    def as_dict(self) -> dict[str, Any]:
        """Flat, for CSV and JSON."""
        return {
            "dataset": self.dataset,
            "model": self.model,
            "supervision": self.supervision,
            "decoding": self.decoding,
            "splits": self.n_splits,
            "seeds": self.n_seeds,
            **{column: self.mean.get(column) for column in COLUMNS},
            **{f"{column} spread": self.spread.get(column) for column in COLUMNS},
        }


def collect(cells: Sequence[Cell], out: Path) -> tuple[ResultRow, ...]:
    """The table of what is finished; a row's mean is over the seeds that have every split."""
    found: dict[tuple[str, ...], dict[int, list[Scores]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        scores = finished_scores(cell, out)
        for name in cell.decodings:
            if name in scores:
                data = Path(cell.dataset).resolve().name
                key = (data, cell.model, cell.config.supervision.kind, name)
                found[key][cell.seed].append(scores[name])
    return tuple(_row(key, seeds) for key, seeds in found.items())


def _row(key: tuple[str, ...], seeds: dict[int, list[Scores]]) -> ResultRow:
    dataset, model, supervision, decoding = key
    n_splits = max(map(len, seeds.values()))
    whole = [_mean(splits) for splits in seeds.values() if len(splits) == n_splits]
    spread = {}
    if len(whole) > 1:
        spread = {c: statistics.stdev(one[c] for one in whole) for c in whole[0]}
    return ResultRow(
        dataset, model, supervision, decoding, n_splits, len(whole), _mean(whole), spread
    )


def _mean(scores: Sequence[Scores]) -> Scores:
    return {column: statistics.fmean(one[column] for one in scores) for column in scores[0]}


def write_results(out: Path, rows: Sequence[ResultRow]) -> None:
    """`results.csv`, `results.json` and `results.md`."""
    text = io.StringIO()
    values = [row.as_dict() for row in rows]
    if values:
        writer = csv.DictWriter(text, list(values[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(values)
    write_text(out / "results.csv", text.getvalue())
    write_json(out / "results.json", values)
    write_text(out / "results.md", as_markdown(rows))


def as_markdown(rows: Sequence[ResultRow]) -> str:
    """A table for documents."""
    header = "| dataset | model | supervision | decoding | Acc | Edit | F1@10/25/50 |"
    lines = [header, "|---|---|---|---|---|---|---|"]
    for row in rows:
        f1 = "/".join(shown(row, column) for column in COLUMNS[:3])
        cells = (row.dataset, row.model, row.supervision, row.decoding)
        lines.append(
            f"| {' | '.join(cells)} | {shown(row, 'acc')} | {shown(row, 'edit')} "
            f"| {'–' if '–' in f1 else f1} |"
        )
    return "\n".join(lines) + "\n"


def shown(row: ResultRow, column: str) -> str:
    """A number with its spread, or a dash."""
    if column not in row.mean:
        return "–"
    spread = f" ± {row.spread[column]:.1f}" if row.spread else ""
    return f"{row.mean[column]:.1f}{spread}"
