"""Time run faster and slower: a monotone map, of which constant speed is the simplest case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.segments import Segmentation

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_PIECES = 8
"""Parts of a sample, each with its own pace."""


@dataclass(frozen=True, eq=False)
class TimeMap:
    """A rising, piecewise linear map of time, counted in frames.

    Args:
        before: times `(K,)`, the first 0 and the last T.
        after: where the map takes them `(K,)`.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]

    @classmethod
    def drawn(
        cls, n_frames: int, generator: np.random.Generator, *, speed: float, warp: float
    ) -> TimeMap:
        """A random map: a pace for the whole sample, times one for each of its `N_PIECES` parts.

        Both are log-uniform, from `1 / speed` to `speed` and from `1 / warp` to `warp`.
        """
        overall = speed ** generator.uniform(-1, 1)
        paces = overall * warp ** generator.uniform(-1, 1, N_PIECES)
        after = np.concatenate(([0.0], np.cumsum(n_frames / N_PIECES * paces)))
        return cls(np.linspace(0, n_frames, N_PIECES + 1), after)

    def warped(self, segmentation: Segmentation) -> tuple[Segmentation, NDArray[np.float64]]:
        """A segmentation after the map, with no segment lost, and where its frames come from.

        Returns:
            The new segmentation of T' frames, and for each of them `(T',)` how far through its
            segment it is, above 0 and below 1.
        """
        bounds = np.concatenate(([0], segmentation.ends)).astype(np.float64)
        moved = np.interp(bounds, self.before, self.after)
        durations = np.maximum(np.diff(np.rint(moved)), 1).astype(np.int64)
        warped = Segmentation(segmentation.transcript, durations)
        segment = warped.segment_of_frame
        place = (np.arange(warped.n_frames) - warped.starts[segment] + 0.5) / durations[segment]
        times = moved[segment] + place * np.diff(moved)[segment]
        earlier = np.interp(times, self.after, self.before)
        shares = (earlier - bounds[segment]) / segmentation.durations[segment]
        return warped, shares
