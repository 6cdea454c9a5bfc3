"""FIFA's energy and its gradient, at a cost that does not grow with the number of frames.

Segment n has a plateau-shaped mask, `sigmoid(k (t - start_n)) sigmoid(k (end_n - t))`. It equals

    (sigmoid(k (t - start_n)) - sigmoid(k (t - end_n))) / (1 - exp(-k length_n)),

so a segment only needs `after(b) = mean over t of cost(t) sigmoid(k (t - b))` of its class, at
b = start and b = end. This is a smooth function of one number: it is tabulated once as polynomials,
exact to rounding, and a step of the descent costs `O(S)` instead of `O(S T)`. The difference loses
digits for segments far shorter than 1/k: two or three of sixteen for one frame in 20,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.kernels import kernel

if TYPE_CHECKING:
    from uvast.durations.result import FloatArray
    from uvast.segments import IntArray

N_COEFFICIENTS = 22
"""On a piece of width 2/k, each one divides the error by 6.4, since the nearest pole of a sigmoid
is pi/k away: 6.4^-22 is far below rounding, for the slopes too."""

VANISHING = 36.0
"""This many 1/k past the last frame, a sigmoid is 0 to rounding."""


def tabulate(costs: FloatArray, sharpness: float) -> FloatArray:
    """Chebyshev coefficients `(K, pieces, N, 2)` of `after` and its negative slope, over `k b`.

    A piece has width 2. The costs `(K, T)` are minus the log-probabilities of K classes.
    """
    n_classes, n_frames = costs.shape
    times = sharpness * (np.arange(n_frames) + 0.5) / n_frames
    n_pieces = int(np.ceil((sharpness + VANISHING) / 2))
    angles = np.pi * (np.arange(N_COEFFICIENTS) + 0.5) / N_COEFFICIENTS
    nodes = np.cos(angles)
    basis = np.cos(np.outer(angles, np.arange(N_COEFFICIENTS))) * 2 / N_COEFFICIENTS
    basis[:, 0] /= 2
    table = np.empty((n_classes, n_pieces, N_COEFFICIENTS, 2))
    for piece in range(n_pieces):
        # exp(centre + node - k t) is a product: one exponential per frame and piece is enough
        falls = np.exp(np.minimum(2 * piece + 1 - times, 700.0))
        sigmoids = np.outer(np.exp(nodes), falls)
        sigmoids += 1
        np.reciprocal(sigmoids, out=sigmoids)
        table[:, piece, :, 0] = costs @ sigmoids.T @ basis / n_frames
        sigmoids *= 1 - sigmoids
        table[:, piece, :, 1] = costs @ sigmoids.T @ basis / n_frames
    return table


@kernel
def _after(table: FloatArray, place: float) -> tuple[float, float]:
    """`after` and its negative slope at `k b`, from the table of one class (pieces, N, 2)."""
    n_pieces, n_coefficients, _ = table.shape
    place = min(place, 2.0 * n_pieces)
    piece = min(int(place / 2), n_pieces - 1)
    x = place - (2 * piece + 1)
    # Clenshaw's recurrence
    value, value_before, fall, fall_before = 0.0, 0.0, 0.0, 0.0
    for j in range(n_coefficients - 1, 0, -1):
        value, value_before = table[piece, j, 0] + 2 * x * value - value_before, value
        fall, fall_before = table[piece, j, 1] + 2 * x * fall - fall_before, fall
    value = table[piece, 0, 0] + x * value - value_before
    return value, table[piece, 0, 1] + x * fall - fall_before


@kernel
def energy(
    table: FloatArray,
    rows: IntArray,
    targets: FloatArray,
    weights: tuple[float, float, float],
    lengths: FloatArray,
    gradient: FloatArray,
) -> float:
    """Returns the energy, and writes its gradient in the lengths to `gradient` `(S,)`.

    Args:
        table: from `tabulate` `(K, pieces, N, 2)`.
        rows: the class of each segment, as a row of the table `(S,)`.
        targets: class means as shares of the video `(S,)`.
        weights: sharpness k, length weight, sum weight.
        lengths: shares of the video `(S,)`.
        gradient: output.
    """
    sharpness, length_weight, sum_weight = weights
    n_segments = len(rows)
    ends = np.cumsum(lengths)
    total = ends[-1]
    found = 0.0
    shift = 0.0  # the slope in a common shift of all later segments
    for n in range(n_segments - 1, -1, -1):
        at_start, start_fall = _after(table[rows[n]], sharpness * (ends[n] - lengths[n]))
        at_end, end_fall = _after(table[rows[n]], sharpness * ends[n])
        scale = -1 / np.expm1(-sharpness * lengths[n])
        masked = scale * (at_start - at_end)
        # scale' = -k scale (scale - 1); a longer segment moves its own end and all later segments
        longer = sharpness * (scale * end_fall - (scale - 1) * masked)
        excess = lengths[n] - targets[n]
        found += masked / n_segments + length_weight * abs(excess)
        gradient[n] = (longer + shift) / n_segments
        gradient[n] += length_weight * np.sign(excess) + sum_weight * np.sign(total - 1)
        shift += sharpness * scale * (end_fall - start_fall)
    return float(found + sum_weight * abs(total - 1))
