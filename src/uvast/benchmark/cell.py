"""One cell of a benchmark: a model trained once, its test side decoded in every way asked for."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.config import Config, parse_config
from uvast.data import Dataset
from uvast.errors import CorruptFileError, OutputError, UvastError
from uvast.evaluation import edit_score, score
from uvast.evaluation.scores import HEADINGS
from uvast.files import read_json, write_json
from uvast.inference import load, segment
from uvast.runs import RunFolder
from uvast.training import resume, train

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.inference import Segmenter
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary

SCORES_FILE = "scores.json"
RUN_FILE = "run.json"
COLUMNS = tuple(HEADINGS)

Scores = dict[str, float]
"""Column to number; a bare transcript has only `edit`."""


@dataclass(frozen=True)
class Cell:
    """What is trained and how it is decoded.

    Args:
        model: a name for the table.
        dataset: the dataset's folder, absolute.
        split: the training side it learns from; its test side is scored.
        seed: of training.
        config: all settings; the seed replaces the config's own.
        decodings: name to changes of the config's `decode` section: `{"durations": "fifa"}`.
        timestamps: the timestamps file; None finds the dataset's own.
    """

    model: str
    dataset: str
    split: int
    seed: int
    config: Config
    decodings: Mapping[str, Mapping[str, Any]]
    timestamps: str | None = None

    @property
    def key(self) -> str:
        """The cell's folder below the benchmark's."""
        supervision = self.config.supervision.kind
        return f"{self.data}/{self.model}-{supervision}/split{self.split}-seed{self.seed}"

    @property
    def data(self) -> str:
        """The dataset's name: its folder's."""
        return Path(self.dataset).name

    @property
    def training(self) -> Config:
        """The config with the cell's seed."""
        return self.config.replaced(**{"train.seed": self.seed})

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "model": self.model,
            "dataset": self.dataset,
            "split": self.split,
            "seed": self.seed,
            "config": self.config.as_dict(),
            "decodings": {name: dict(changes) for name, changes in self.decodings.items()},
            "timestamps": self.timestamps,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], *, where: str) -> Cell:
        """Reads what `as_dict` gave."""
        config = parse_config(values["config"], where=where)
        return cls(**{**values, "config": config})


def run_cell(cell: Cell, out: Path, *, device: str = "auto") -> dict[str, Scores]:
    """Trains, or goes on training, then scores what has no score yet.

    Scores are kept after every decoding, so that a break costs one at most; one that fails does
    not keep the others from theirs.

    Args:
        cell: what to do.
        out: the benchmark's folder; the cell is an ordinary run folder below it.
        device: `auto`, `cpu`, `cuda`, …

    Returns:
        Decoding to scores.
    """
    check_cell(cell, out)
    if is_finished(cell, out):
        return finished_scores(cell, out)
    folder = out / cell.key
    if (folder / RUN_FILE).exists():
        resume(folder, device=device)
    else:
        train(
            cell.dataset,
            folder,
            config=cell.training,
            split=cell.split,
            timestamps=cell.timestamps,
            device=device,
        )
    model = load(folder, device=device)
    dataset = Dataset.open(cell.dataset)
    record = _read_record(cell, out) or _Record(cell, {})
    record = _Record(with_decodings(cell, record.cell), record.of(cell))
    failed: dict[str, UvastError] = {}
    for name, changes in cell.decodings.items():
        if name not in record.scores:
            try:
                record.scores[name] = score_test_side(model, dataset, cell.split, changes)
            except UvastError as error:
                failed[name] = error
            record.write(folder / SCORES_FILE)
    record.write(folder / SCORES_FILE)
    if failed:
        raise _together(failed)
    return record.of(cell)


def _together(failed: Mapping[str, UvastError]) -> UvastError:
    """The first error, with the names of all decodings that have one."""
    first = next(iter(failed.values()))
    what = f"no scores of {', '.join(failed)} ({first.what})"
    return type(first)(what, where=first.where, remedy=first.remedy)


def is_finished(cell: Cell, out: Path) -> bool:
    """Whether a cell has all its scores."""
    record = _read_record(cell, out)
    return record is not None and not set(cell.decodings) - set(record.of(cell))


def finished_scores(cell: Cell, out: Path) -> dict[str, Scores]:
    """The scores that a cell has already, by decoding."""
    record = _read_record(cell, out)
    return {} if record is None else record.of(cell)


def check_cell(cell: Cell, out: Path) -> None:
    """Refuses a place that holds a run of other settings, finished or not."""
    folder = out / cell.key
    if not (folder / RUN_FILE).exists():
        return
    _, config, info = RunFolder.open(folder)
    theirs = {
        "dataset": info.dataset,
        "split": info.split,
        "timestamps": info.timestamps,
        **_flat(config),
    }
    ours = {
        "dataset": cell.dataset,
        "split": cell.split,
        "timestamps": cell.timestamps,
        **_flat(cell.training),
    }
    other = next((name for name in ours if ours[name] != theirs[name]), None)
    if other is not None:
        raise OutputError(
            f"holds a run of other settings ({other} is {theirs[other]} there, {ours[other]} here)",
            where=folder,
            remedy="choose another --out",
        )


def _flat(config: Config) -> dict[str, Any]:
    """`train.epochs` and so on to its value."""
    return {
        f"{section}.{name}": value
        for section, values in config.as_dict().items()
        for name, value in values.items()
    }


def earlier_cells(out: Path) -> tuple[Cell, ...]:
    """The cells of a benchmark's folder that have scores; files that cannot be read have none."""
    found = []
    for path in sorted(out.glob(f"*/*/*/{SCORES_FILE}")):
        with suppress(CorruptFileError):
            found.append(_Record.read(path).cell)
    return tuple(found)


@dataclass(frozen=True)
class _Record:
    """The content of a cell's file of scores."""

    cell: Cell
    scores: dict[str, Scores]

    def of(self, cell: Cell) -> dict[str, Scores]:
        """The scores of the decodings that mean the same to `cell`, or that it does not name."""
        return {
            name: one
            for name, one in self.scores.items()
            if cell.decodings.get(name, self.cell.decodings[name]) == self.cell.decodings[name]
        }

    def write(self, path: Path) -> None:
        """Writes it; a reader sees all or nothing."""
        write_json(path, {"cell": self.cell.as_dict(), "scores": self.scores})

    @classmethod
    def read(cls, path: Path) -> _Record:
        """Reads what `write` wrote."""
        try:
            values = read_json(path)
            cell = Cell.from_dict(values["cell"], where=str(path))
            scores = {
                name: values["scores"][name] for name in cell.decodings if name in values["scores"]
            }
            return cls(cell, {name: _checked_scores(one) for name, one in scores.items()})
        except (AttributeError, KeyError, TypeError, ValueError, UvastError) as error:
            raise CorruptFileError(
                f"is not a cell's scores ({getattr(error, 'what', error)})",
                where=path,
                remedy="remove this file: the run is scored again, without training",
            ) from error


def _checked_scores(scores: Mapping[str, float]) -> Scores:
    checked = {column: float(scores[column]) for column in scores}
    if tuple(checked) not in (COLUMNS, ("edit",)):
        raise ValueError(f"columns {', '.join(checked) or 'missing'}")
    return checked


def _read_record(cell: Cell, out: Path) -> _Record | None:
    path = out / cell.key / SCORES_FILE
    return _Record.read(path) if path.exists() else None


def with_decodings(cell: Cell, before: Cell) -> Cell:
    """The cell with the decodings that were asked for earlier, too."""
    return replace(cell, decodings={**before.decodings, **cell.decodings})


def score_test_side(
    model: Segmenter, dataset: Dataset, split: int, changes: Mapping[str, Any]
) -> Scores:
    """Scores of one way of decoding a split's test side, at the source rate."""
    predictions = segment(model, dataset.path, split=split, **changes)
    truths = {name: dataset.source_segmentation(name) for name in predictions}
    if any(one.segmentation is None for one in predictions.values()):
        background = dataset.vocabulary.background_ids
        edits = [
            edit_score(one.transcript, truths[name].transcript, background)
            for name, one in predictions.items()
        ]
        return {"edit": math.fsum(edits) / len(edits)}
    return score_segmentations(
        {n: one.segmentation for n, one in predictions.items() if one.segmentation is not None},
        truths,
        dataset.vocabulary,
    )


def score_segmentations(
    predicted: Mapping[str, Segmentation],
    truths: Mapping[str, Segmentation],
    vocabulary: Vocabulary,
) -> Scores:
    """Scores of videos at the source rate.

    Features may be a little longer than labels: predictions are cut as the dataset cuts them.
    """
    pairs = [(one.first(truths[name].n_frames), truths[name]) for name, one in predicted.items()]
    return score(pairs, vocabulary).columns()
