"""How unsure a model is of a segmentation: where a person should look first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uvast.segments import Segmentation

LONGEST_BAND = 1000
"""Values of a band, as many as a screen is wide."""


@dataclass(frozen=True, eq=False)
class Doubts:
    """What the frame head says of a segmentation.

    Args:
        entropies: mean entropy of each segment's frames, 0 (sure) to 1 (any class) `(S,)`.
        agreements: the share of each segment's frames whose likeliest class is the segment's
            `(S,)`.
        band: the probability of the segment's class over time, in equal pieces of the video.
    """

    entropies: NDArray[np.float64]
    agreements: NDArray[np.float64]
    band: NDArray[np.float64]

    @classmethod
    def of(cls, log_probabilities: NDArray[np.floating[Any]], segmentation: Segmentation) -> Doubts:
        """Of class scores `(T, C)` and a segmentation of the same frames."""
        logs = log_probabilities.astype(np.float64)
        labels = segmentation.labels
        n_frames, n_classes = logs.shape
        # a class that is ruled out adds nothing, though its logarithm has no end
        entropies = -(np.exp(logs) * np.maximum(logs, -1e9)).sum(1) / np.log(max(2, n_classes))
        agrees = (logs.argmax(1) == labels).astype(np.float64)
        chosen = np.exp(logs[np.arange(n_frames), labels])
        n_pieces = min(n_frames, LONGEST_BAND)
        starts = np.arange(n_pieces) * n_frames // n_pieces
        return cls(
            np.clip(_means(entropies, segmentation.starts), 0, 1),
            _means(agrees, segmentation.starts),
            np.clip(_means(chosen, starts), 0, 1),
        )


def _means(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each piece `(S,)` of values `(T,)` that are cut at `starts`."""
    means: NDArray[np.float64] = np.add.reduceat(values, starts) / np.diff(
        starts, append=len(values)
    )
    return means
