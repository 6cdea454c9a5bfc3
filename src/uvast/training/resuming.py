"""Where a run stands, and how that is kept in a checkpoint."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import torch
from pydantic import Field

from uvast.errors import CheckpointError
from uvast.models.build import has_second_stage
from uvast.models.checkpoint import TensorFile, read_checkpoint
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

    from uvast.config import Config
    from uvast.inference.priors import Priors
    from uvast.runs import RunFolder

TARGET_PREFIX = "target."
AGAIN = "restore the file or train again"

Epoch = Annotated[int, Field(ge=0, le=10**9)]


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

    stage: Literal[1, 2] = 1
    epoch: Epoch = 0
    best_score: Annotated[float, Field(allow_inf_nan=False)] | None = None
    best_epoch: Epoch = 0
    finished: bool = False

    def left_of(self, epochs: Mapping[int, int]) -> dict[int, int]:
        """The epochs left in each unfinished stage; `epochs` has all epochs of each stage."""
        return {
            stage: n - self.epoch * (stage == self.stage)
            for stage, n in epochs.items()
            if stage > self.stage or (stage == self.stage and not self.finished)
        }

    def is_over(self, patience: int, validate_every: int) -> bool:
        """Whether the best epoch is too long ago; with a patience of 0 it never is.

        A patience shorter than the way to the next validation waits for that one.
        """
        if not patience or not self.best_epoch:
            return False
        return self.epoch - self.best_epoch >= max(patience, validate_every)

    def as_json(self) -> str:
        """As JSON, for a checkpoint's header."""
        return json.dumps(dataclasses.asdict(self))


@dataclass(frozen=True)
class State:
    """Where a run stands, apart from its weights; targets are those of the training samples."""

    progress: Progress
    priors: Priors
    targets: Mapping[str, Segmentation]

    def having(self, **changes: Any) -> State:
        """A copy with fields of the progress changed."""
        return dataclasses.replace(self, progress=dataclasses.replace(self.progress, **changes))


def read_state(path: Path) -> tuple[Progress, TensorFile]:
    """Reads the newest state of a run: its progress, and the whole checkpoint."""
    contents = read_checkpoint(path)
    return _progress(contents), contents


def read_progress(path: Path) -> Progress:
    """Reads only how far a run has come, from the header of its newest state."""
    return _progress(read_checkpoint(path, prefix=None))


def _progress(contents: TensorFile) -> Progress:
    return contents.header("progress", Progress, what="state", remedy=AGAIN)


def has_work_left(folder: RunFolder, config: Config) -> bool:
    """Whether a run is not finished, or has a stage left according to these settings."""
    if not folder.last.is_file():
        return True
    progress = read_progress(folder.last)
    epochs = config.train.epochs_of_stages(has_second=has_second_stage(config.model))
    return not progress.finished or bool(progress.left_of(epochs))


def target_tensors(segmentations: Mapping[str, Segmentation]) -> dict[str, Tensor]:
    """Refreshed targets as tensors `(2, S)`: transcript and durations."""
    return {
        f"{TARGET_PREFIX}{name}": torch.tensor([one.transcript.tolist(), one.durations.tolist()])
        for name, one in segmentations.items()
    }


def read_targets(
    contents: TensorFile, before: Mapping[str, Segmentation], n_classes: int
) -> dict[str, Segmentation]:
    """Reads what `target_tensors` returned; a video without a tensor keeps its target."""
    found = dict(before)
    for name, value in contents.tensors.items():
        if not name.startswith(TARGET_PREFIX):
            continue
        video = name[len(TARGET_PREFIX) :]
        try:
            found[video] = _target(value, before[video].n_frames, n_classes)
        except (KeyError, ValueError) as error:
            raise CheckpointError(
                f"has targets of {video!r} that do not fit the run ({error})",
                where=contents.path,
                remedy=AGAIN,
            ) from error
    return found


def _target(value: Tensor, n_frames: int, n_classes: int) -> Segmentation:
    if value.dtype != torch.int64 or value.ndim != 2 or len(value) != 2:
        raise ValueError(f"{value.dtype} of shape {tuple(value.shape)}")
    found = Segmentation(*value.numpy())
    if found.n_frames != n_frames or not all(0 <= one < n_classes for one in found.transcript):
        raise ValueError(f"{found.n_frames} of {n_frames} frames, {n_classes} classes")
    return found
