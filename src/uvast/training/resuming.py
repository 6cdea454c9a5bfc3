"""Where a run stands: the newest state on disk, and the models it hands out."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from uvast.errors import CheckpointError
from uvast.models import Uvast
from uvast.models.build import as_frame_model
from uvast.models.checkpoint import ModelCard, TensorFile, read_checkpoint
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor, nn

    from uvast.config import Config
    from uvast.data import Dataset
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

    def as_json(self) -> str:
        """For a checkpoint's header."""
        return json.dumps(dataclasses.asdict(self))


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


def model_card(
    model: nn.Module,
    config: Config,
    dataset: Dataset,
    priors: Priors,
    *,
    epoch: int,
    selection: str,
) -> ModelCard:
    """What a checkpoint of this run says of its model."""
    has_alignment = isinstance(model, Uvast) and model.alignment is not None
    return ModelCard(
        kind=config.model.kind,
        dimensions=dataclasses.asdict(as_frame_model(model).dimensions),
        vocabulary=dataset.vocabulary,
        sampling_rate=dataset.spec.sampling_rate,
        frames_per_second=dataset.spec.frames_per_second,
        supervision=config.supervision.kind,
        stage=2 if has_alignment else 1,
        epoch=epoch,
        selection=selection,
        decoding=priors.as_dict(),
        config=config.as_dict(),
    )
