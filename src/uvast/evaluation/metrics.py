"""Acc, Edit and F1@10/25/50 (docs/metrics.md), in pure numpy.

Each video becomes `Counts`; these are added, in any order and any process, and become `Scores`.
Nothing is ever expanded to frames: two segmentations of one video have at most S + S' overlapping
pairs of segments, and everything is counted on those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uvast.errors import InputError
from uvast.evaluation.scores import PROTOCOLS, THRESHOLDS, ClassScores, ScoreProtocol, Scores
from uvast.segments import IntArray, merge_repeats, run_starts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import ArrayLike

    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class Counts:
    """What one video, or the sum of many, contributes to the scores.

    Args:
        protocol: how the last segment ends.
        n_videos: videos counted.
        n_sequences: their labelled stretches; one for a fully labelled video.
        n_frames: their frames.
        n_right: frames whose class is right, background included.
        edit_sum: the sum of the sequences' edit scores.
        hits: true segments found `(3, C)`, by threshold and class; None for bare transcripts, which
            only have an Edit score.
        n_predicted: predicted segments by class `(C,)`, without background.
        n_true: true segments by class `(C,)`, without background.
        confusion: frames by true and predicted class `(C, C)`, if asked for.
    """

    protocol: ScoreProtocol
    n_videos: int
    n_sequences: int
    n_frames: int
    n_right: int
    edit_sum: float
    hits: IntArray | None
    n_predicted: IntArray
    n_true: IntArray
    confusion: IntArray | None = None

    def __add__(self, other: Counts) -> Counts:
        """The counts of both; the confusion only if both have one."""
        if self.protocol != other.protocol or self.n_true.shape != other.n_true.shape:
            raise InputError("counts of different protocols or classes cannot be added")
        return Counts(
            protocol=self.protocol,
            n_videos=self.n_videos + other.n_videos,
            n_sequences=self.n_sequences + other.n_sequences,
            n_frames=self.n_frames + other.n_frames,
            n_right=self.n_right + other.n_right,
            edit_sum=self.edit_sum + other.edit_sum,
            hits=None if self.hits is None or other.hits is None else self.hits + other.hits,
            n_predicted=self.n_predicted + other.n_predicted,
            n_true=self.n_true + other.n_true,
            confusion=None
            if self.confusion is None or other.confusion is None
            else self.confusion + other.confusion,
        )

    def scores(self, *, classes: Vocabulary | None = None) -> Scores:
        """The scores; with `classes`, also F1 of each class that is not background."""
        acc, f1 = math.nan, dict.fromkeys(THRESHOLDS, math.nan)
        if self.hits is not None:
            acc = 100 * self.n_right / self.n_frames if self.n_frames else 100.0
            f1 = _f1(self.hits.sum(1), self.n_predicted.sum(), self.n_true.sum(), undefined=100.0)
        return Scores(
            acc=acc,
            edit=self.edit_sum / self.n_sequences,
            f1=f1,
            protocol=self.protocol,
            n_videos=self.n_videos,
            per_class=None
            if classes is None or self.hits is None
            else self._per_class(self.hits, classes),
            confusion=self.confusion,
        )

    def _per_class(self, hits: IntArray, classes: Vocabulary) -> tuple[ClassScores, ...]:
        return tuple(
            ClassScores(
                name=name,
                f1=_f1(hits[:, c], self.n_predicted[c], self.n_true[c], undefined=np.nan),
                n_true=int(self.n_true[c]),
                n_predicted=int(self.n_predicted[c]),
            )
            for c, name in enumerate(classes.names)
            if c not in classes.background_ids
        )


def count(
    predicted: Segmentation,
    true: Segmentation,
    classes: Vocabulary,
    *,
    protocol: ScoreProtocol = "standard",
    confusion: bool = False,
) -> Counts:
    """The counts of one video."""
    if protocol not in PROTOCOLS:
        raise InputError(f"unknown protocol {protocol!r}", remedy=f"choose from {PROTOCOLS}")
    check_lengths(predicted, true)
    n_classes = len(classes)
    predicted, true = predicted.merged(), true.merged()
    for transcript in (predicted.transcript, true.transcript):
        if len(transcript) and not 0 <= transcript.min() <= transcript.max() < n_classes:
            raise InputError(f"class ids outside of the vocabulary's 0 to {n_classes - 1}")
    pairs = overlapping_pairs(predicted, true)
    is_action = np.ones(n_classes, dtype=np.int64)
    is_action[list(classes.background_ids)] = 0
    return Counts(
        protocol=protocol,
        n_videos=1,
        n_sequences=1,
        n_frames=true.n_frames,
        n_right=int(pairs.shared[pairs.predicted_class == pairs.true_class].sum()),
        edit_sum=edit_score(predicted.transcript, true.transcript, classes.background_ids),
        hits=_hits(predicted, true, pairs, n_classes, protocol) * is_action,
        n_predicted=np.bincount(predicted.transcript, minlength=n_classes) * is_action,
        n_true=np.bincount(true.transcript, minlength=n_classes) * is_action,
        confusion=_confusion(pairs, n_classes) if confusion else None,
    )


def count_stretches(
    predicted: Segmentation,
    true: Segmentation,
    classes: Vocabulary,
    *,
    protocol: ScoreProtocol = "standard",
    confusion: bool = False,
) -> Counts:
    """The counts of one video, each labelled stretch being a sequence of its own."""
    check_lengths(predicted, true)
    counts = [
        count(
            predicted.part(*span),
            true.part(*span),
            classes,
            protocol=protocol,
            confusion=confusion,
        )
        for span in true.labelled_parts()
    ]
    return replace(sum_counts(counts), n_videos=1)


def check_lengths(predicted: Segmentation, true: Segmentation) -> None:
    """Refuses a prediction with more or fewer frames than the truth."""
    if predicted.n_frames != true.n_frames:
        raise InputError(
            f"a prediction of {predicted.n_frames} frames for a video of {true.n_frames}",
            remedy="bring it back to the original frame rate (Segmentation.upsampled)",
        )


def count_transcript(
    predicted: ArrayLike, true: Segmentation, classes: Vocabulary, *, protocol: ScoreProtocol
) -> Counts:
    """The counts of one video whose prediction is a bare transcript `(S,)`: only Edit."""
    none = np.zeros(len(classes), dtype=np.int64)
    return Counts(
        protocol=protocol,
        n_videos=1,
        n_sequences=1,
        n_frames=true.n_frames,
        n_right=0,
        edit_sum=edit_score(predicted, true.transcript, classes.background_ids),
        hits=None,
        n_predicted=none,
        n_true=none,
    )


def sum_counts(counts: Iterable[Counts]) -> Counts:
    """The counts of all videos together; at least one."""
    counts = tuple(counts)
    if not counts:
        raise InputError("no videos to score")
    return reduce(add, counts)


def edit_score(predicted: ArrayLike, true: ArrayLike, background: Collection[int] = ()) -> float:
    """`100 (1 - Levenshtein / max(len))` of two transcripts.

    Repeated neighbours count once; background is left out after that, so that `A background A`
    stays two actions. Two empty transcripts agree: 100.
    """
    first, second = (
        transcript[~np.isin(transcript, list(background))]
        for transcript in (merge_repeats(predicted), merge_repeats(true))
    )
    longest = max(len(first), len(second))
    return 100 * (1 - levenshtein(first, second) / longest) if longest else 100.0


def levenshtein(first: ArrayLike, second: ArrayLike) -> int:
    """The fewest insertions, deletions and replacements that turn one sequence into the other."""
    short, long = sorted((np.asarray(first), np.asarray(second)), key=len)
    places = np.arange(len(long) + 1)
    row = places
    for item in short:
        # Without insertions, each cell needs only the row above; insertions are then a running
        # minimum: row[j] = min over i <= j of cost[i] + (j - i).
        cost = row + 1
        cost[1:] = np.minimum(cost[1:], row[:-1] + (long != item))
        row = np.minimum.accumulate(cost - places) + places
    return int(row[-1])


class OverlappingPairs(NamedTuple):
    """The pairs of a predicted and a true segment that share frames, in order."""

    predicted: IntArray
    true: IntArray
    predicted_class: IntArray
    true_class: IntArray
    shared: IntArray


def overlapping_pairs(predicted: Segmentation, true: Segmentation) -> OverlappingPairs:
    """Both sides tile `[0, T)`, so each stretch between neighbouring cuts is exactly one pair."""
    cuts = np.union1d(predicted.ends, true.ends)
    of_predicted = np.searchsorted(predicted.ends, cuts)
    of_true = np.searchsorted(true.ends, cuts)
    return OverlappingPairs(
        of_predicted,
        of_true,
        predicted.transcript[of_predicted],
        true.transcript[of_true],
        np.diff(cuts, prepend=0),
    )


def _hits(
    predicted: Segmentation,
    true: Segmentation,
    pairs: OverlappingPairs,
    n_classes: int,
    protocol: ScoreProtocol,
) -> IntArray:
    """True segments found, `(3, C)` by threshold and class.

    Each predicted segment has one candidate, the true segment of its class with the best IoU (the
    first on ties). Predicted segments are taken in order, so among those that share a candidate the
    first that overlaps enough is the hit: the hits are the distinct candidates overlapped enough.
    """
    shared = pairs.shared.copy()
    lengths = predicted.durations[pairs.predicted], true.durations[pairs.true]
    if protocol == "legacy" and len(shared):
        shared[-1] -= 1
        lengths[0][pairs.predicted == len(predicted) - 1] -= 1
        lengths[1][pairs.true == len(true) - 1] -= 1
    alike = (pairs.predicted_class == pairs.true_class) & (shared > 0)
    shared = shared[alike]
    union = lengths[0][alike] + lengths[1][alike] - shared
    of_predicted = pairs.predicted[alike]
    best = np.lexsort((-shared / union, of_predicted))
    best = best[run_starts(of_predicted[best])]
    candidates = pairs.true[alike][best]
    # In integers, so that nothing is rounded at IoU = threshold.
    enough = [100 * shared[best] >= threshold * union[best] for threshold in THRESHOLDS]
    found = [true.transcript[np.unique(candidates[far])] for far in enough]
    return np.stack([np.bincount(action, minlength=n_classes) for action in found])


def _confusion(pairs: OverlappingPairs, n_classes: int) -> IntArray:
    confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(confusion, (pairs.true_class, pairs.predicted_class), pairs.shared)
    return confusion


def _f1(hits: IntArray, n_predicted: int, n_true: int, *, undefined: float) -> dict[int, float]:
    """`2 TP / (2 TP + FP + FN)`, where TP + FP and TP + FN are the segments of the two sides."""
    n_segments = int(n_predicted + n_true)
    values = 200 * hits / n_segments if n_segments else np.full(len(hits), undefined)
    return dict(zip(THRESHOLDS, values.tolist(), strict=True))
