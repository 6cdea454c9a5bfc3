"""How long an action lasts: log scores of segment lengths, fitted on training segments.

Every score is concave in the length `l`, which is what makes the exact searches fast:

- `poisson`: `l log m - m - log l!`, with m the class's mean duration (the paper's);
- `gamma`: `(k - 1) log l - l k / m`, shape `k >= 1`, fitted by maximum likelihood;
- `none`: 0.

Each is shifted to 0 at its mode, so that no class costs more just because its lengths vary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from uvast.config import LengthKind
from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from uvast.durations.result import FloatArray
    from uvast.segments import Segmentation

MAX_SHAPE = 100.0
"""The largest Gamma shape, a deviation of a tenth of the mean: a few segments of equal length must
not rule out every other length. (The smallest is 1: below it, the log score is not concave.)"""

MAX_MEAN = 1e9
LEAST_SEGMENTS = 5


@dataclass(frozen=True)
class LengthModel:
    """Log scores of segment lengths per class.

    Args:
        kind: `poisson`, `gamma` or `none`.
        means: mean duration of each class in frames (C,).
        shapes: Gamma shape of each class (C,), at least 1; empty for the other kinds.
    """

    kind: LengthKind
    means: tuple[float, ...]
    shapes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Checks the parameters."""
        if self.kind not in get_args(LengthKind):
            raise InputError(
                f"length model {self.kind!r}",
                remedy=f"choose from {', '.join(get_args(LengthKind))}",
            )
        if not self.means or not all(0 < mean <= MAX_MEAN for mean in self.means):
            raise InputError(
                "mean durations have to be positive numbers below 10^9, one for each class"
            )
        if len(self.shapes) != (len(self.means) if self.kind == "gamma" else 0):
            raise InputError(
                f"{len(self.shapes)} shapes for {len(self.means)} classes of kind {self.kind}"
            )
        if not all(1 <= shape <= MAX_SHAPE for shape in self.shapes):
            raise InputError(f"a Gamma shape is not between 1 and {MAX_SHAPE:g}")

    @classmethod
    def poisson(cls, mean_durations: ArrayLike) -> LengthModel:
        """The Poisson model of mean durations `(C,)` in frames."""
        means = np.asarray(mean_durations, dtype=np.float64)
        if means.ndim != 1:
            raise InputError(f"values of shape {means.shape}, not one for each class")
        return cls("poisson", tuple(means.tolist()))

    @classmethod
    def none(cls, n_classes: int) -> LengthModel:
        """A model for which all lengths are equally good."""
        return cls("none", (1.0,) * n_classes)

    @classmethod
    def fit(
        cls, segmentations: Iterable[Segmentation], n_classes: int, kind: LengthKind = "gamma"
    ) -> LengthModel:
        """Fits the lengths of training segments; repeated neighbours count as one segment.

        A class without segments is fitted on all segments. For `gamma`, so is a class with fewer
        than 5.
        """
        merged = [segmentation.merged() for segmentation in segmentations]
        if not any(map(len, merged)):
            raise InputError("no training segments to fit lengths on")
        actions = np.concatenate([segmentation.transcript for segmentation in merged])
        lengths = np.concatenate([segmentation.durations for segmentation in merged])
        if actions.min() < 0 or actions.max() >= n_classes:
            raise InputError(f"training segments with classes outside of 0..{n_classes - 1}")
        least = LEAST_SEGMENTS if kind == "gamma" else 1
        groups = [lengths[actions == action] for action in range(n_classes)]
        groups = [group if len(group) >= least else lengths for group in groups]
        means = tuple(float(group.mean()) for group in groups)
        return cls(kind, means, tuple(map(gamma_shape, groups)) if kind == "gamma" else ())

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.means)

    def score(self, actions: ArrayLike, lengths: ArrayLike) -> FloatArray:
        """Log scores of segments; actions and lengths (at least 1) broadcast against each other."""
        actions = np.asarray(actions, dtype=np.int64)
        lengths = np.asarray(lengths, dtype=np.float64)
        if self.kind == "none":
            return np.zeros(np.broadcast_shapes(actions.shape, lengths.shape))
        means = np.array(self.means)[actions]
        if self.kind == "poisson":
            modes = np.floor(means)
            poisson: FloatArray = (
                (lengths - modes) * np.log(means) - gammaln(lengths + 1) + gammaln(modes + 1)
            )
            return poisson
        rises = np.array(self.shapes)[actions] - 1
        rates = (rises + 1) / means
        # At shape 1 the mode is 0, where the log score is 0 without a shift.
        modes = np.where(rises > 0, rises / rates, 1.0)
        # In place: the lengths of hours make large tables.
        gamma: FloatArray = np.log(lengths) - np.log(modes)
        gamma += 1
        gamma *= rises
        gamma -= rates * lengths
        return gamma

    def scores(self, n_frames: int) -> FloatArray:
        """Log scores of every class and length `(C, n_frames + 1)`; length 0 is impossible."""
        table = np.full((self.n_classes, n_frames + 1), -np.inf)
        table[:, 1:] = self.score(np.arange(self.n_classes)[:, None], np.arange(1, n_frames + 1))
        return table


def gamma_shape(lengths: ArrayLike) -> float:
    """The maximum-likelihood Gamma shape of positive lengths, within `[1, MAX_SHAPE]`.

    It solves `log k - digamma(k) = log mean - mean log`; the left side falls with k.
    """
    values = np.asarray(lengths, dtype=np.float64)
    gap = float(np.log(values.mean()) - np.log(values).mean())
    if gap <= np.log(MAX_SHAPE) - digamma(MAX_SHAPE):
        return MAX_SHAPE
    shape = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(20):
        # Newton's step for 1 / k, which converges from this start for every gap.
        numerator = np.log(shape) - digamma(shape) - gap
        slope = 1 / shape - polygamma(1, shape)
        shape = 1 / (1 / shape + numerator / (shape**2 * slope))
    return float(np.clip(shape, 1.0, MAX_SHAPE))
