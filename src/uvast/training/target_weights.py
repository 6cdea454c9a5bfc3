"""Weights of rare targets in the losses, counted once on the targets that a run begins with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from uvast.training.losses import boundary_targets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from uvast.config import LossConfig
    from uvast.segments import Segmentation


@dataclass(frozen=True, eq=False)
class TargetWeights:
    """How much targets weigh in the losses.

    Args:
        classes: weight of each class `(C,)` in the frames' cross-entropy; None if all are equal.
        boundary: weight of a segment's start in the boundaries' cross-entropy.
    """

    classes: Tensor | None = None
    boundary: float = 1.0

    @classmethod
    def fit(
        cls, segmentations: Iterable[Segmentation], n_classes: int, config: LossConfig
    ) -> TargetWeights:
        """Counts the training targets.

        By median frequency, a class weighs the median share of frames over its own share (Eigen and
        Fergus 2015; the median is over the classes that occur). A start weighs one over its share
        of the frames.
        """
        labels = [torch.from_numpy(one.labels.copy()) for one in segmentations]
        balanced = config.class_weights == "median-frequency"
        return cls(
            classes=_median_frequency(labels, n_classes) if balanced else None,
            boundary=_one_over_share(labels, config.boundary_width),
        )


def _median_frequency(labels: Sequence[Tensor], n_classes: int) -> Tensor:
    """Weights `(C,)`; 1 for a class that never occurs."""
    counts = torch.cat(list(labels)).bincount(minlength=n_classes).double()
    occurs = counts > 0
    median = counts[occurs].quantile(0.5)  # for an even number, the mean of the middle two
    return torch.where(occurs, median / counts.clamp(min=1), 1.0).float()


def _one_over_share(labels: Sequence[Tensor], width: float) -> float:
    """The number of frames, without each video's first, over the sum of their boundary targets."""
    n_frames = sum(len(one) - 1 for one in labels)
    total = sum(float(boundary_targets(one[None], width)[:, 1:].sum()) for one in labels)
    return n_frames / total if total else 1.0
