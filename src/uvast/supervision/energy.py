"""Cuts that leave the frames on either side close to their own mean (Li et al., CVPR 2021).

Li, Abu Farha and Gall, "Temporal Action Segmentation from Timestamp Supervision". Between two
timestamps, the energy of a cut is the total distance of the frames before it to the mean on its
left, plus that of the frames from it on to the mean on its right. Going forward, from the first
timestamp to the last, the left mean includes all frames since the previous cut; going backward, the
right mean does. The final cut is half-way between the forward and the backward cut of least energy.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from uvast.segments import check_timestamps
from uvast.supervision.distances import checked_frames

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from uvast.config import MetricName
    from uvast.segments import IntArray
    from uvast.supervision.distances import FloatArray

# frames measured at a time: a block stays small compared to the features
_N_ROWS = 256
# squared distances below this share of the squared norms are rounding errors of a zero
_ZERO = 1e-12
# mean distances that differ by less than this share of a typical norm are equal
_TIE = 1e-9


def energy_durations(
    features: ArrayLike, timestamps: ArrayLike, metric: MetricName = "euclidean"
) -> IntArray:
    """Durations `(S,)` of the segments around timestamps.

    On ties the forward cut is the first and the backward one the last, so that identical frames
    are cut half-way. Time grows with the square of the gaps, memory does not.

    Args:
        features: `(T, F)`.
        timestamps: one frame per segment `(S,)`, increasing.
        metric: `euclidean`, or `cosine`, which scales frames to norm 1 first.
    """
    frames = checked_frames(features)
    places = check_timestamps(timestamps, len(frames))
    if metric == "cosine":
        norms = np.linalg.norm(frames, axis=1, keepdims=True)
        frames /= np.where(norms > 0, norms, 1)
    frames -= frames.mean(axis=0)  # products lose the fewest digits around the mean
    n_frames = len(frames)
    forward = _forward_cuts(frames, places)
    backward = n_frames - _forward_cuts(frames[::-1], n_frames - 1 - places[::-1])[::-1]
    return np.diff((forward + backward) // 2, prepend=0, append=n_frames)


def _forward_cuts(frames: FloatArray, timestamps: IntArray) -> IntArray:
    """The first frame of each segment but the first `(S - 1,)`."""
    tie = _TIE * float(np.sqrt(np.einsum("tf,tf->t", frames, frames).mean()))
    cuts: list[int] = []
    for start, end in pairwise(timestamps.tolist()):
        assigned = frames[cuts[-1] if cuts else 0 : start]
        gap = np.ascontiguousarray(frames[start : end + 1])
        costs = _energies(gap, assigned.sum(axis=0), len(assigned))
        cuts.append(start + 1 + int(np.argmax(costs <= costs.min() + tie * len(gap))))
    return np.array(cuts, dtype=np.int64)


def _energies(gap: FloatArray, before: FloatArray, n_before: int) -> FloatArray:
    """The energy of each cut of a gap `(n - 1,)`, starting with one frame on the left.

    Args:
        gap: the frames from one timestamp to the next, both included `(n, F)`.
        before: the sum of the frames that are already on the left `(F,)`.
        n_before: how many there are.
    """
    n_cuts = len(gap) - 1
    left = np.cumsum(gap, axis=0)  # (n, F)
    total, left = left[-1], left[:-1]
    n_left = np.arange(1, n_cuts + 1)
    sizes = (n_before + n_left, len(gap) - n_left)
    norms = tuple(
        np.einsum("kf,kf->k", sums, sums) / size**2
        for sums, size in zip((left + before, total - left), sizes, strict=True)
    )
    energies: FloatArray = np.zeros(n_cuts)
    for start in range(0, len(gap), _N_ROWS):
        rows = gap[start : start + _N_ROWS]
        products = rows @ left.T  # (b, n - 1)
        is_left = np.arange(start, start + len(rows))[:, None] < n_left
        products = np.where(
            is_left,
            (products + (rows @ before)[:, None]) / sizes[0],
            ((rows @ total)[:, None] - products) / sizes[1],
        )
        reach = np.einsum("tf,tf->t", rows, rows)[:, None] + np.where(is_left, *norms)
        squares = reach - 2 * products
        squares[squares < _ZERO * reach] = 0
        energies += np.sqrt(squares).sum(axis=0)
    return energies
