"""How far cuts are from the landmarks in the features, from timestamps alone (beyond the paper).

Features change at a landmark: the hand sets off, the thread is tight. People cut a little earlier
or later, and by about as much each time the same two actions meet. Nothing in the features says by
how much, but timestamps do: some of them fall between landmark and cut, on the other side of the
landmark than their label says. So a cut is its landmark plus an offset of the two actions plus
noise, unless the landmark is wrong altogether. A timestamp is equally likely in any frame of its
segment, so a cut is less likely the longer the segments that it makes. EM finds the offsets and the
noise that explain where all timestamps are; few timestamps leave an offset near 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uvast.supervision.distances import FloatArray

_WRONG = 0.05
"""The share of landmarks that tell nothing about the cut."""
_PLACES = np.linspace(-1, 1, 201)
"""Of cuts beside their landmarks, as shares of the mean length of the two actions."""
_FIRST_NOISE = 0.1
_LEAST_NOISE = 0.02
_N_STEPS = 50
_SETTLED = 1e-4


@dataclass(frozen=True)
class CutRange:
    """What is known of one cut: its landmark, and the frames to which timestamps confine it.

    Args:
        actions: to the left and to the right of it.
        landmark: where the features alone would cut, with no regard for the two timestamps.
        first: the first frame where the cut may be, just after the left timestamp.
        last: the last one, the right timestamp.
        start: the start of the left segment.
        end: the end of the right one.
    """

    actions: tuple[int, int]
    landmark: int
    first: int
    last: int
    start: int
    end: int


def click_offsets(
    ranges: Sequence[CutRange], lengths: FloatArray, *, deviation: float
) -> FloatArray:
    """How many frames after their landmarks the cuts between two actions are `(C, C)`.

    Rows are the left actions. Where two actions never meet, or two timestamps are of one action,
    there is nothing to learn, and the offset is 0.

    Args:
        ranges: the cuts of all videos.
        lengths: mean frames per segment of each class `(C,)`.
        deviation: of offsets before any timestamp is seen, as a share of the mean length of the two
            actions; with 0 there are no offsets.
    """
    ranges = [one for one in ranges if one.actions[0] != one.actions[1]]
    n_classes = len(lengths)
    offsets: FloatArray = np.zeros((n_classes, n_classes))
    units = (lengths[:, None] + lengths) / 2
    if ranges and deviation:
        actions = np.array([one.actions for one in ranges])
        pairs, which = np.unique(actions @ [n_classes, 1], return_inverse=True)
        offsets.flat[pairs] = _shares(ranges, units.flat[pairs], which, deviation)
    return offsets * units


def _shares(
    ranges: Sequence[CutRange],
    units: FloatArray,
    which: NDArray[np.integer[Any]],
    deviation: float,
) -> FloatArray:
    """The offset of each pair of actions, in its unit `(P,)`; `which (N,)` is each cut's pair."""
    unit = units[which]
    frames = [[one.landmark, one.first, one.last, one.start, one.end] for one in ranges]
    landmark, first, last, start, end = np.array(frames, dtype=float).T
    cuts = landmark[:, None] + _PLACES * unit[:, None]
    allowed = (cuts >= first[:, None] - 0.5) & (cuts < last[:, None] + 0.5)
    sides = np.maximum(cuts - start[:, None], 1) * np.maximum(end[:, None] - cuts, 1)
    chances = np.where(allowed, 1 / sides, 0.0)
    strange = _WRONG * unit / np.maximum(end - start, 1) * chances.sum(1)

    shares = np.zeros(len(units))
    noise = _FIRST_NOISE
    for _ in range(_N_STEPS):
        apart = (_PLACES - shares[which][:, None]) / noise
        likely = chances * np.exp(-0.5 * apart**2)
        total = likely.sum(1)
        mass = (1 - _WRONG) / (noise * np.sqrt(2 * np.pi)) * total
        trust = mass / np.maximum(mass + strange, np.finfo(float).tiny)
        likely *= (trust / np.maximum(total, np.finfo(float).tiny))[:, None]
        weights = np.bincount(which, trust, len(units))
        sums = np.bincount(which, likely @ _PLACES, len(units))
        before, shares = shares, sums / (weights + (noise / deviation) ** 2)
        errors = (likely * (_PLACES - shares[which][:, None]) ** 2).sum()
        noise = max(_LEAST_NOISE, float(np.sqrt(errors / max(weights.sum(), 1))))
        if np.abs(shares - before).max() < _SETTLED:
            break
    return shares
