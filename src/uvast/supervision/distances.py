"""Distances between the frames of one video, summed without ever holding them all.

Sums are exact to about `TIE` times the typical distance; smaller differences count as ties.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from uvast.config import MetricName
from uvast.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from uvast.segments import IntArray

    FloatArray = NDArray[np.float64]
    Frames = slice | IntArray

TIE = 1e-12

# rows in a block of distances: it stays small compared to the features, and fast
_N_ROWS = 512
# squared distances below this share of the squared norms are rounding errors of a zero
_ZERO = 1e-13


def metric_of(features: ArrayLike, name: MetricName) -> Metric:
    """The named metric on a video's features `(T, F)`."""
    if name not in get_args(MetricName):
        raise InputError(
            f"metric {name!r}", remedy=f"choose from {', '.join(get_args(MetricName))}"
        )
    frames = checked_frames(features)
    return Euclidean(frames) if name == "euclidean" else Cosine(frames)


def checked_frames(features: ArrayLike) -> FloatArray:
    """A copy of a video's features `(T, F)`, all finite."""
    frames = np.array(features, dtype=np.float64, order="C")
    if frames.ndim != 2 or not frames.size:
        raise InputError(f"features of shape {frames.shape}, not (T, F) with at least one frame")
    if not np.isfinite(frames).all():
        raise InputError("features with NaN or infinite values")
    return frames


class Euclidean:
    """Euclidean distance, by blocks of matrix products.

    Args:
        features: `(T, F)` float64; it is overwritten.
    """

    def __init__(self, features: FloatArray) -> None:
        # products lose the fewest digits around the mean
        features -= features.mean(axis=0)
        self.n_frames = len(features)
        self._features = features
        self._norms = np.einsum("tf,tf->t", features, features)
        self.tie = TIE * float(np.sqrt(self._norms.mean()))

    def from_frame(self, frame: int, frames: Frames) -> FloatArray:
        """Distances `(n,)` of `frames` from one frame."""
        distances: FloatArray = self._block(slice(frame, frame + 1), frames)[0]
        return distances

    def totals(self, frames: Frames) -> FloatArray:
        """Each frame's total distance `(n,)` to all of `frames`, every pair computed once."""
        indices = np.arange(self.n_frames)[frames]
        totals = np.zeros(len(indices))
        for start in range(0, len(indices), _N_ROWS):
            end = start + _N_ROWS
            block = self._block(_part(frames, indices, start, end), _part(frames, indices, start))
            n_rows = len(block)
            totals[start:end] += block.sum(axis=1)
            totals[start + n_rows :] += block[:, n_rows:].sum(axis=0)
        return totals

    def moved_totals(self, totals: FloatArray, old: slice, new: slice) -> FloatArray:
        """`totals(new)`, given `totals(old)` of an overlapping range.

        Only frames that left or joined are measured.
        """
        kept = slice(max(old.start, new.start), min(old.stop, new.stop))
        left = _outside(old, kept)
        if 2 * sum(map(_length, left)) > _length(kept):
            return self.totals(new)
        moved = np.zeros(_length(new))
        inner = slice(kept.start - new.start, kept.stop - new.start)
        moved[inner] = totals[kept.start - old.start : kept.stop - old.start]
        for part in left:
            moved[inner] -= self._cross_totals(kept, part)[0]
        came = _outside(new, kept)
        for part in came:
            own = slice(part.start - new.start, part.stop - new.start)
            to_part, to_kept = self._cross_totals(kept, part)
            moved[inner] += to_part
            moved[own] += to_kept + self.totals(part)
        first, last = came
        if _length(first) and _length(last):
            to_last, to_first = self._cross_totals(first, last)
            moved[: len(to_last)] += to_last
            moved[-len(to_first) :] += to_first
        return moved

    def _cross_totals(self, first: slice, second: slice) -> tuple[FloatArray, FloatArray]:
        """The total distance of each frame of a range to another range, both ways."""
        to_second, to_first = np.zeros(_length(first)), np.zeros(_length(second))
        if _length(second):
            for start in range(first.start, first.stop, _N_ROWS):
                rows = slice(start, min(start + _N_ROWS, first.stop))
                block = self._block(rows, second)
                to_second[start - first.start :][: len(block)] = block.sum(axis=1)
                to_first += block.sum(axis=0)
        return to_second, to_first

    def _block(self, rows: Frames, columns: Frames) -> FloatArray:
        block: FloatArray = self._features[rows] @ self._features[columns].T
        block *= -2
        norms = self._norms[rows][:, None] + self._norms[columns]
        block += norms
        norms *= _ZERO
        block[block < norms] = 0
        return np.sqrt(block, out=block)


class Cosine:
    """One minus the cosine; a frame of zeros is at distance 1 from every frame.

    Totals need only the sum of unit vectors, so their cost is linear in the number of frames.

    Args:
        features: `(T, F)` float64; it is overwritten.
    """

    def __init__(self, features: FloatArray) -> None:
        # scaled first, so that squares neither overflow nor vanish
        largest = np.abs(features).max(axis=1, keepdims=True)
        features /= np.where(largest > 0, largest, 1)
        norms = np.sqrt(np.einsum("tf,tf->t", features, features))[:, None]
        features /= np.where(norms > 0, norms, 1)
        self.n_frames = len(features)
        self._units = features
        self.tie = TIE

    def from_frame(self, frame: int, frames: Frames) -> FloatArray:
        """Distances `(n,)` of `frames` from one frame."""
        distances: FloatArray = 1 - self._units[frames] @ self._units[frame]
        return np.maximum(distances, 0, out=distances)

    def totals(self, frames: Frames) -> FloatArray:
        """Each frame's total distance `(n,)` to all of `frames`."""
        units = self._units[frames]
        totals: FloatArray = len(units) - units @ units.sum(axis=0)
        return totals

    def moved_totals(self, totals: FloatArray, old: slice, new: slice) -> FloatArray:  # noqa: ARG002
        """`totals(new)`; knowing `totals(old)` does not help."""
        return self.totals(new)


Metric = Euclidean | Cosine
"""A way to measure how far frames are from each other.

Mean distances that differ by less than its `tie` count as equal.
"""


def _part(frames: Frames, indices: IntArray, start: int, end: int | None = None) -> Frames:
    """Some of the frames; a range stays a range, so that its features need no copy."""
    if isinstance(frames, slice):
        last = len(indices) if end is None else min(end, len(indices))
        return slice(int(indices[0]) + start, int(indices[0]) + last)
    return indices[start:end]


def _outside(whole: slice, part: slice) -> tuple[slice, slice]:
    """The frames of a range before and after a part of it."""
    return slice(whole.start, part.start), slice(part.stop, whole.stop)


def _length(frames: slice) -> int:
    return int(frames.stop - frames.start)
