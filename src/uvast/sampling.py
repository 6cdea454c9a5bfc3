"""Which source frames a model's frame stands for, if the model sees only every r-th one.

Frame k of the model is source frame k r. It stands for the source frames that it is nearest to, so
a cut between two of the model's frames comes to lie midway between them: earlier and later cuts are
missed by the same. With r = 2 it stands for itself and the next, as if it were repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]


def sampled_length(n_source: int, rate: int) -> int:
    """How many of `n_source` frames a model sees."""
    return -(-n_source // rate)


def source_starts(frames: IntArray, rate: int) -> IntArray:
    """The first source frame that each of the model's frames stands for."""
    return np.maximum(frames * rate - _half(rate), 0)


def source_bounds(n_source: int, rate: int) -> IntArray:
    """The source frames between which each of the model's T frames stands `(T + 1,)`."""
    return np.append(source_starts(np.arange(sampled_length(n_source, rate)), rate), n_source)


def nearest_sampled(source_frames: IntArray, rate: int, n_source: int) -> IntArray:
    """The model's frame that stands for each source frame of a video of `n_source`."""
    return np.minimum((source_frames + _half(rate)) // rate, sampled_length(n_source, rate) - 1)


def _half(rate: int) -> int:
    return (rate - 1) // 2
