"""How far cuts are from the landmarks in the features, from timestamps alone (beyond the paper).

Features change at a landmark: the hand sets off, the thread is tight. People cut a little earlier
or later, and by about as much each time the same two actions meet. Nothing in the features says by
how much, but timestamps do: some of them fall between landmark and cut, on the other side of the
landmark than their label says. So a cut is its landmark plus an offset of the two actions plus
noise, unless the landmark is wrong altogether. A timestamp is equally likely in any frame of its
segment, so a cut is less likely the longer the segments that it makes. EM finds the offsets and the
noise that explain where all timestamps are; few timestamps leave an offset near 0. Whether offsets
help at all is asked of timestamps that took no part in finding them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uvast.supervision.distances import FloatArray

_WRONG = 0.05
"""The share of landmarks that tell nothing about the cut."""
_PLACES = np.linspace(-0.5, 0.5, 101)
"""Of cuts beside their landmarks, as shares of the mean length of the two actions."""
_FIRST_NOISE = 0.1
_LEAST_NOISE = 0.02
_N_STEPS = 60
_SETTLED = 2e-4
_N_PARTS = 5
"""Of the cuts, each left out once to see whether offsets from the others explain it."""
_LEAST = np.finfo(float).tiny


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

    Rows are the left actions. Where two actions never meet, the offset is 0.

    Args:
        ranges: the cuts of all videos, video by video; those between timestamps of one action tell
            nothing.
        lengths: mean frames per segment of each class `(C,)`.
        deviation: of offsets before any timestamp is seen, as a share of the mean length of the two
            actions; with 0 there are no offsets.
    """
    units = (lengths[:, None] + lengths) / 2
    offsets: FloatArray = np.zeros_like(units)
    pairs, evidence = _evidence(ranges, units)
    if len(pairs) and deviation:
        offsets.flat[pairs] = evidence.fit(deviation)[0] * units.flat[pairs]
    return offsets


def offsets_help(ranges: Sequence[CutRange], lengths: FloatArray, *, deviation: float) -> bool:
    """Whether offsets explain timestamps that took no part in finding them better than none do.

    The arguments are those of `click_offsets`.
    """
    pairs, evidence = _evidence(ranges, (lengths[:, None] + lengths) / 2)
    return bool(len(pairs) and deviation) and evidence.gain(deviation) > 0


@dataclass(frozen=True, eq=False)
class _Evidence:
    """What N cuts say about the offsets of P pairs of actions.

    Args:
        chances: how likely the timestamps are for a cut at each place `(N, places)`.
        strange: how likely they are if the landmark is wrong `(N,)`.
        which: the pair of each cut `(N,)`.
        n_pairs: P.
    """

    chances: FloatArray
    strange: FloatArray
    which: NDArray[np.integer[Any]]
    n_pairs: int

    def without(self, part: slice) -> _Evidence:
        """All but some of the cuts."""
        kept = np.delete(np.arange(len(self.which)), part)
        return _Evidence(self.chances[kept], self.strange[kept], self.which[kept], self.n_pairs)

    def gain(self, deviation: float) -> float:
        """How much better offsets explain cuts from which they were not learned than none does."""
        edges = np.linspace(0, len(self.which), _N_PARTS + 1).round().astype(int).tolist()
        gain = 0.0
        for part in (slice(*both) for both in pairwise(edges)):
            others = self.without(part)
            with_offsets, without = (
                np.log(np.maximum(self._likelihoods(*others.fit(one))[0][part], _LEAST)).sum()
                for one in (deviation, 0.0)
            )
            gain += float(with_offsets - without)
        return gain

    def fit(self, deviation: float) -> tuple[FloatArray, float]:
        """The offset of each pair of actions `(P,)`, and the noise, as shares of their units."""
        shares, noise = np.zeros(self.n_pairs), _FIRST_NOISE
        for _ in range(_N_STEPS):
            total, likely = self._likelihoods(shares, noise)
            likely /= np.maximum(total, _LEAST)[:, None]
            weights = np.bincount(self.which, likely.sum(1), self.n_pairs)
            sums = np.bincount(self.which, likely @ _PLACES, self.n_pairs)
            before = shares, noise
            if deviation:
                shares = sums / (weights + (noise / deviation) ** 2)
            errors = (likely * (_PLACES - shares[self.which][:, None]) ** 2).sum()
            noise = max(_LEAST_NOISE, float(np.sqrt(errors / max(weights.sum(), _LEAST))))
            if max(np.abs(shares - before[0]).max(), abs(noise - before[1])) < _SETTLED:
                break
        return shares, noise

    def _likelihoods(self, shares: FloatArray, noise: float) -> tuple[FloatArray, FloatArray]:
        """Of the timestamps around each cut `(N,)`, and with its landmark right `(N, places)`."""
        apart = (_PLACES - shares[self.which][:, None]) / noise
        normal = (1 - _WRONG) / (noise * np.sqrt(2 * np.pi)) * np.exp(-0.5 * apart**2)
        right = normal * self.chances
        return right.sum(1) + _WRONG * self.strange, right


def _evidence(
    ranges: Sequence[CutRange], units: FloatArray
) -> tuple[NDArray[np.integer[Any]], _Evidence]:
    """The pairs of actions that meet, as flat indices `(P,)` of `units (C, C)`; what cuts say."""
    ranges = [one for one in ranges if one.actions[0] != one.actions[1]]
    actions = np.array([one.actions for one in ranges], dtype=int).reshape(-1, 2)
    pairs, which = np.unique(actions @ [len(units), 1], return_inverse=True)
    unit = units.flat[pairs][which]
    frames = [[one.landmark, one.first, one.last, one.start, one.end] for one in ranges]
    landmark, first, last, start, end = np.array(frames, dtype=float).reshape(-1, 5).T
    cuts = landmark[:, None] + _PLACES * unit[:, None]
    allowed = (cuts >= first[:, None] - 0.5) & (cuts < last[:, None] + 0.5)
    sides = np.maximum(cuts - start[:, None], 1) * np.maximum(end[:, None] - cuts, 1)
    chances = np.where(allowed, 1 / sides, 0.0)
    return pairs, _Evidence(chances, unit / (end - start) * chances.sum(1), which, len(pairs))
