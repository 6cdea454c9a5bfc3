"""From full labels or timestamps to what a model learns (docs/method.md, Timestamps).

Shapes: T frames, S segments, F features. A pseudo-segmentation is inferred from timestamps and
takes the place of the ground truth in training.
"""

from uvast.supervision.class_model import class_model_durations
from uvast.supervision.k_medoids import constrained_k_medoids, unconstrained_k_medoids
from uvast.supervision.targets import (
    JoinedFeatures,
    PseudoLabelOptions,
    full_segmentations,
    pseudo_segmentations,
)

__all__ = [
    "JoinedFeatures",
    "PseudoLabelOptions",
    "class_model_durations",
    "constrained_k_medoids",
    "full_segmentations",
    "pseudo_segmentations",
    "unconstrained_k_medoids",
]
