"""One table of a comparison's scores: means, and paired differences with intervals."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from uvast.benchmark.cell_scores import finished_scores
from uvast.benchmark.comparison import BASE
from uvast.benchmark.decoded_scores import COLUMNS
from uvast.benchmark.layout import DASH, as_markdown
from uvast.benchmark.paired import CONFIDENCE, FEW_PAIRS, mean_difference
from uvast.benchmark.results import as_csv
from uvast.errors import printable
from uvast.evaluation.scores import HEADINGS
from uvast.files import write_json, write_text
from uvast.report.content import Compared
from uvast.report.figures import write_differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from uvast.benchmark.comparison import Variant
    from uvast.benchmark.paired import Difference

SCORE = "score"
JUDGED = ("acc", "edit", "f1@50")
"""The columns that `score` averages, as in `Scores.selection`."""

SHOWN: Mapping[str, str] = MappingProxyType(
    {**{column: HEADINGS[column] for column in JUDGED}, SCORE: "mean"}
)
"""Column to heading of printed tables; files have all columns."""

OVER_DATASETS = "mean over datasets"

Pairs = dict[tuple[int, int, int], dict[str, float]]
"""Split, fold and seed to column to score."""


@dataclass(frozen=True)
class ComparedRow:
    """One row: the base or a change, by one decoding.

    Args:
        dataset, supervision, model, change, decoding: their names.
        n_runs: the runs in the means; for a change, those whose base is finished, too.
        n_runs_wanted: the runs asked for.
        means: column to mean.
        differences: column to paired difference from the base; empty for the base itself.
        folders: where its runs are, relative to the comparison's folder.
        note: what a reader must know about the model, such as `transductive`.
    """

    dataset: str
    supervision: str
    model: str
    change: str
    decoding: str
    n_runs: int
    n_runs_wanted: int
    means: Mapping[str, float]
    differences: Mapping[str, Difference]
    folders: tuple[str, ...]
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Flat, for CSV and JSON."""
        values: dict[str, Any] = {
            "dataset": self.dataset,
            "supervision": self.supervision,
            "model": self.model,
            "change": self.change,
            "decoding": self.decoding,
            "note": self.note,
            "runs": self.n_runs,
            "runs wanted": self.n_runs_wanted,
        }
        for column in (*COLUMNS, SCORE):
            found = self.differences.get(column)
            low, high = (None, None) if found is None else found.interval or (None, None)
            values |= {
                column: self.means.get(column),
                f"{column} difference": None if found is None else found.mean,
                f"{column} low": low,
                f"{column} high": high,
                f"{column} clear": None if found is None else found.is_clear,
            }
        return {**values, "folders": " ".join(self.folders)}


@dataclass(frozen=True)
class ComparedTable:
    """A printed table of one dataset, supervision and model; see `uvast.benchmark.layout`."""

    title: str
    rows: tuple[ComparedRow, ...]
    sources: str = ""
    texts = ("decoding", "settings")

    @property
    def header(self) -> tuple[str, ...]:
        """The headings of all columns."""
        return (*self.texts, *SHOWN.values(), *(f"Δ {one}" for one in SHOWN.values()))

    def cells(self) -> list[list[str]]:
        """The table as text."""
        return [
            [
                printable(one.decoding),
                printable(_settings(one)),
                *(_number(one.means.get(column)) for column in SHOWN),
                *(_shown(one.differences.get(column)) for column in SHOWN),
            ]
            for one in self.rows
        ]


def compared_rows(variants: Sequence[Variant], out: Path) -> tuple[ComparedRow, ...]:
    """The rows of finished runs; with several datasets, their mean follows."""
    bases = {
        (one.dataset, one.supervision, one.model): one for one in variants if one.change == BASE
    }
    rows: list[ComparedRow] = []
    pairs: dict[tuple[str, str, str, str], list[_Paired]] = defaultdict(list)
    for variant in variants:
        key = (variant.dataset, variant.supervision, variant.model)
        for paired in _paired(variant, bases[key], out):
            rows.append(paired.row)
            pairs[(*key[1:], variant.change, paired.row.decoding)].append(paired)
    n_datasets = len({one.dataset for one in variants})
    shared = [several for several in pairs.values() if 1 < len(several) == n_datasets]
    return (*rows, *map(_over_datasets, shared))


@dataclass(frozen=True)
class _Paired:
    """A row and the differences it was made from."""

    row: ComparedRow
    differences: Mapping[str, Sequence[float]]


def _paired(variant: Variant, base: Variant, out: Path) -> Iterator[_Paired]:
    scores, theirs = _scores(variant, out), _scores(base, out)
    for decoding, mine in scores.items():
        other = theirs.get(decoding, {})
        common = [key for key in mine if key in other]
        differences: dict[str, list[float]] = {}
        if variant is not base and common:
            columns = [one for one in mine[common[0]] if one in other[common[0]]]
            differences = {
                one: [mine[key][one] - other[key][one] for key in common] for one in columns
            }
        counted = common or list(mine)
        row = ComparedRow(
            dataset=variant.dataset,
            supervision=variant.supervision,
            model=variant.model,
            change=variant.change,
            decoding=decoding,
            n_runs=len(counted),
            n_runs_wanted=len(variant.cells),
            means={
                one: statistics.fmean(mine[key][one] for key in counted) for one in mine[counted[0]]
            },
            differences={one: mean_difference([found]) for one, found in differences.items()},
            folders=tuple(dict.fromkeys(cell.key.rpartition("/")[0] for cell in variant.cells)),
            note=variant.cells[0].note,
        )
        yield _Paired(row, differences)


def _scores(variant: Variant, out: Path) -> dict[str, Pairs]:
    """Decoding to the scores of finished runs."""
    found: dict[str, Pairs] = defaultdict(dict)
    for cell in variant.cells:
        assert cell.fold is not None, "a comparison has folds"
        scores = finished_scores(cell, out)
        for name, recorded in variant.decodings.items():
            if recorded in scores:
                columns = dict(scores[recorded])
                if all(column in columns for column in JUDGED):
                    columns[SCORE] = statistics.fmean(columns[column] for column in JUDGED)
                found[name][cell.split, cell.fold.number, cell.seed] = columns
    return found


def _over_datasets(several: Sequence[_Paired]) -> ComparedRow:
    """The mean of the rows of all datasets, with equal weights."""
    rows = [one.row for one in several]
    columns = [one for one in rows[0].means if all(one in row.means for row in rows)]
    paired = [one for one in columns if all(one in found.differences for found in several)]
    return ComparedRow(
        dataset=OVER_DATASETS,
        supervision=rows[0].supervision,
        model=rows[0].model,
        change=rows[0].change,
        decoding=rows[0].decoding,
        n_runs=sum(row.n_runs for row in rows),
        n_runs_wanted=sum(row.n_runs_wanted for row in rows),
        means={one: statistics.fmean(row.means[one] for row in rows) for one in columns},
        differences={
            one: mean_difference([found.differences[one] for found in several]) for one in paired
        },
        folders=(),
        note=rows[0].note,
    )


def compared_tables(rows: Sequence[ComparedRow]) -> tuple[ComparedTable, ...]:
    """One table per dataset, supervision and model, with the variants of a decoding together."""
    groups: dict[tuple[str, str, str], dict[str, list[ComparedRow]]] = defaultdict(dict)
    for row in rows:
        group = groups[row.dataset, row.supervision, row.model]
        group.setdefault(row.decoding, []).append(row)
    return tuple(
        ComparedTable(
            printable(
                f"{dataset}, {model}, {supervision} supervision: inner cross-validation on "
                f"training sides; Δ is to the base, ± its {100 * CONFIDENCE:.0f} % interval, "
                "* excludes 0"
            ),
            tuple(row for of_decoding in group.values() for row in of_decoding),
        )
        for (dataset, supervision, model), group in groups.items()
    )


def few_pairs(rows: Sequence[ComparedRow]) -> str | None:
    """What a reader must know about the intervals, if they rest on few pairs."""
    counts = [one.n_pairs for row in rows for one in row.differences.values()]
    if not counts or min(counts) >= FEW_PAIRS:
        return None
    pairs = "1 pair" if min(counts) == 1 else f"{min(counts)} pairs"
    return f"some differences rest on {pairs}, which says little; add --seeds, --folds or --splits"


def write_comparison(out: Path, rows: Sequence[ComparedRow]) -> None:
    """Writes `comparison.csv`, `comparison.json` and `comparison.md`."""
    values = [row.as_dict() for row in rows]
    write_text(out / "comparison.csv", as_csv(values))
    write_json(out / "comparison.json", values)
    write_text(out / "comparison.md", "\n".join(map(as_markdown, compared_tables(rows))))


def write_comparison_figure(out: Path, rows: Sequence[ComparedRow]) -> tuple[Path, ...]:
    """Writes `comparison.png` and `.svg`, the differences; nothing without matplotlib."""
    lines = [
        Compared(
            f"{row.dataset}, {row.model}, {row.decoding}: {row.change}",
            {name: row.differences[column].mean for column, name in _drawn(row)},
            {
                name: width
                for column, name in _drawn(row)
                if (width := row.differences[column].half_width) is not None
            },
        )
        for row in rows
        if row.differences
    ]
    return write_differences(lines, out, "comparison")


def _drawn(row: ComparedRow) -> Iterator[tuple[str, str]]:
    return ((column, name) for column, name in SHOWN.items() if column in row.differences)


def _settings(row: ComparedRow) -> str:
    counted = f"{row.n_runs} runs" if row.n_runs > 1 else "1 run"
    if row.n_runs < row.n_runs_wanted:
        counted = f"{row.n_runs} of {row.n_runs_wanted} runs"
    noted = f"{row.note}, " if row.note else ""
    return f"{row.change} [{noted}{counted}]"


def _number(value: float | None) -> str:
    return DASH if value is None else f"{value:.1f}"


def _shown(found: Difference | None) -> str:
    """`+1.2 ± 0.8*`."""
    if found is None:
        return ""
    width = DASH if found.half_width is None else f"{found.half_width:.1f}"
    return f"{found.mean:+.1f} ± {width}{'*' if found.is_clear else ' '}"
