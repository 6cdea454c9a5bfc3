"""The matrix of a benchmark: datasets × models × supervision × splits × seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.benchmark.cell import Cell
from uvast.benchmark.decodings import decodings_of, named_decodings
from uvast.config import load_config
from uvast.data import Dataset
from uvast.errors import SplitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Matrix:
    """What a benchmark compares.

    Args:
        datasets: folders.
        presets: a model each: its name in the table is the preset's.
        supervision: `full`, `timestamps` or both.
        decodings: names of `DECODINGS`; None takes all that fit the model.
        splits: split numbers; None takes all of a dataset.
        seeds: of training.
        settings: further settings of every cell: `train.epochs=50`.
        timestamps: the timestamps file; None finds each dataset's own.
    """

    datasets: Sequence[Path]
    presets: Sequence[str]
    supervision: Sequence[str] = ("full",)
    decodings: Sequence[str] | None = None
    splits: Sequence[int] | None = None
    seeds: Sequence[int] = (0,)
    settings: Sequence[str] = ()
    timestamps: Path | None = None

    def cells(self) -> tuple[Cell, ...]:
        """Every cell, the splits of one model together."""
        return tuple(self._cells())

    def _cells(self) -> Iterator[Cell]:
        for folder in self.datasets:
            dataset = Dataset.open(folder)
            splits = self._splits(dataset)
            for supervision in self.supervision:
                for preset in self.presets:
                    changes = [*self.settings, f"supervision.kind={supervision}"]
                    config = load_config(preset, settings=changes)
                    names = self.decodings or decodings_of(
                        config.model.kind, alignment=config.train.alignment_epochs > 0
                    )
                    for seed in self.seeds:
                        for split in splits:
                            yield Cell(
                                model=preset,
                                dataset=str(folder.resolve()),
                                split=split,
                                seed=seed,
                                config=config,
                                decodings=named_decodings(names),
                                timestamps=_resolved(self.timestamps),
                            )

    def _splits(self, dataset: Dataset) -> Sequence[int]:
        if not dataset.splits:
            raise SplitError(
                "has no splits", where=dataset.path, remedy="make them with 'uvast data split'"
            )
        return self.splits or tuple(dataset.splits)


def _resolved(path: Path | None) -> str | None:
    return None if path is None else str(path.resolve())
