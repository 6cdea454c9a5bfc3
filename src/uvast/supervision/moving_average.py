"""A moving average over time, row by row: frames of many features are read once, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.kernels import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def moving_average(frames: NDArray[np.floating[Any]], window: int) -> NDArray[np.float64]:
    """The mean `(T, F)` of the `window` frames around each of the frames `(T, F)`.

    Beyond either end, the first or last frame is repeated. An even window has one more frame before
    than after.
    """
    n_frames, n_features = frames.shape
    before, last = window // 2, n_frames - 1
    averages = np.empty((n_frames, n_features), dtype=np.float64)
    sums = np.zeros(n_features)
    for place in range(-before, window - before):
        row = min(max(place, 0), last)
        for feature in range(n_features):
            sums[feature] += frames[row, feature]
    averages[0] = sums / window
    for frame in range(1, n_frames):
        gone, come = max(frame - before - 1, 0), min(frame - before + window - 1, last)
        for feature in range(n_features):
            sums[feature] += np.float64(frames[come, feature]) - np.float64(frames[gone, feature])
            averages[frame, feature] = sums[feature] / window
    return averages
