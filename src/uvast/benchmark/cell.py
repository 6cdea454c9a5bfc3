"""One cell of a benchmark: a model trained once, its test side decoded in every way asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.config import Config, parse_config
from uvast.data import Dataset
from uvast.errors import CorruptFileError, OutputError
from uvast.evaluation import edit_score, score
from uvast.evaluation.scores import HEADINGS
from uvast.files import read_json, write_json
from uvast.inference import load, segment
from uvast.segments import Segmentation
from uvast.training import resume, train
from uvast.training.run import RunFolder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.inference import Segmenter
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

    Scores are kept after every decoding, so that a break costs one at most.

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
    record = _Record(_with_decodings(cell, record.cell), record.of(cell))
    for name, changes in cell.decodings.items():
        if name not in record.scores:
            record.scores[name] = score_test_side(model, dataset, cell.split, changes)
            record.write(folder / SCORES_FILE)
    record.write(folder / SCORES_FILE)
    return record.of(cell)


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
    theirs = (config, info.dataset, info.split, info.timestamps)
    if theirs != (cell.training, cell.dataset, cell.split, cell.timestamps):
        raise OutputError(
            "holds a run of other settings", where=folder, remedy="choose another --out"
        )


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


def _read_record(cell: Cell, out: Path) -> _Record | None:
    path = out / cell.key / SCORES_FILE
    if not path.exists():
        return None
    values = read_json(path)
    try:
        before = Cell.from_dict(values["cell"], where=str(path))
        scores = {str(name): dict(one) for name, one in values["scores"].items()}
        return _Record(before, {name: scores[name] for name in before.decodings if name in scores})
    except (AttributeError, KeyError, TypeError) as error:
        raise CorruptFileError(
            f"is not a cell's scores ({error})", where=path, remedy="remove this file"
        ) from error


def _with_decodings(cell: Cell, before: Cell) -> Cell:
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
    pairs = []
    for name, one in predicted.items():
        n_frames = truths[name].n_frames
        if one.n_frames > n_frames:
            one = Segmentation.from_labels(one.labels[:n_frames])
        pairs.append((one, truths[name]))
    return score(pairs, vocabulary).columns()
