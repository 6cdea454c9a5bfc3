"""What a list of cells will cost, before the first one starts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from uvast.benchmark.cell_scores import finished_scores
from uvast.data import Dataset
from uvast.data.facts import read_facts
from uvast.devices import choose_device
from uvast.runs import RunFolder
from uvast.training import expected_seconds
from uvast.training.folds import folds_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.benchmark.cell import Cell


def cells_to_train(cells: Sequence[Cell], out: Path) -> tuple[Cell, ...]:
    """The cells whose training has not finished."""
    return tuple(
        cell
        for cell in cells
        if set(cell.decodings) - set(finished_scores(cell, out))
        and not RunFolder(out / cell.key).is_finished()
    )


def seconds_to_train(cells: Sequence[Cell], device: str) -> float:
    """Roughly how long it takes to train them one after the other.

    Each setting is measured once per dataset, for a second or so; its other cells count the same.
    """
    first: dict[tuple[object, ...], Cell] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    for cell in cells:
        own_folds = cell.calibrated_by is None
        key = (cell.dataset, cell.model, cell.config.supervision.kind, own_folds)
        first.setdefault(key, cell)
        counts[key] += 1
    return sum(count * _seconds(first[key], device) for key, count in counts.items())


def _seconds(cell: Cell, device: str) -> float:
    """The time of one cell with its inner runs; reads the labels or clicks that it learns from."""
    dataset = Dataset.open(cell.dataset)
    videos = dataset.side(cell.split, "train") if cell.fold is None else cell.fold.train
    no_folds = cell.training.train.validation or cell.calibrated_by is not None
    inner = () if no_folds else folds_of(cell.training, videos, (), dataset)
    facts = read_facts(
        dataset,
        [sample for video in videos for sample in dataset.samples(video)],
        supervision=cell.config.supervision.kind,
        timestamps=cell.timestamps,
        n_folds=len(inner),
    )
    config = cell.training.replaced(
        **{"train.sampling_rate": cell.config.train.sampling_rate or dataset.spec.sampling_rate}
    )
    return expected_seconds(config, facts, choose_device(device))
