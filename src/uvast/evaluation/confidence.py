"""Whether confidences mean what they say: of frames at 0.8, eight in ten should be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

N_BINS = 15


@dataclass(frozen=True, eq=False)
class Reliability:
    """Confidences in equal bins of [0, 1], B of them.

    Args:
        confidence: mean confidence in each bin `(B,)`, 0 in an empty one.
        accuracy: share that is right in each bin `(B,)`, 0 in an empty one.
        share: share of all confidences in each bin `(B,)`.
    """

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    share: NDArray[np.float64]

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap between confidence and accuracy, 0 to 1."""
        return float((self.share * np.abs(self.confidence - self.accuracy)).sum())


def reliability(
    confidences: ArrayLike,
    correct: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    n_bins: int = N_BINS,
) -> Reliability:
    """Sorts confidences into bins `(k / B, (k + 1) / B]`; 0 falls into the first.

    Args:
        confidences: between 0 and 1 `(N,)`.
        correct: whether each is right, or what share of it `(N,)`.
        weights: how much each counts, such as a segment's frames `(N,)`; None for equal weights.
        n_bins: B.
    """
    values = np.asarray(confidences, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not values.shape == right.shape == mass.shape or values.ndim != 1:
        raise InputError(
            f"{values.shape} confidences for {right.shape} answers and {mass.shape} weights"
        )
    if n_bins < 1 or not ((values >= 0) & (values <= 1)).all():
        raise InputError("confidences outside of 0 to 1, or no bins to sort them into")
    bins = np.clip(np.ceil(values * n_bins).astype(np.int64) - 1, 0, n_bins - 1)
    total = np.bincount(bins, mass, n_bins)
    divisor = np.where(total > 0, total, 1.0)
    return Reliability(
        confidence=np.bincount(bins, mass * values, n_bins) / divisor,
        accuracy=np.bincount(bins, mass * right, n_bins) / divisor,
        share=total / (total.sum() or 1.0),
    )


def expected_calibration_error(
    confidences: ArrayLike, correct: ArrayLike, n_bins: int = N_BINS
) -> float:
    """The mean gap between confidence and accuracy over equal bins of [0, 1], between 0 and 1.

    Args:
        confidences: between 0 and 1 `(N,)`.
        correct: whether each is right `(N,)`.
        n_bins: number of bins.
    """
    return reliability(confidences, correct, n_bins=n_bins).error
