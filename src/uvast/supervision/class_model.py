"""What the segments of a class share: a Gaussian, how long they are, where people cut them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.supervision.click_lengths import ClickDistances

if TYPE_CHECKING:
    from uvast.data import Timestamps
    from uvast.segments import Segmentation
    from uvast.supervision.distances import FloatArray
    from uvast.supervision.video_view import VideoView

# how much of the variance over all classes is mixed into that of each class
_SHRINKAGE = 0.1
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True)
class ClassModel:
    """A diagonal Gaussian for each class: `means` and `variances` are `(C, F)`.

    `counts` says how many frames each class was fitted on `(C,)`, `lengths` how many frames its
    segments have on average `(C,)`. `offsets` says how many frames after the landmark in the
    features the cut between a left and a right class is `(C, C)`.
    """

    means: FloatArray
    variances: FloatArray
    counts: FloatArray
    lengths: FloatArray
    offsets: FloatArray

    def knows(self, *classes: int) -> bool:
        """Whether there were frames of all these classes."""
        return all(one < len(self.counts) and self.counts[one] > 0 for one in classes)

    def share(self, left: int, right: int) -> float:
        """The share of a gap between two classes that belongs to the left one, on average."""
        return float(self.lengths[left] / (self.lengths[left] + self.lengths[right]))

    def difference(self, frames: FloatArray, left: int, right: int) -> FloatArray:
        """How much lower the log-likelihood of frames `(n, F)` is in the left class `(n,)`."""
        weights = 0.5 / self.variances[[left, right]]
        slopes = weights * self.means[[left, right]]
        constants = (slopes * self.means[[left, right]] - np.log(weights) / 2).sum(axis=1)
        difference: FloatArray = frames**2 @ (weights[0] - weights[1])
        difference -= 2 * (frames @ (slopes[0] - slopes[1]))
        difference += constants[0] - constants[1]
        return difference


class ClassFit:
    """Collects the sums for a class model, video by video."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes
        self._counts = np.zeros((n_classes, 1))
        self._sums: FloatArray = np.zeros((n_classes, 0))
        self._squares: FloatArray = np.zeros((n_classes, 0))
        self._distances = ClickDistances(n_classes)

    def add(self, video: VideoView, timestamps: Timestamps, target: Segmentation) -> None:
        """Adds a video with its current pseudo-segmentation."""
        self._distances.add(timestamps, target.n_frames)
        if not self._sums.size:
            self._sums = np.zeros((self._n_classes, video.frames.shape[1]))
            self._squares = np.zeros_like(self._sums)
        for action, start, end in target.segments:
            frames = video.shared(slice(start, end))
            self._counts[action] += len(frames)
            self._sums[action] += frames.sum(axis=0)
            self._squares[action] += np.einsum("tf,tf->f", frames, frames)

    def model(self) -> ClassModel:
        """The class model, without offsets; it does not know a class without frames."""
        counts = np.maximum(self._counts, 1)
        means = self._sums / counts
        variances = np.maximum(self._squares / counts - means**2, 0)
        overall = self._squares.sum(axis=0) / self._counts.sum()
        variances = (1 - _SHRINKAGE) * variances + _SHRINKAGE * overall
        return ClassModel(
            means=means,
            variances=np.maximum(variances, _LEAST_VARIANCE),
            counts=self._counts[:, 0],
            lengths=self._distances.mean_lengths(),
            offsets=np.zeros((self._n_classes, self._n_classes)),
        )
