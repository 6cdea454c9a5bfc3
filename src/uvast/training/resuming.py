"""Where a run stands, and how that is kept in a checkpoint."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from uvast.errors import CheckpointError
from uvast.models.checkpoint import TensorFile, read_checkpoint
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

    from uvast.inference.priors import Priors

TARGET_PREFIX = "target."


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Args:
        stage: 1 or 2.
        epoch: finished epochs of that stage.
        best_score: the highest validation score of the stage so far.
        best_epoch: the epoch that reached it.
        finished: whether nothing is left to train.
    """

    stage: int = 1
    epoch: int = 0
    best_score: float | None = None
    best_epoch: int = 0
    finished: bool = False

    def left_of(self, epochs: Mapping[int, int]) -> dict[int, int]:
        """Of the epochs of each stage, those that are still to come; finished stages left out."""
        return {
            stage: n - self.epoch * (stage == self.stage)
            for stage, n in epochs.items()
            if stage > self.stage or (stage == self.stage and not self.finished)
        }

    def is_over(self, patience: int) -> bool:
        """Whether the best epoch is too long ago; with a patience of 0 it never is."""
        return bool(patience and self.best_epoch and self.epoch - self.best_epoch >= patience)

    def as_json(self) -> str:
        """For a checkpoint's header."""
        return json.dumps(dataclasses.asdict(self))


@dataclass(frozen=True)
class State:
    """Where a run stands, beside its weights.

    Args:
        progress: how far it has come.
        priors: what decoding knows.
        targets: of the training videos, by name.
    """

    progress: Progress
    priors: Priors
    targets: Mapping[str, Segmentation]

    def having(self, **changes: Any) -> State:
        """With fields of the progress changed."""
        return dataclasses.replace(self, progress=dataclasses.replace(self.progress, **changes))


def read_state(path: Path) -> tuple[Progress, TensorFile]:
    """The newest state of a run."""
    contents = read_checkpoint(path)
    try:
        return Progress(**json.loads(contents.metadata["progress"])), contents
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"holds no state to go on from ({error})", where=path, remedy="train again"
        ) from error


def target_tensors(segmentations: Mapping[str, Segmentation]) -> dict[str, Tensor]:
    """Refreshed targets as tensors `(2, S)`: transcript and durations."""
    return {
        f"{TARGET_PREFIX}{name}": torch.tensor([one.transcript.tolist(), one.durations.tolist()])
        for name, one in segmentations.items()
    }


def read_targets(tensors: Mapping[str, Tensor]) -> dict[str, Segmentation]:
    """Reads what `target_tensors` gave."""
    return {
        name[len(TARGET_PREFIX) :]: Segmentation(*value.numpy())
        for name, value in tensors.items()
        if name.startswith(TARGET_PREFIX)
    }
