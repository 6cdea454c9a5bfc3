"""A video as class models see it: averaged over time, and scaled.

Features are averaged over a third of a mean segment. To compare videos, they are also scaled to
mean 0 and variance 1 in each, because videos differ more than actions do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.supervision.distances import TIE
from uvast.supervision.moving_average import moving_average

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uvast.config import MetricName
    from uvast.supervision.distances import FloatArray

# the window of the moving average, in mean segments of the video
_WINDOW = 1 / 3


def smoothed(features: NDArray[np.floating[Any]], n_segments: int) -> FloatArray:
    """A moving average over time `(T, F)`."""
    window = max(1, round(_WINDOW * len(features) / n_segments))
    return moving_average(np.ascontiguousarray(features), window)


@dataclass(frozen=True)
class Scale:
    """How a video's features are scaled to mean 0 and variance 1.

    `means` and `factors` are `(F,)`; the factor of a constant feature is 0. `largest` is the
    largest absolute value of any feature.
    """

    means: FloatArray
    factors: FloatArray
    largest: float

    @classmethod
    def of(cls, frames: FloatArray) -> Scale:
        """The scale of averaged features `(T, F)`."""
        means, deviations = frames.mean(axis=0), frames.std(axis=0)
        largest = np.maximum(frames.max(axis=0), -frames.min(axis=0))
        # a constant feature has the deviation of its rounding errors
        constant = deviations <= TIE * largest
        factors = np.where(constant, 0, 1 / np.where(constant, 1, deviations))
        return cls(means, factors, float(largest.max()))


@dataclass(frozen=True)
class VideoView:
    """A video's averaged features `(T, F)`, scaled a part at a time."""

    frames: FloatArray
    scale: Scale
    metric: MetricName

    @classmethod
    def of(
        cls, features: NDArray[np.floating[Any]], n_segments: int, metric: MetricName = "euclidean"
    ) -> VideoView:
        """A view of a video's features `(T, F)`, averaged for about `n_segments` segments."""
        frames = smoothed(features, n_segments)
        return cls(frames, Scale.of(frames), metric)

    def local(self, part: slice) -> FloatArray:
        """Features to compare frames of this video with each other `(n, F)`."""
        frames = self.frames[part]
        if self.metric == "euclidean":
            return frames
        norms = np.linalg.norm(frames, axis=1, keepdims=True)
        return frames / np.where(norms > 0, norms, 1)

    def shared(self, part: slice) -> FloatArray:
        """Features to compare frames of all videos with each other `(n, F)`."""
        frames = self.frames[part] - self.scale.means
        frames *= self.scale.factors
        return frames

    @property
    def tie(self) -> float:
        """The largest distance of local features that is just a rounding error."""
        return TIE * (self.scale.largest if self.metric == "euclidean" else 1)
