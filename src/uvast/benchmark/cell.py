"""One cell of a benchmark: a model trained once, its test side decoded in every way asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.config import Config, parse_config
from uvast.data import Dataset
from uvast.errors import CorruptFileError, OutputError
from uvast.evaluation import edit_score, score
from uvast.files import read_json, write_json
from uvast.inference import load, segment
from uvast.training import resume, train

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.inference import Segmenter

SCORES_FILE = "scores.json"
COLUMNS = ("f1@10", "f1@25", "f1@50", "edit", "acc")

Scores = dict[str, float]
"""Column to number; a bare transcript has only `edit`."""


@dataclass(frozen=True)
class Cell:
    """What is trained and how it is decoded.

    Args:
        model: a name for the table.
        dataset: the dataset's folder.
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
        data = Path(self.dataset).resolve().name
        return f"{data}/{self.model}-{supervision}/split{self.split}-seed{self.seed}"

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

    Args:
        cell: what to do.
        out: the benchmark's folder; the cell is an ordinary run folder below it.
        device: `auto`, `cpu`, `cuda`, …

    Returns:
        Decoding to scores.
    """
    folder = out / cell.key
    known = finished_scores(cell, out)
    missing = {name: how for name, how in cell.decodings.items() if name not in known}
    if not missing:
        return known
    if (folder / "run.json").exists():
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
    for name, changes in missing.items():
        known[name] = score_test_side(model, dataset, cell.split, changes)
    write_json(folder / SCORES_FILE, {"cell": cell.as_dict(), "scores": known})
    return known


def finished_scores(cell: Cell, out: Path) -> dict[str, Scores]:
    """The scores a cell has already, by decoding; other settings in its place are an error."""
    path = out / cell.key / SCORES_FILE
    if not path.exists():
        return {}
    values = read_json(path)
    try:
        before = Cell.from_dict(values["cell"], where=str(path))
        scores = {str(name): dict(one) for name, one in values["scores"].items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise CorruptFileError(
            f"is not a cell's scores ({error})", where=path, remedy="remove this file"
        ) from error
    if before.training != cell.training or before.timestamps != cell.timestamps:
        raise OutputError(
            "is a cell of other settings", where=path.parent, remedy="choose another --out"
        )
    same = {name for name, how in before.decodings.items() if cell.decodings.get(name, how) == how}
    return {name: one for name, one in scores.items() if name in same}


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
    pairs = [
        (one.segmentation, truths[name])
        for name, one in predictions.items()
        if one.segmentation is not None
    ]
    found = score(pairs, dataset.vocabulary).as_dict()
    return {column: float(str(found[column])) for column in COLUMNS}
