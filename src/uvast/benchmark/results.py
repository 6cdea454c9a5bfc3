"""One table of the scores of cells: mean over splits, then mean and spread over seeds."""

from __future__ import annotations

import csv
import io
import json
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from uvast.benchmark.cell_scores import CellScores, known_scores
from uvast.benchmark.decoded_scores import COLUMNS, ScoreColumns
from uvast.benchmark.layout import Layout, Line, as_markdown, laid_out
from uvast.benchmark.paper_tables import find_table
from uvast.benchmark.systems import method_name
from uvast.errors import counted
from uvast.evaluation.scores import file_suffix
from uvast.files import write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from uvast.benchmark.cell import Cell
    from uvast.evaluation.scores import ScoreProtocol

    Key = tuple[str, str, str, str]
    """Dataset, model, kind of network, supervision."""

PAPER_TABLES = {"full": "fully-supervised", "timestamps": "timestamps"}
"""Kind of supervision to the table of the paper it belongs beside."""


@dataclass(frozen=True)
class ResultRow:
    """One row of the results.

    Args:
        dataset, model, decoding: their names.
        kind: the kind of network.
        supervision: `full` or `timestamps`.
        n_splits: the splits in the mean.
        n_splits_wanted: the splits asked for; fewer are in the mean while some are not finished.
        n_seeds: the seeds in the mean.
        n_seeds_wanted: the seeds asked for.
        mean: column to mean.
        spread: column to standard deviation over seeds; empty for one seed.
        note: what a reader must know about the model, such as `transductive`.
        protocol: by which all of them are scored.
    """

    dataset: str
    model: str
    kind: str
    supervision: str
    decoding: str
    n_splits: int
    n_splits_wanted: int
    n_seeds: int
    n_seeds_wanted: int
    mean: ScoreColumns
    spread: ScoreColumns
    note: str = ""
    protocol: ScoreProtocol = "standard"

    @property
    def remark(self) -> str:
        """The note, and how many splits or seeds there are if some are missing."""
        counts = (
            ("splits", self.n_splits, self.n_splits_wanted),
            ("seeds", self.n_seeds, self.n_seeds_wanted),
        )
        missing = [f"{n} of {wanted} {name}" for name, n, wanted in counts if n < wanted]
        return ", ".join([*[self.note] * bool(self.note), *missing])

    def as_dict(self) -> dict[str, Any]:
        """Flat, for CSV and JSON."""
        return {
            "dataset": self.dataset,
            "model": self.model,
            "kind": self.kind,
            "supervision": self.supervision,
            "decoding": self.decoding,
            "note": self.remark,
            "protocol": self.protocol,
            "splits": self.n_splits,
            "splits wanted": self.n_splits_wanted,
            "seeds": self.n_seeds,
            "seeds wanted": self.n_seeds_wanted,
            **{column: self.mean.get(column) for column in COLUMNS},
            **{f"{column} spread": self.spread.get(column) for column in COLUMNS},
        }


def collect(cells: Sequence[Cell], out: Path) -> tuple[ResultRow, ...]:
    """The table of finished cells.

    A row's mean is over seeds that have the same splits, as many as possible; its `remark` says if
    some are missing.
    """
    rows = []
    for key, group, note in _alike(cells):
        found = [(cell, record) for cell in group if (record := known_scores(cell, out))]
        notes = [one for one in (note, _own_inner_runs([one for _, one in found])) if one]
        for name in {name: None for cell in group for name in cell.decodings}:
            seeds: dict[int, dict[int, ScoreColumns]] = {cell.seed: {} for cell in group}
            for cell, record in found:
                scores = record.of(cell)
                if name in scores:
                    seeds[cell.seed][cell.split] = scores[name]
            if any(seeds.values()):
                row = _row(key, name, len({cell.split for cell in group}), seeds)
                rows.append(replace(row, note=", ".join(notes), protocol=group[0].protocol))
    return tuple(rows)


def _own_inner_runs(records: Sequence[CellScores]) -> str:
    """How many seeds chose how to decode by themselves, where others took over a seed's choice.

    Empty if every choice was taken over, as in an ensemble's members, or none was.
    """
    cells = [one.cell for one in records]
    taken_over = {cell.calibrated_by for cell in cells} - {None}
    own = [cell for cell in cells if cell.calibrated_by is None]
    if not taken_over or taken_over >= {cell.key for cell in own}:
        return ""
    n_own, n_seeds = (len({cell.seed for cell in part}) for part in (own, cells))
    return f"{n_own} of {n_seeds} seeds with inner runs of their own"


def _alike(cells: Sequence[Cell]) -> Iterator[tuple[Key, Sequence[Cell], str]]:
    """Cells that differ only in split and seed, and how they differ from others of their name.

    All cells of a group are scored by one protocol. Datasets of one name are told apart in the
    whole table.
    """
    places = {cell.data: cell.dataset for cell in reversed(cells)}
    groups: dict[Key, dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        config = cell.config
        key: Key = (cell.data, cell.model, config.model.kind, config.supervision.kind)
        same = json.dumps([cell.protocol, cell.settings], sort_keys=True, default=str)
        groups[key][same].append(cell)
    for name_of, variants in groups.items():
        usual, *_ = (group[0].settings for group in variants.values())
        usual["dataset"] = places[name_of[0]]
        for group in variants.values():
            own = group[0].settings
            others = [f"{name}={own[name]}" for name in own if own[name] != usual[name]]
            yield name_of, group, ", ".join([*[group[0].note] * bool(group[0].note), *others[:3]])


def _row(
    key: Key,
    decoding: str,
    n_splits_wanted: int,
    seeds: Mapping[int, Mapping[int, ScoreColumns]],
) -> ResultRow:
    alike = Counter(frozenset(splits) for splits in seeds.values())
    chosen = max(alike, key=lambda splits: (len(splits), alike[splits]))
    mean, spread = summary([list(one.values()) for one in seeds.values() if one.keys() == chosen])
    return ResultRow(
        *key,
        decoding=decoding,
        n_splits=len(chosen),
        n_splits_wanted=n_splits_wanted,
        n_seeds=alike[chosen],
        n_seeds_wanted=len(seeds),
        mean=mean,
        spread=spread,
    )


def summary(seeds: Sequence[Sequence[ScoreColumns]]) -> tuple[ScoreColumns, ScoreColumns]:
    """Mean over splits and seeds, and the standard deviation over seeds of the mean over splits.

    `seeds` holds the scores of each seed's splits; a single seed has no spread.
    """
    means = [_mean(splits) for splits in seeds]
    if len(means) < 2:
        return _mean(means), {}
    return _mean(means), {c: statistics.stdev(one[c] for one in means) for c in means[0]}


def _mean(scores: Sequence[ScoreColumns]) -> ScoreColumns:
    return {column: statistics.fmean(one[column] for one in scores) for column in scores[0]}


def layouts(rows: Sequence[ResultRow]) -> tuple[Layout, ...]:
    """One table per dataset, kind of supervision and protocol.

    If the dataset's folder has a published dataset's name, results appear in the paper's order,
    below the published numbers, and a model's other rows follow its last one there. Otherwise rows
    are listed model by model.
    """
    tables: dict[tuple[str, str, ScoreProtocol], list[ResultRow]] = defaultdict(list)
    for row in rows:
        tables[row.dataset, row.supervision, row.protocol].append(row)
    found = []
    for (dataset, supervision, protocol), mine in tables.items():
        table = find_table(PAPER_TABLES[supervision])
        ours: dict[str, list[Line]] = defaultdict(list)
        rank = {
            row.name: place
            for place, row in enumerate(table.rows)
            if row.published.get(dataset.lower())
        }
        for row in mine:
            line = Line(_method(row), scores=row.mean, spread=row.spread, remark=row.remark)
            ours[_place(row, mine, rank)].append(line)
        n_seeds = max(row.n_seeds_wanted for row in mine)
        size = size_of(max(row.n_splits_wanted for row in mine), n_seeds)
        spread = ", ± over seeds" * (n_seeds > 1)
        title = f"{dataset}, {supervision} supervision: mean of {size}{spread}"
        found.append(laid_out(title, COLUMNS, table, dataset, ours, protocol))
    return tuple(found)


def _place(row: ResultRow, rows: Sequence[ResultRow], rank: Mapping[str, int]) -> str:
    """The published row that a row of ours goes below: its own, or its model's last one."""
    if _name(row) in rank:
        return _name(row)
    of_model = [_name(one) for one in rows if one.model == row.model]
    return max((name for name in of_model if name in rank), key=rank.__getitem__, default="")


def _name(row: ResultRow) -> str:
    return method_name(row.kind, row.decoding)


def _method(row: ResultRow) -> str:
    return _name(row) if row.model == row.kind else f"{_name(row)} ({row.model})"


def size_of(n_splits: int, n_seeds: int) -> str:
    """`2 splits, 1 seed`."""
    return f"{counted(n_splits, 'split')}, {counted(n_seeds, 'seed')}"


def write_results(
    out: Path, rows: Sequence[ResultRow], protocol: ScoreProtocol = "standard"
) -> tuple[str, ...]:
    """Writes rows of one protocol: `results.csv`, `.json` and `.md`; returns the files' names."""
    values = [row.as_dict() for row in rows]
    table, records, text = (
        f"results{file_suffix(protocol)}.{kind}" for kind in ("csv", "json", "md")
    )
    write_text(out / table, as_csv(values))
    write_json(out / records, values)
    write_text(out / text, "\n".join(map(as_markdown, layouts(rows))))
    return table, records, text


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same keys as CSV."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()
