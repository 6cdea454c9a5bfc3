"""Where to cut between two neighbouring timestamps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from uvast.supervision.distances import FloatArray


def best_cut(
    difference: FloatArray, prior: float, *, tie: float, first: int = 1, last: int | None = None
) -> int:
    """How many frames of a gap belong to its left timestamp, at least cost.

    The gap holds the left timestamp and every frame before the right one. The prior adds
    `4 prior gap ((cut - midpoint) / gap)^2` to the cost of a cut, in units of the mean absolute
    difference.

    Args:
        difference: what each frame costs on the left, less what it costs on the right `(gap,)`.
        prior: the weight of the pull to the midpoint of the timestamps.
        tie: differences of the mean cost that are rounding errors; the first cut wins on ties.
        first: the fewest frames on the left.
        last: the most frames on the left; None leaves only the right timestamp to the right.
    """
    gap = len(difference)
    last = gap if last is None else last
    costs = np.cumsum(difference)[first - 1 : last]
    if prior:
        places = np.arange(first, last + 1) - (gap + 1) / 2
        unit = np.abs(difference).mean()
        # frames as near to one side as to the other leave the cut to the prior
        costs += 4 * prior * (unit if unit > tie else 1.0) * places**2 / gap
    return first + first_least(costs, tie)


def first_least(values: FloatArray, tie: float) -> int:
    """Where the first least value stands; values are sums of up to so many distances."""
    return int(np.argmax(values <= values.min() + tie * len(values)))
