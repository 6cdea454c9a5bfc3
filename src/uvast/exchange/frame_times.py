"""Seconds <-> frames of one video, by its real presentation times or by a constant rate.

Frame i is shown during `[edge i, edge i + 1)`. A boundary between segments is an edge, so it snaps
to the nearest one and is never off by more than half a frame. A point belongs to the frame shown at
that moment and is written back as that frame's middle, so rounding cannot move it out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uvast.errors import ConfigError, InputError

if TYPE_CHECKING:
    from uvast.segments import IntArray

Seconds = NDArray[np.float64]

_BROADCAST = {whole: Fraction(whole * 1000, 1001) for whole in (24, 30, 48, 60, 120, 240)}
LARGEST_RATE = 100_000
_LARGEST_FRAME = 2**53
"""Larger numbers are no longer whole in floats."""


class FrameTimes(Protocol):
    """When the frames of a video are shown."""

    @property
    def n_frames(self) -> int | None:
        """T; None if unknown."""
        ...

    def edges(self, frames: ArrayLike) -> Seconds:
        """When frames start `(N,)`; frame T starts at the video's end, later ones are guessed."""
        ...

    def nearest_edges(self, seconds: ArrayLike) -> IntArray:
        """The frames `(N,)` whose starts are nearest; T stands for the video's end."""
        ...

    def frames_at(self, seconds: ArrayLike) -> IntArray:
        """The frames `(N,)` shown at these moments."""
        ...


@dataclass(frozen=True)
class ConstantRate:
    """Frames of equal length from 0 seconds on.

    Args:
        rate: frames a second.
        n_frames: T, if known.
    """

    rate: Fraction
    n_frames: int | None = None

    def edges(self, frames: ArrayLike) -> Seconds:
        """When frames start `(N,)`."""
        # multiplied first: 30 frames at 30 a second are exactly 1 s
        numbers = np.asarray(frames, dtype=np.float64)
        return numbers * self.rate.denominator / self.rate.numerator

    def nearest_edges(self, seconds: ArrayLike) -> IntArray:
        """The frames `(N,)` whose starts are nearest."""
        return self._kept(np.floor(self._position(seconds) + 0.5), self.n_frames)

    def frames_at(self, seconds: ArrayLike) -> IntArray:
        """The frames `(N,)` shown at these moments."""
        # a start computed in floats must not fall into the frame before
        last = None if self.n_frames is None else self.n_frames - 1
        return self._kept(np.floor(self._position(seconds) + 1e-6), last)

    def _position(self, seconds: ArrayLike) -> Seconds:
        times = np.asarray(seconds, dtype=np.float64)
        return times * self.rate.numerator / self.rate.denominator

    @staticmethod
    def _kept(frames: Seconds, largest: int | None) -> IntArray:
        return np.clip(frames, 0, _LARGEST_FRAME if largest is None else largest).astype(np.int64)


class PresentationTimes:
    """Frames at the times stored in the video file, evenly spaced or not.

    Args:
        times: seconds `(T,)`, strictly increasing: when each frame is shown.
    """

    def __init__(self, times: ArrayLike) -> None:
        starts = np.asarray(times, dtype=np.float64)
        if starts.ndim != 1 or not len(starts):
            raise InputError(f"presentation times of shape {starts.shape}, not (T,)")
        steps = np.diff(starts)
        if not np.isfinite(starts).all() or (steps <= 0).any():
            raise InputError("presentation times have to be finite and strictly increasing")
        self._step = float(np.median(steps)) if len(steps) else 1.0
        self._edges = np.append(starts, starts[-1] + self._step)
        self._edges.flags.writeable = False
        self._middles = (self._edges[1:] + self._edges[:-1]) / 2

    @property
    def n_frames(self) -> int:
        """T."""
        return len(self._edges) - 1

    def edges(self, frames: ArrayLike) -> Seconds:
        """When frames start `(N,)`; those after the end continue at the usual step."""
        numbers = np.asarray(frames, dtype=np.int64)
        inside = self._edges[np.clip(numbers, 0, self.n_frames)]
        beyond: Seconds = inside + np.maximum(numbers - self.n_frames, 0) * self._step
        return beyond

    def nearest_edges(self, seconds: ArrayLike) -> IntArray:
        """The frames `(N,)` whose starts are nearest."""
        found = np.searchsorted(self._middles, np.asarray(seconds, dtype=np.float64), side="right")
        return np.asarray(found, dtype=np.int64)

    def frames_at(self, seconds: ArrayLike) -> IntArray:
        """The frames `(N,)` shown at these moments; before the first frame, the first."""
        times = np.asarray(seconds, dtype=np.float64) + 1e-6 * self._step
        found = np.searchsorted(self._edges, times, side="right") - 1
        return np.clip(found, 0, self.n_frames - 1).astype(np.int64)


def middles(times: FrameTimes, frames: ArrayLike) -> Seconds:
    """The middles of frames `(N,)` in seconds."""
    numbers = np.asarray(frames, dtype=np.int64)
    centres: Seconds = (times.edges(numbers) + times.edges(numbers + 1)) / 2
    return centres


def parse_rate(text: str, where: str = "--fps") -> Fraction:
    """`25`, `29.97` or `30000/1001`; 23.976, 29.97 and 59.94 stand for the true n·1000/1001."""
    try:
        value = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value <= LARGEST_RATE:
        raise ConfigError(
            f"{text!r} is not a frame rate", where=where, remedy="write for example 25 or 29.97"
        )
    return value if "/" in text else exact_rate(value)


def exact_rate(value: float | Fraction) -> Fraction:
    """The rate that a decimal number stands for.

    Video at 29.97 frames a second really has 30000/1001: taken literally, two hours of it would be
    off by a fifth of a frame.
    """
    broadcast = _BROADCAST.get(math.ceil(value))
    if broadcast is not None and abs(float(value) - float(broadcast)) < 0.006:
        return broadcast
    return Fraction(value).limit_denominator(LARGEST_RATE)
