"""One cell of a benchmark: a model trained once, its test side scored by every decoding.

`uvast.benchmark.run_cell` trains and scores it, `uvast.benchmark.cell_scores` keeps its scores.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a record's field types are read
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from uvast.benchmark.tables import single_settings
from uvast.config import Config  # noqa: TC001 - a record's field types are read
from uvast.evaluation.scores import ScoreProtocol  # noqa: TC001 - the same

if TYPE_CHECKING:
    from uvast.runs import RunInfo

EARLIER_BEAM_WIDTH = 5
"""The beam width of `best` in runs of earlier versions, which wrote it out."""

_Number = Annotated[int, Field(ge=0, lt=2**63)]
_Setting = bool | int | float | str | list[float]


@dataclass(frozen=True)
class CellFold:
    """The part of a training side that a cell is about (see `uvast.data.folds`).

    Args:
        number: which fold, from 1.
        of: how many there are.
        train: the videos to learn from.
        held_out: the videos to score.
    """

    number: _Number
    of: _Number
    train: tuple[str, ...]
    held_out: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """What is trained and how it is decoded.

    Args:
        model: a name for the table.
        dataset: the dataset's folder, absolute.
        split: the split whose training side it learns from; the test side is scored, unless `fold`
            is given.
        seed: the training seed.
        config: all settings; the seed replaces the config's own.
        decodings: name to changes to the config's `decode` section: `{"durations": "fifa"}`.
        timestamps: the timestamps file; None finds the dataset's own.
        fold: the parts of the training side to learn from and to score; the test side is then
            never seen.
        calibrated_by: the key of the cell whose inner runs also choose how this one decodes; None
            for inner runs of its own.
        protocol: how it is scored; cells that differ only in this share a run, but no scores.
    """

    model: str
    dataset: str
    split: _Number
    seed: _Number
    config: Config
    decodings: Mapping[str, Mapping[str, _Setting]]
    timestamps: str | None = None
    fold: CellFold | None = None
    calibrated_by: str | None = None
    protocol: ScoreProtocol = "standard"

    @property
    def key(self) -> str:
        """The cell's folder below the benchmark's."""
        method = f"{self.model}-{self.config.supervision.kind}"
        fold = "" if self.fold is None else f"-fold{self.fold.number}of{self.fold.of}"
        return f"{self.data}/{method}/split{self.split}{fold}-seed{self.seed}"

    @property
    def data(self) -> str:
        """The dataset's name: its folder's."""
        return Path(self.dataset).name

    @property
    def note(self) -> str:
        """What every row of its scores must say; empty if nothing."""
        return "transductive" if self.config.train.unlabelled == "test" else ""

    @property
    def settings(self) -> dict[str, object]:
        """Everything that defines it, except its split and its seed."""
        own = settings_of(self, self.config)
        return {name: own[name] for name in own if name not in ("split", "train.seed")}

    @property
    def training(self) -> Config:
        """The config with the cell's seed; `auto` holds out no videos beyond those it scores."""
        validation = self.config.train.validation
        share = 0.0 if validation == "auto" else validation
        return self.config.replaced(**{"train.seed": self.seed, "train.validation": share})


def settings_of(run: RunInfo | Cell, config: Config) -> dict[str, object]:
    """Everything that defines a run; a default beam width that earlier versions wrote out is 0."""
    own = EARLIER_BEAM_WIDTH if config.decode.transcript == "best" else 1
    width = 0 if config.decode.beam_width == own else config.decode.beam_width
    return {
        "dataset": run.dataset,
        "split": run.split,
        "timestamps": run.timestamps,
        **single_settings(config),
        "decode.beam_width": width,
    }


def with_decodings(cell: Cell, before: Cell) -> Cell:
    """The cell, with the decodings that were asked for earlier as well."""
    return replace(cell, decodings={**before.decodings, **cell.decodings})
