"""Paired differences: what a change is worth, and how certain that is."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy.special import stdtrit

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95
FEW_PAIRS = 4
"""With fewer pairs an interval says little."""


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences with its interval.

    Args:
        mean: change minus base.
        half_width: the interval extends this far to either side; None for a single pair.
        n_pairs: the number of differences.
    """

    mean: float
    half_width: float | None
    n_pairs: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its ends; None for a single pair."""
        if self.half_width is None:
            return None
        return self.mean - self.half_width, self.mean + self.half_width

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.half_width is not None and abs(self.mean) > self.half_width


def mean_difference(groups: Sequence[Sequence[float]]) -> Difference:
    """The mean of the groups' means, with a t-interval; usually there is one group.

    Groups, such as datasets, have equal weights and may have different variances: the degrees of
    freedom are Welch and Satterthwaite's.

    Args:
        groups: the differences of each group, none of them empty.
    """
    mean = statistics.fmean(statistics.fmean(one) for one in groups)
    n_pairs = sum(map(len, groups))
    if any(len(one) < 2 for one in groups):
        return Difference(mean, None, n_pairs)
    # of each group's mean, as its part in the mean over groups
    variances = [statistics.variance(one) / len(one) / len(groups) ** 2 for one in groups]
    total = math.fsum(variances)
    if not total:
        return Difference(mean, 0.0, n_pairs)
    parts = (
        (part / total) ** 2 / (len(one) - 1) for part, one in zip(variances, groups, strict=True)
    )
    freedom = 1 / math.fsum(parts)
    quantile = float(stdtrit(freedom, (1 + CONFIDENCE) / 2))
    return Difference(mean, quantile * math.sqrt(total), n_pairs)
