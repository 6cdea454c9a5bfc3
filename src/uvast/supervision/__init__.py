"""From full labels or timestamps to training targets (docs/method.md, Timestamps).

Shapes: T frames, S segments, F features. A pseudo-segmentation is inferred from timestamps and
takes the place of the ground truth in training.
"""

from uvast.supervision.class_cuts import cut_again, fit_class_model
from uvast.supervision.class_model import ClassModel
from uvast.supervision.cut_posterior import CutPosterior, cut_posteriors
from uvast.supervision.energy import energy_durations
from uvast.supervision.k_medoids import constrained_k_medoids, unconstrained_k_medoids
from uvast.supervision.targets import (
    JoinedFeatures,
    PseudoLabelOptions,
    full_segmentations,
    pseudo_segmentations,
)
from uvast.supervision.video_view import VideoView

__all__ = [
    "ClassModel",
    "CutPosterior",
    "JoinedFeatures",
    "PseudoLabelOptions",
    "VideoView",
    "constrained_k_medoids",
    "cut_again",
    "cut_posteriors",
    "energy_durations",
    "fit_class_model",
    "full_segmentations",
    "pseudo_segmentations",
    "unconstrained_k_medoids",
]
