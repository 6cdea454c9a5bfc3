"""Frame confidences that mean what they say: one temperature, fitted on held-out videos."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import log_softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uvast.segments import IntArray

COLDEST, HOTTEST = 0.05, 50.0


def tempered(log_probabilities: NDArray[np.float32], temperature: float) -> NDArray[np.float64]:
    """Log-probabilities `(T, C)` at a temperature; above 1, they are less confident."""
    logs = log_probabilities.astype(np.float64)
    if temperature == 1:
        return logs
    found: NDArray[np.float64] = log_softmax(logs / temperature, axis=1)
    return found


def fit_temperature(
    log_probabilities: NDArray[np.floating], labels: IntArray, weights: NDArray[np.float64]
) -> float:
    """The temperature with the lowest negative log-likelihood.

    Args:
        log_probabilities: of held-out frames `(N, C)`.
        labels: their classes `(N,)`.
        weights: how many frames each stands for `(N,)`.

    Returns:
        The temperature; 1 without frames.
    """
    if not len(labels) or log_probabilities.shape[1] < 2:
        return 1.0
    # takes half a second to import: every command that loads a model would pay, and few fit one
    from scipy.optimize import minimize_scalar

    logs = np.maximum(log_probabilities.astype(np.float64), -1e4)
    rows = np.arange(len(labels))

    def cost(log_inverse: float) -> float:
        # convex in the inverse temperature, so there is one minimum
        scaled = log_softmax(logs * np.exp(log_inverse), axis=1)
        return float(-(weights * scaled[rows, labels]).sum() / weights.sum())

    bounds = (-np.log(HOTTEST), -np.log(COLDEST))
    found = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-4})
    return round(float(np.exp(-found.x)), 4)
