"""`Timeline`: a training sample put together from pieces of videos, and how it is rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvast.data.time_warp import TimeMap
    from uvast.segments import IntArray, Segmentation

Features = NDArray[np.float32]

SEAM = 4
"""Frames on either side of a seam that are blended."""

_EXACT = 6
"""Decimals of a position: one that differs from a frame only by rounding is that frame."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """For each segment of a sample, the piece of a video that it shows, stretched to fit.

    Args:
        segmentation: S actions and their durations.
        samples: the sample that each piece comes from, S names.
        starts: first frame of each piece `(S,)`.
        lengths: frames of each piece `(S,)`.
    """

    segmentation: Segmentation
    samples: tuple[str, ...]
    starts: IntArray
    lengths: IntArray

    @classmethod
    def of(cls, sample: str, segmentation: Segmentation) -> Timeline:
        """A sample, unchanged."""
        names = (sample,) * len(segmentation)
        return cls(segmentation, names, segmentation.starts, segmentation.durations)

    @property
    def seams(self) -> IntArray:
        """The segments that do not go on where the one before them stops."""
        names = np.array(self.samples)
        goes_on = (names[1:] == names[:-1]) & (self.starts[1:] == (self.starts + self.lengths)[:-1])
        return np.flatnonzero(~goes_on) + 1

    def rendered(
        self, time: TimeMap, read: Callable[[str], Features], *, seam: int = SEAM
    ) -> tuple[Features, Segmentation]:
        """The features `(T', F)` after a map of time, and their segmentation.

        A frame is interpolated between two frames of its piece, never across its ends; seams are
        blended after that. Samples are read one at a time, once each.
        """
        warped, shares = time.warped(self.segmentation)
        segment = warped.segment_of_frame
        inside = shares * self.lengths[segment] - 0.5
        inside = np.clip(np.round(inside, _EXACT), 0, self.lengths[segment] - 1)
        positions = self.starts[segment] + inside
        names, sources = np.unique(self.samples, return_inverse=True)
        features: Features | None = None
        for source, name in enumerate(names.tolist()):
            rows = np.flatnonzero(sources[segment] == source)
            part = interpolated(read(name), positions[rows])
            if features is None:
                features = np.empty((warped.n_frames, part.shape[1]), np.float32)
            features[rows] = part
        assert features is not None, "a sample has at least one segment"
        _blend(features, warped, self.seams, seam)
        return features, warped


def interpolated(features: Features, positions: NDArray[np.float64]) -> Features:
    """Features `(T, F)` at positions `(T',)` from 0 to T - 1, linear between neighbours."""
    before = np.floor(positions).astype(np.int64)
    found: Features = features[before]
    change = features[np.ceil(positions).astype(np.int64)]
    change -= found
    change *= (positions - before).astype(np.float32)[:, None]
    found += change
    return found


def _blend(features: Features, segmentation: Segmentation, seams: IntArray, width: int) -> None:
    """Fades each side of the seams into the mirrored other side, in place.

    A frame keeps more than half of itself, and is blended at one seam at most.
    """
    for second in seams.tolist():
        shorter = int(segmentation.durations[second - 1 : second + 1].min())
        n_frames = min(width, shorter // 2)
        cut = int(segmentation.starts[second])
        left = features[cut - n_frames : cut][::-1]
        right = features[cut : cut + n_frames]
        share = 0.5 - (np.arange(n_frames, dtype=np.float32) + 0.5)[:, None] / max(1, 2 * n_frames)
        change = share * (right - left)
        left += change
        right -= change
