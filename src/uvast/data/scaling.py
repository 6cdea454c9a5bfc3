"""Features brought to one scale, by each channel's mean and deviation on the training side.

Where recordings differ more than people do (other cameras, sensors, units or places), every video
can be brought to its own scale first: `levelled`.

Sums are float64 and taken over a block of frames at a time: a long video costs little memory, and
channels far from 0 lose no precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uvast.data.video import Video

Features = NDArray[np.floating[Any]]
Channels = NDArray[np.float64]

_BLOCK = 2**16
"""Values processed at a time: they fit into a processor's cache."""

_RESOLUTION = 4 * float(np.finfo(np.float32).eps)
"""A deviation below this share of a channel's magnitude is only rounding to float32."""

_LEAST_DEVIATION = 1e-30
"""A smaller one is a rounding error around 0."""

_FARTHEST, _WIDEST, _FLATTEST = 6.0, 2.0, 0.03
"""The limits of `is_familiar`, chosen on four real datasets: with three or more training videos, no
other video exceeds one (the farthest has 5.4 of 6), and every video does if in other units."""

_ENOUGH_FRAMES = 100
"""In fewer frames, perhaps nothing has moved."""

OUT_OF_RANGE = 1e4
"""Larger values than this are the likeliest reason why a network gives NaN."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Each channel over `n_frames` frames: its mean and its sum of squared deviations `(F,)`."""

    n_frames: int
    mean: Channels
    squares: Channels

    @classmethod
    def of(cls, features: Features) -> Moments:
        """The moments of features `(T, F)`."""
        parts = (_block_moments(features[rows]) for rows in _blocks(features))
        return reduce(cls.merged, parts)

    def merged(self, other: Moments) -> Moments:
        """The moments of both (Chan, Golub and LeVeque 1983): no difference of large sums."""
        n_frames = self.n_frames + other.n_frames
        apart = other.mean - self.mean
        share = other.n_frames / n_frames
        squares = self.squares + other.squares + apart**2 * (self.n_frames * share)
        return Moments(n_frames, self.mean + apart * share, squares)

    @property
    def deviation(self) -> Channels:
        """The standard deviation `(F,)`."""
        return np.sqrt(self.squares / self.n_frames)

    @property
    def is_constant(self) -> NDArray[np.bool_]:
        """Which channels `(F,)` are constant, up to rounding."""
        floor = np.maximum(_RESOLUTION * np.abs(self.mean), _LEAST_DEVIATION)
        return np.asarray(self.deviation <= floor)


@dataclass(frozen=True, eq=False)
class Scaling:
    """How features are scaled to mean 0 and deviation 1.

    Args:
        mean: of each channel `(F,)`.
        deviation: of each channel `(F,)`, above 0; infinite for a constant one, which becomes 0.
        levels: whether both are of videos at their own scale, to which any other has to be brought
            before (see `levelled`).
    """

    mean: Channels
    deviation: Channels
    levels: bool = False

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or self.mean.shape != self.deviation.shape:
            raise InputError(
                f"means of shape {self.mean.shape} and deviations of shape {self.deviation.shape}"
            )
        if not np.isfinite(self.mean).all() or not (self.deviation > 0).all():
            raise InputError("means have to be finite and deviations above 0")

    @property
    def n_features(self) -> int:
        """F."""
        return len(self.mean)

    def scaled(self, features: Features, out: NDArray[np.float32] | None = None) -> Features:
        """Features `(T, F)` scaled to float32, into `out` if given, else in their memory order.

        They are levelled already if `levels`.
        """
        if out is None:
            out = np.empty_like(features, dtype=np.float32)
        with np.errstate(over="ignore"):  # overflow gives inf, and the model's outputs NaN
            for rows in _blocks(features):
                block = features[rows] - self.mean
                block /= self.deviation
                out[rows] = block
        return out

    def is_familiar(self, features: Features) -> bool:
        """Whether features `(T, F)` of a video look like those that this was fitted on.

        They do not if their distances from the mean are too large on average, if some channels are
        far too large and others far too small, or if most of them hardly move. Nobody can tell of
        videos that are brought to their own scale.
        """
        if self.levels:
            return True
        varied = np.isfinite(self.deviation)
        if not varied.any():
            return True
        moments = Moments.of(features)
        scale = self.deviation[varied]
        moved = moments.deviation[varied] / scale
        distance = np.hypot(moved, (moments.mean - self.mean)[varied] / scale)
        spread = np.abs(np.log(np.maximum(distance, _LEAST_DEVIATION))).mean()
        is_flat = len(features) >= _ENOUGH_FRAMES and np.median(moved) < _FLATTEST
        return not (distance.mean() > _FARTHEST or spread > _WIDEST or is_flat)


def fit_scaling(videos: Iterable[Video], *, levels: bool = False) -> Scaling:
    """Fits the scaling to videos, one at a time: those to learn from, never the test side.

    `levels` says that the videos are levelled.
    """
    moments = reduce(Moments.merged, (Moments.of(video.features) for video in videos))
    return _scaling_to(moments, levels=levels)


def levelled(features: Features, moments: Moments | None = None) -> NDArray[np.float32]:
    """Features `(T, F)` of a video at its own scale: mean 0 and deviation 1 in every channel.

    A channel that never moves becomes 0. `moments` are those of the whole video, if this is only a
    part of it.
    """
    own = _scaling_to(Moments.of(features) if moments is None else moments)
    return own.scaled(features, out=np.empty_like(features, dtype=np.float32))


def _scaling_to(moments: Moments, *, levels: bool = False) -> Scaling:
    """The scaling that gives frames with these moments mean 0 and deviation 1."""
    deviation = np.where(moments.is_constant, np.inf, moments.deviation)
    return Scaling(moments.mean, deviation, levels)


def _block_moments(features: Features) -> Moments:
    values = features.astype(np.float64)
    mean = values.mean(axis=0)
    values -= mean
    # the mean itself is rounded: add back what it misses
    missed = values.mean(axis=0)
    squares = np.einsum("tf,tf->f", values, values) - len(values) * missed**2
    return Moments(len(values), mean + missed, np.maximum(squares, 0))


def _blocks(features: Features) -> Iterator[slice]:
    """Rows that together have about `_BLOCK` values."""
    n_rows = max(1, _BLOCK // max(1, features.shape[1]))
    return (slice(start, start + n_rows) for start in range(0, len(features), n_rows))
