"""How long each action is, from timestamps alone, before any cut is known (beyond the paper).

Someone who clicks anywhere in a segment clicks on its middle, on average. So the distance between
neighbouring timestamps is half of the one segment's length plus half of the other's, and the first
timestamp is half of its segment's length away from the start of the video. Over all videos, these
are equations for the classes' mean lengths. (k timestamps in one segment leave 1 / (k + 1) of it
on either side.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.segments import run_starts

if TYPE_CHECKING:
    from uvast.data import Timestamps
    from uvast.supervision.distances import FloatArray

_N_ROUNDS = 20
# weight of the assumption, in equations, that a class's segments are as long as all others
_SHRINKAGE = 0.1
# no class's mean is more than this factor away from the mean of all
_MOST = 5.0


class ClickDistances:
    """Distances between timestamps, video by video, and the mean lengths that explain them."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes
        self._shares: list[FloatArray] = []
        self._distances: list[FloatArray] = []

    def add(self, timestamps: Timestamps, n_frames: int) -> None:
        """Adds the timestamps of a video."""
        starts = run_starts(timestamps.transcript)
        ends = np.append(starts[1:], len(timestamps))
        actions = timestamps.transcript[starts]
        n_segments = len(starts)
        shares = np.zeros((n_segments + 1, self._n_classes))
        parts = 1 / (1 + ends - starts)
        np.add.at(shares, (np.arange(n_segments), actions), parts)  # before each segment's first
        np.add.at(shares, (np.arange(1, n_segments + 1), actions), parts)  # and after its last
        first, last = timestamps.frames[starts] + 0.5, timestamps.frames[ends - 1] + 0.5
        self._shares.append(shares)
        self._distances.append(np.append(first, n_frames) - np.append(0, last))

    def mean_lengths(self) -> FloatArray:
        """Mean frames per segment of each class `(C,)`, by least squares.

        Long distances are less certain, in proportion: an error counts as a share of the expected
        distance.
        """
        shares, distances = np.concatenate(self._shares), np.concatenate(self._distances)
        overall = distances.sum() / shares.sum()
        means: FloatArray = np.full(self._n_classes, overall)
        pull = np.sqrt(_SHRINKAGE) / overall * np.eye(self._n_classes)
        for _ in range(_N_ROUNDS):
            weights = 1 / (shares @ means)
            equations = np.vstack((shares * weights[:, None], pull))
            values = np.concatenate((distances * weights, overall * pull.sum(axis=1)))
            found = np.linalg.lstsq(equations, values, rcond=None)[0]
            means = np.clip(found, overall / _MOST, overall * _MOST)
        return means
