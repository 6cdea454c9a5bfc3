"""Label next: the video and the moment whose answer would teach most.

A model has cut all videos into segments. A person goes to one of them and names what happens in
its middle: one key. Such an answer tells of more than its own segment, since the project has others
that look like it. So each proposal is the segment that settles most doubt: over all segments, their
frames times their doubt times how much better they are known than by what was answered before
(a facility location, chosen greedily). A segment that nothing resembles settles little, and so does
one that looks like labelled ones. docs/annotating.md has what was measured: ahead of random moments
on one dataset, behind them on another.

What is learned from an answer is the middle half of its segment and no more. The edges are the
model's guess, and what nobody looked at stays unlabelled: one click would otherwise name the whole
video, since clicks stand for a video whose every action has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

LOOK_WIDTH = 32
"""Numbers that tell what a segment looks like, at most."""

MOST_CANDIDATES = 1500
"""Segments that are compared with each other; of more, those with the most doubt."""

_NEAR = 0.8
"""Segments look alike within this part of their median distance (chosen on split 2 of GTEA and of
knot tying, see `benchmarks/label_next.py`)."""

_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class Candidates:
    """The predicted segments of all videos.

    Args:
        looks: what each looks like, see `segment_looks` `(N, L)`.
        doubts: how unsure the model is of each, 0 to 1 `(N,)`.
        lengths: in frames or in seconds `(N,)`.
        known: whether a person has said what happens there `(N,)`.
    """

    looks: FloatArray
    doubts: FloatArray
    lengths: FloatArray
    known: NDArray[np.bool_]


class Stretch(NamedTuple):
    """The part of a video that an answer tells of, and its middle, where to look."""

    start: float
    moment: float
    end: float


def segment_looks(means: FloatArray) -> FloatArray:
    """What segments look like, in a few numbers `(S, L)`, of their mean scaled features `(S, F)`.

    A fixed random projection keeps distances well enough, in files that stay small.
    """
    width = means.shape[1]
    if width <= LOOK_WIDTH:
        return means
    axes = np.random.default_rng(0).standard_normal((width, LOOK_WIDTH))
    looks: FloatArray = means @ axes / LOOK_WIDTH**0.5
    return looks


def propose(candidates: Candidates, n: int = 1) -> list[int]:
    """The places of the segments to ask for, the most telling first; at most `n`.

    What is proposed counts as known for the next one. Segments that are known are never proposed.
    """
    kept = _kept(candidates)
    known = candidates.known[kept]
    alike = _alike(candidates.looks[kept])
    weights = (candidates.lengths * candidates.doubts)[kept]
    told = alike[:, known].max(axis=1, initial=0.0)
    open_ = ~known
    found: list[int] = []
    while len(found) < n and open_.any():
        gains = weights @ np.maximum(alike - told[:, None], 0)
        # of equals the one with most doubt: nothing may be left to tell
        best = int(np.lexsort((weights, np.where(open_, gains, -1.0)))[-1])
        found.append(int(kept[best]))
        open_[best] = False
        told = np.maximum(told, alike[:, best])
    return found


def middle_half(start: float, end: float) -> Stretch:
    """What an answer in a segment tells of."""
    quarter = (end - start) / 4
    return Stretch(start + quarter, start + 2 * quarter, end - quarter)


def is_known(
    segments: Sequence[tuple[float, float]], labelled: Sequence[tuple[float, float]]
) -> NDArray[np.bool_]:
    """Whether a person has said what happens in the middle of each segment `(N,)`.

    `labelled` are spans in order and apart.
    """
    edges = np.array(labelled, dtype=np.float64).reshape(-1)
    middles = np.array(segments, dtype=np.float64).reshape(-1, 2).mean(axis=1)
    inside: NDArray[np.bool_] = np.searchsorted(edges, middles, side="right") % 2 == 1
    return inside


def _kept(candidates: Candidates) -> NDArray[np.int64]:
    """Places of those that are compared: of each kind, known or not, at most half of the limit."""
    weights = candidates.lengths * candidates.doubts
    chosen = [
        np.flatnonzero(kind)[np.argsort(-weights[kind], kind="stable")[: MOST_CANDIDATES // 2]]
        for kind in (candidates.known, ~candidates.known)
    ]
    kept: NDArray[np.int64] = np.sort(np.concatenate(chosen))
    return kept


def _alike(looks: FloatArray) -> FloatArray:
    """How much one tells of another by their distance, from 0 to 1 `(N, N)`."""
    norms = np.einsum("nl,nl->n", looks, looks)
    squares = np.maximum(norms[:, None] + norms[None] - 2 * (looks @ looks.T), 0)
    # what rounding leaves of equal looks is no distance
    apart = squares[squares > _LEAST * norms.max(initial=0.0)]
    if not len(apart):
        return np.ones_like(squares)
    near: FloatArray = np.exp(-squares / (_NEAR**2 * float(np.median(apart))))
    np.fill_diagonal(near, 1.0)
    return near
