"""A table of the paper, computed here: its rows as cells, or as pseudo-labels that are scored.

Rows with equal settings share a training, even across tables in one folder.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Literal

from uvast.benchmark.cell import Cell, with_decodings
from uvast.benchmark.cell_scores import finished_scores
from uvast.benchmark.engine import run_cells
from uvast.benchmark.layout import Layout, Line, as_latex, as_markdown, laid_out
from uvast.benchmark.matrix import check_once, chosen_splits, preset_of, resolved
from uvast.benchmark.results import as_csv, size_of, summary
from uvast.benchmark.tables import settings_digest
from uvast.config import load_config, parse_setting
from uvast.errors import ConfigError, UvastError
from uvast.evaluation.pseudo_labels import make_pseudo_labels, score_pseudo_labels
from uvast.files import write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from uvast.benchmark.decoded_scores import ScoreColumns
    from uvast.benchmark.engine import CellOutcome, Engine
    from uvast.benchmark.tables import Row, Table
    from uvast.config import Config
    from uvast.data import Dataset, Timestamps
    from uvast.evaluation.scores import ScoreProtocol
    from uvast.supervision import PseudoLabelOptions

Budget = Literal["quick", "paper"]

QUICK = {
    "model.width": 16,
    "model.attention_width": 8,
    "model.n_encoder_layers": 4,
    "model.n_stages": 2,
    "model.n_decoder_layers": 1,
    "model.decoder_feedforward": 32,
    "model.alignment_feedforward": 32,
    "train.epochs": 2,
    "train.batch_size": 4,
    "train.learning_rate": 5e-3,
    "train.checkpoint_seconds": 3600.0,
    "decode.fifa_steps": 30,
    "decode.max_segments": 30,
}
"""The quick budget: it shows that every row runs, not how well. One split is enough."""


@dataclass(frozen=True)
class Reproduction:
    """A table on a dataset.

    Args:
        table: the paper's table.
        dataset: the dataset.
        budget: `paper` takes the preset as it is, `quick` a few epochs of a small network.
        preset: what the rows build on; None takes the one with the dataset's name, or the defaults.
        splits: split numbers; None takes the table's own.
        seeds: training seeds.
        timestamps: the timestamps file; None finds the dataset's own.
        settings: further settings of every row, such as `train.epochs=50`, but none that defines
            a row of the table.
        protocol: how all rows are scored.
    """

    table: Table
    dataset: Dataset
    budget: Budget = "quick"
    preset: str | None = None
    splits: Sequence[int] | None = None
    seeds: Sequence[int] = (0,)
    timestamps: Path | None = None
    settings: Sequence[str] = ()
    protocol: ScoreProtocol = "standard"

    def __post_init__(self) -> None:
        check_once("seeds", self.seeds)
        chosen_splits(self.dataset, self.splits)
        for name, value in self._given.items():
            if name == "train.seed":
                raise ConfigError(
                    "--set train.seed would change nothing here", remedy=f"pass --seeds {value}"
                )
            if any(name in row.fixed for row in self.table.runnable):
                raise ConfigError(
                    f"--set {name} would overwrite what the rows of {self.table.name} stand for",
                    remedy="leave it out",
                )

    def cells(self) -> tuple[Cell, ...]:
        """The cells to train: one for all rows with equal settings."""
        found: dict[str, Cell] = {}
        for row in self.table.runnable:
            for one in self.cells_of(row) if row.kind == "model" else ():
                found[one.key] = with_decodings(one, found.get(one.key, one))
        return tuple(found.values())

    def cells_of(self, row: Row) -> Iterator[Cell]:
        """A row's training on every split and seed, with only its own decoding."""
        config = self._config(row)
        for seed, split in product(self.seeds, self._splits):
            yield Cell(
                model=f"{config.model.kind}-{settings_digest(config)}",
                dataset=str(self.dataset.path.resolve()),
                split=split,
                seed=seed,
                config=config,
                decodings={_decoding_name(row): dict(row.decode)},
                timestamps=resolved(self.timestamps),
                protocol=self.protocol,
            )

    def run(self, out: Path, engine: Engine) -> Iterator[CellOutcome]:
        """Runs what is left of the cells."""
        yield from run_cells(self.cells(), out, engine)

    def layout(self, out: Path) -> Layout:
        """The table of finished rows, with published numbers beside them."""
        ours = {row.name: [self._line(row, out)] for row in self.table.runnable}
        size = size_of(len(self._splits), len(self.seeds))
        title = f"{self.table.name} on {self.dataset.name}, budget {self.budget}: {size}"
        return laid_out(
            title, self.table.columns, self.table, self.dataset.name, ours, self.protocol
        )

    @cached_property
    def pseudo_labels(self) -> Mapping[str, ScoreColumns | UvastError]:
        """Row of pseudo-labels to its scores, or to why it has none."""
        return {
            row.name: self._pseudo_label_scores(row.pseudo_labels)
            for row in self.table.runnable
            if row.pseudo_labels is not None
        }

    @property
    def _given(self) -> dict[str, object]:
        return dict(map(parse_setting, self.settings))

    @property
    def _splits(self) -> tuple[int, ...]:
        wanted = self.splits
        if wanted is None and self.table.split is not None:
            wanted = (self.table.split,)
        chosen = chosen_splits(self.dataset, wanted)
        return chosen[:1] if wanted is None and self.budget == "quick" else chosen

    def _config(self, row: Row) -> Config:
        config = row.config(load_config(self.preset or preset_of(self.dataset.name) or "uvast"))
        if self.budget == "quick":
            stages = min(config.train.alignment_epochs, 1)
            config = config.replaced(**QUICK, **{"train.alignment_epochs": stages})
        return config.replaced(**self._given)

    def _line(self, row: Row, out: Path) -> Line:
        if row.kind == "pseudo-labels":
            found = self.pseudo_labels[row.name]
            if isinstance(found, UvastError):
                return Line(row.name, remark=f"failed: {found.what}")
            return Line(row.name, scores=found)
        name = _decoding_name(row)
        seeds: dict[int, list[ScoreColumns]] = defaultdict(list)
        cells = tuple(self.cells_of(row))
        for cell in cells:
            scores = finished_scores(cell, out)
            if name in scores:
                seeds[cell.seed].append(scores[name])
        runs = tuple(cell.key for cell in cells)
        whole = [one for one in seeds.values() if len(one) == len(self._splits)]
        if not whole:
            return _noted(cells[0], Line(row.name, remark="failed or not finished", run=runs))
        mean, spread = summary(whole)
        missing = len(self.seeds) - len(whole)
        remark = f"{missing} of {len(self.seeds)} seeds failed or not finished" if missing else ""
        line = Line(row.name, scores=mean, spread=spread, remark=remark, run=runs)
        return _noted(cells[0], line)

    def _pseudo_label_scores(self, options: PseudoLabelOptions) -> ScoreColumns | UvastError:
        try:
            timestamps = self.dataset.timestamps(self.timestamps)
            splits = [
                pseudo_label_scores(self.dataset, split, timestamps, options, self.protocol)
                for split in self._splits
            ]
        except UvastError as error:  # one row that fails must not stop the others
            return error
        return summary([splits])[0]


def pseudo_label_scores(
    dataset: Dataset,
    split: int,
    timestamps: Mapping[str, Timestamps],
    options: PseudoLabelOptions,
    protocol: ScoreProtocol = "standard",
) -> ScoreColumns:
    """Pseudo-labels of a split's training side against its true labels, where it has both."""
    side = [name for name in dataset.side(split, "train") if dataset.has_labels(name)]
    samples = [sample for name in side for sample in dataset.samples(name)]
    clicks = {name: timestamps[name] for name in samples if name in timestamps}
    made = make_pseudo_labels(dataset, clicks, options)
    return score_pseudo_labels(dataset, made, protocol=protocol).scores.columns()


def write_table(out: Path, name: str, layouts: Sequence[Layout]) -> None:
    """Writes `NAME.md`, `NAME.tex`, `NAME.csv`, and `NAME.json`, the data of its figure."""
    write_text(out / f"{name}.md", "\n".join(map(as_markdown, layouts)))
    write_text(out / f"{name}.tex", "\n".join(map(as_latex, layouts)))
    write_text(out / f"{name}.csv", as_csv([row for one in layouts for row in one.records()]))
    write_json(out / f"{name}.json", [one.figure() for one in layouts])


def _noted(cell: Cell, line: Line) -> Line:
    """The line with the cell's note before its own remark."""
    return replace(line, remark=", ".join(one for one in (cell.note, line.remark) if one))


def _decoding_name(row: Row) -> str:
    """Equal decodings have equal names, whatever their rows are called."""
    return ", ".join(f"{name}={value}" for name, value in sorted(row.decode.items()))
