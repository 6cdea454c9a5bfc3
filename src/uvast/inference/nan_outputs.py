"""Why a model gives NaN for a video: its features, if they are out of range, else its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.data.scaling import OUT_OF_RANGE
from uvast.errors import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.data import Scaling, Video


def outputs_are_nan(video: Video, scalings: Iterable[Scaling | None]) -> CheckpointError:
    """The error that says so.

    Args:
        video: its features are as they were read.
        scalings: how the model scales them, or each member of an ensemble; None where it does not.
    """
    return CheckpointError(
        "the model's outputs are NaN", where=video.name, remedy=_remedy(video, scalings)
    )


def _remedy(video: Video, scalings: Iterable[Scaling | None]) -> str:
    for scaling in scalings:
        largest = _largest(video, scaling)
        if largest > OUT_OF_RANGE and scaling is None:
            return (
                f"features reach {largest:.2g} and the model does not scale them: check them, "
                "or train again with train.scaling=true or train.scaling=video"
            )
        if largest > OUT_OF_RANGE:
            return (
                f"features are up to {largest:.2g} standard deviations away from those of the "
                "training videos: check them, or train again with train.scaling=video"
            )
    return (
        "its weights are broken: train again with a lower train.learning_rate, "
        "or check the features that it was trained on"
    )


def _largest(video: Video, scaling: Scaling | None) -> float:
    """The largest absolute value that the network sees; 0 if every video has its own scale."""
    ends = np.stack((video.features.min(axis=0), video.features.max(axis=0)))
    if scaling is None:
        return float(np.abs(ends).max())
    if scaling.levels:
        return 0.0
    return float((np.abs(ends - scaling.mean) / scaling.deviation).max())
