"""Pseudo-segmentations from class models shared by all videos (beyond the paper).

K-medoids looks at one video at a time. But the timestamps say which segments, anywhere in the
data, show the same action. So cuts and models take turns, from k-medoids on: each frame between
two timestamps is compared with the means of the two segments around it, and with a diagonal
Gaussian for each of the two classes, fitted on the present segments of all videos. Either cue is
taken in units of its mean absolute difference over the gap, their sum decides the cut, and the
prior pulls to the midpoint as in k-medoids.

Features are averaged over a third of a mean segment, and for the Gaussians scaled to mean 0 and
variance 1 in each video, because videos differ more than actions do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from uvast.supervision.cuts import best_cut
from uvast.supervision.distances import TIE
from uvast.supervision.k_medoids import constrained_k_medoids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from uvast.data import Timestamps
    from uvast.segments import IntArray
    from uvast.supervision.distances import FloatArray, MetricName

    Read = Callable[[str], NDArray[np.floating[Any]]]

N_ROUNDS = 10
# the window of the moving average, in mean segments of the video
_WINDOW = 1 / 3
# the part of the variance over all classes in that of each class
_SHRINKAGE = 0.1
_LEAST_VARIANCE = 1e-9


def class_model_durations(
    read: Read,
    timestamps: Mapping[str, Timestamps],
    *,
    metric: MetricName = "euclidean",
    prior: float = 0.25,
    n_rounds: int = N_ROUNDS,
) -> dict[str, IntArray]:
    """Durations `(S,)` of each video.

    Every round reads every video once; no more than one is held at a time.

    Args:
        read: gives a video's features `(T, F)`.
        timestamps: of each video.
        metric: how frames are compared with their segments: by `euclidean` distance, or by
            direction alone (`cosine`).
        prior: the weight of the pull to the midpoint.
        n_rounds: the most rounds; they end early when no cut moves.
    """
    durations: dict[str, IntArray] = {}
    n_classes = 1 + max(int(entry.transcript.max()) for entry in timestamps.values())
    model: _ClassModel | None = None
    for _ in range(1 + n_rounds):
        fit = _Fit(n_classes)
        moved = False
        for name, entry in timestamps.items():
            video = _View.of(read(name), len(entry), metric)
            if model is None:
                found = constrained_k_medoids(video.local, entry.frames, metric, prior).durations
            else:
                found = _cut(video, entry, durations[name], model, prior)
            moved |= name not in durations or not np.array_equal(found, durations[name])
            durations[name] = found
            fit.add(video.shared, entry.transcript, found)
        if not moved:
            break
        model = fit.model()
    return durations


@dataclass(frozen=True)
class _View:
    """A video's features, averaged over time.

    Args:
        local: to compare frames of this video `(T, F)`.
        shared: to compare frames of all videos `(T, F)`, of mean 0 and variance 1.
        tie: distances of local features that are rounding errors.
    """

    local: FloatArray
    shared: FloatArray
    tie: float

    @classmethod
    def of(cls, features: NDArray[np.floating[Any]], n_segments: int, metric: MetricName) -> _View:
        window = max(1, round(_WINDOW * len(features) / n_segments))
        frames = np.asarray(features, dtype=np.float64)
        smooth: FloatArray = uniform_filter1d(frames, window, axis=0, mode="nearest")
        shared = smooth - smooth.mean(axis=0)
        deviations = shared.std(axis=0)
        # a constant feature has the deviation of its rounding errors
        constant = deviations <= TIE * np.abs(smooth).max(axis=0)
        shared /= np.where(constant, np.inf, deviations)
        if metric == "cosine":
            norms = np.linalg.norm(smooth, axis=1, keepdims=True)
            smooth = smooth / np.where(norms > 0, norms, 1)
        return cls(smooth, shared, TIE * float(np.abs(smooth).max()))


@dataclass(frozen=True)
class _ClassModel:
    """A diagonal Gaussian for each class.

    Args:
        means: `(C, F)`.
        variances: `(C, F)`.
    """

    means: FloatArray
    variances: FloatArray

    def costs(self, features: FloatArray, action: int) -> FloatArray:
        """Negative log-likelihoods `(n,)` of frames `(n, F)`, up to a constant."""
        variances = self.variances[action]
        costs: FloatArray = (features - self.means[action]) ** 2 @ (0.5 / variances)
        return costs + float(np.log(variances).sum()) / 2


class _Fit:
    """Sums that a class model is fitted on, video by video."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes
        self._counts = np.zeros((n_classes, 1))
        self._sums: FloatArray = np.zeros((n_classes, 0))
        self._squares: FloatArray = np.zeros((n_classes, 0))

    def add(self, features: FloatArray, transcript: IntArray, durations: IntArray) -> None:
        """Adds a video's frames `(T, F)`."""
        if not self._sums.size:
            self._sums = np.zeros((self._n_classes, features.shape[1]))
            self._squares = np.zeros_like(self._sums)
        starts = np.cumsum(durations) - durations
        np.add.at(self._counts[:, 0], transcript, durations)
        np.add.at(self._sums, transcript, np.add.reduceat(features, starts, axis=0))
        np.add.at(self._squares, transcript, np.add.reduceat(features**2, starts, axis=0))

    def model(self) -> _ClassModel:
        """The class model; a class without frames is never asked for."""
        counts = np.maximum(self._counts, 1)
        means = self._sums / counts
        variances = np.maximum(self._squares / counts - means**2, 0)
        overall = self._squares.sum(axis=0) / self._counts.sum()
        variances = (1 - _SHRINKAGE) * variances + _SHRINKAGE * overall
        return _ClassModel(means, np.maximum(variances, _LEAST_VARIANCE))


def _cut(
    video: _View, timestamps: Timestamps, durations: IntArray, model: _ClassModel, prior: float
) -> IntArray:
    """New durations `(S,)` from the means of the present segments and the class model."""
    frames, actions = timestamps.frames.tolist(), timestamps.transcript.tolist()
    starts = np.cumsum(durations) - durations
    means = np.add.reduceat(video.local, starts, axis=0) / durations[:, None]
    cuts = [0]
    for left in range(len(frames) - 1):
        right = left + 1
        gap = slice(frames[left], frames[right])
        local, shared = video.local[gap], video.shared[gap]
        near = np.linalg.norm(local - means[left], axis=1)
        far = np.linalg.norm(local - means[right], axis=1)
        alike = model.costs(shared, actions[left]) - model.costs(shared, actions[right])
        difference = _in_units(near - far, video.tie) + _in_units(alike, TIE)
        cuts.append(gap.start + best_cut(difference, prior, tie=TIE))
    return np.diff(cuts, append=len(video.local))


def _in_units(difference: FloatArray, tie: float) -> FloatArray:
    unit = np.abs(difference).mean()
    return difference / unit if unit > tie else np.zeros_like(difference)
