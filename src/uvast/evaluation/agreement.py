"""How far two annotators agree, or a prediction and an annotation; pure numpy.

Both sides are segmentations of the same frames. Cohen's kappa is `(p_o - p_e) / (1 - p_e)`: the
share of frames that agree, beyond what two annotators would agree on by chance if they used each
label as often as they do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from uvast.errors import InputError
from uvast.evaluation.metrics import count, overlapping_pairs, sum_counts
from uvast.evaluation.scores import or_none

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uvast.segments import IntArray, Segmentation
    from uvast.vocabulary import Vocabulary

Seconds = NDArray[np.float64]


class Pair(NamedTuple):
    """Two segmentations of one video, or of a part of it that both know.

    Args:
        first: one annotator's.
        second: the other's.
        edges: when each frame starts, and the last one ends, in seconds `(T + 1,)`.
    """

    first: Segmentation
    second: Segmentation
    edges: Seconds


@dataclass(frozen=True)
class Differences:
    """How far apart the boundaries of matched segments are, in seconds; NaN without any.

    Args:
        n: boundaries compared.
        median: of the distances.
        most: the distance that 95 % of them stay below.
        shift: the mean of second minus first; positive if the second is later.
    """

    n: int
    median: float
    most: float
    shift: float

    @classmethod
    def of(cls, seconds: Seconds) -> Differences:
        """Summarises signed differences `(N,)`."""
        if not len(seconds):
            return cls(0, math.nan, math.nan, math.nan)
        distances = np.abs(seconds)
        most = float(np.percentile(distances, 95))
        return cls(len(seconds), float(np.median(distances)), most, float(seconds.mean()))

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON; undefined values are None."""
        return {
            "boundaries": self.n,
            "median_seconds": or_none(self.median),
            "percentile_95_seconds": or_none(self.most),
            "mean_shift_seconds": or_none(self.shift),
        }


@dataclass(frozen=True)
class Agreement:
    """What two sides share.

    Args:
        n_frames: frames compared.
        kappa: Cohen's kappa of frames, at most 1; NaN if both use a single label.
        acc: frames with the same label, in percent.
        edit: the edit score of the two transcripts, the mean over pairs.
        f1: threshold in percent (10, 25, 50) to F1 of segments, the first side taken as true.
        starts: how far apart the starts of matched segments are.
        ends: the same for their ends.
        n_matched: segments of one label that overlap each other most.
        n_first: segments of the first side, without background.
        n_second: segments of the second.
        confusion: frames `(C, C)`, rows are the first side's classes.
    """

    n_frames: int
    kappa: float
    acc: float
    edit: float
    f1: Mapping[int, float]
    starts: Differences
    ends: Differences
    n_matched: int
    n_first: int
    n_second: int
    confusion: IntArray = field(compare=False, repr=False)

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "frames": self.n_frames,
            "kappa": or_none(self.kappa),
            "acc": self.acc,
            "edit": self.edit,
            **{f"f1@{threshold}": value for threshold, value in self.f1.items()},
            "segments": {
                "first": self.n_first,
                "second": self.n_second,
                "matched": self.n_matched,
            },
            "starts": self.starts.as_dict(),
            "ends": self.ends.as_dict(),
            "confusion": self.confusion.tolist(),
        }


def agreement(pairs: Iterable[Pair], classes: Vocabulary) -> Agreement:
    """How far the two sides of all pairs agree.

    Args:
        pairs: at least one.
        classes: the labels of both sides, and which of them are background.
    """
    pairs = tuple(pairs)
    for pair in pairs:
        if len(pair.edges) != pair.first.n_frames + 1:
            raise InputError(f"{len(pair.edges)} edges for {pair.first.n_frames} frames")
    counts = sum_counts(count(p.second, p.first, classes, confusion=True) for p in pairs)
    assert counts.confusion is not None, "asked for"
    matched = [_matched(pair, classes) for pair in pairs]
    scores = counts.scores()
    return Agreement(
        n_frames=counts.n_frames,
        kappa=cohens_kappa(counts.confusion),
        acc=scores.acc,
        edit=scores.edit,
        f1=scores.f1,
        starts=Differences.of(np.concatenate([one.starts for one in matched])),
        ends=Differences.of(np.concatenate([one.ends for one in matched])),
        n_matched=sum(one.n for one in matched),
        n_first=int(counts.n_true.sum()),
        n_second=int(counts.n_predicted.sum()),
        confusion=counts.confusion,
    )


def cohens_kappa(confusion: IntArray) -> float:
    """Kappa of counts `(C, C)`; NaN if chance alone explains everything, or there are none."""
    n = confusion.sum()
    if not n:
        return math.nan
    shares = confusion / n
    by_chance = float(shares.sum(axis=1) @ shares.sum(axis=0))
    agreed = float(np.trace(shares))
    return math.nan if by_chance >= 1 else (agreed - by_chance) / (1 - by_chance)


class _Matched(NamedTuple):
    """Signed differences of the boundaries of matched segments in seconds, and their number."""

    n: int
    starts: Seconds
    ends: Seconds


def _matched(pair: Pair, classes: Vocabulary) -> _Matched:
    """Matches segments of one label that are each other's best overlap; background is left out."""
    first, second = pair.first.merged(), pair.second.merged()
    found = overlapping_pairs(second, first)
    alike = found.predicted_class == found.true_class
    alike &= ~np.isin(found.true_class, list(classes.background_ids))
    of_first, of_second = found.true[alike], found.predicted[alike]
    shared = found.shared[alike]
    mutual = _best(of_first, shared) & _best(of_second, shared)
    a, b = of_first[mutual], of_second[mutual]
    starts = _shifts(first.starts[a], second.starts[b], pair.edges, edge=0)
    ends = _shifts(first.ends[a], second.ends[b], pair.edges, edge=pair.first.n_frames)
    return _Matched(len(a), starts, ends)


def _best(owner: IntArray, shared: IntArray) -> NDArray[np.bool_]:
    """Which pairs share most for their owner; on ties, the first."""
    order = np.lexsort((np.arange(len(owner)), -shared, owner))
    is_first = np.ones(len(order), dtype=np.bool_)
    is_first[1:] = owner[order][1:] != owner[order][:-1]
    best = np.zeros(len(order), dtype=np.bool_)
    best[order[is_first]] = True
    return best


def _shifts(first: IntArray, second: IntArray, edges: Seconds, *, edge: int) -> Seconds:
    """Second minus first in seconds, unless both are at the video's edge, which nobody chose."""
    chosen = (first != edge) | (second != edge)
    shifts: Seconds = edges[second[chosen]] - edges[first[chosen]]
    return shifts
