"""Where predictions go wrong: segments that are missing, extra, confused or badly cut.

The transcripts of both sides are aligned with as few edits as the Edit score counts; among equally
short alignments, the one whose segments overlap most. So a video's errors are those behind its Edit
score, and for correctly named segments one can ask how well they are cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from uvast.errors import InputError
from uvast.evaluation.metrics import check_lengths, overlapping_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from uvast.segments import IntArray, Segmentation
    from uvast.vocabulary import Vocabulary

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "named": "named correctly",
        "badly_cut": "of these badly cut",
        "missing": "missing",
        "extra": "extra",
        "confused": "confused",
    }
)
"""What can become of a segment, as a field of `SegmentErrors`, to what tables call it."""

GOOD_CUT = 0.5
"""The overlap (IoU) from which a segment counts as well cut, as in F1@50."""

N_SHOWN = 3
"""How many classes, or pairs of classes, are listed for each kind of error."""


@dataclass(frozen=True, eq=False)
class SegmentErrors:
    """What became of the segments of one or many videos; background does not count.

    Args:
        n_predicted: predicted segments.
        named: true segments that are named correctly, by class `(C,)`.
        badly_cut: those of them whose overlap is below `GOOD_CUT` `(C,)`.
        missing: true segments without a predicted one `(C,)`.
        extra: predicted segments without a true one `(C,)`.
        confused: segments by true and predicted class `(C, C)`.
        offsets: frames by which correctly named segments start late `(N,)`; early ones are
            negative, those that start with the video on both sides are left out.
    """

    n_predicted: int
    named: IntArray
    badly_cut: IntArray
    missing: IntArray
    extra: IntArray
    confused: IntArray
    offsets: IntArray

    def __add__(self, other: SegmentErrors) -> SegmentErrors:
        """The errors of both."""
        return SegmentErrors(
            n_predicted=self.n_predicted + other.n_predicted,
            named=self.named + other.named,
            badly_cut=self.badly_cut + other.badly_cut,
            missing=self.missing + other.missing,
            extra=self.extra + other.extra,
            confused=self.confused + other.confused,
            offsets=np.concatenate((self.offsets, other.offsets)),
        )

    @property
    def n_true(self) -> int:
        """True segments."""
        return int(self.named.sum() + self.missing.sum() + self.confused.sum())

    def most_frequent(self, kind: str, vocabulary: Vocabulary) -> list[tuple[str, int]]:
        """Classes, or `true → predicted`, with the most errors of a kind, and how many."""
        counts, names = getattr(self, kind), vocabulary.names
        order = np.argsort(-counts, axis=None, kind="stable")[:N_SHOWN]
        places = np.column_stack(np.unravel_index(order, counts.shape)).tolist()
        found = [
            (" → ".join(names[c] for c in place), int(counts[tuple(place)])) for place in places
        ]
        return [(name, n) for name, n in found if n]

    def late(self, share: float) -> float | None:
        """The offset in frames that this share of the starts stays within; None without any."""
        return float(np.quantile(np.abs(self.offsets), share)) if len(self.offsets) else None

    def as_dict(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """For JSON: counts, and classes with the most errors of each kind."""
        kinds = ("badly_cut", "missing", "extra", "confused")
        return {
            "true": self.n_true,
            "predicted": self.n_predicted,
            "named": int(self.named.sum()),
            **{kind: int(getattr(self, kind).sum()) for kind in kinds},
            "most_frequent": {kind: dict(self.most_frequent(kind, vocabulary)) for kind in kinds},
            "start_offset": {"median": self.late(0.5), "90 %": self.late(0.9)},
        }


def find_errors(
    predicted: Segmentation, true: Segmentation, vocabulary: Vocabulary
) -> SegmentErrors:
    """The errors of one video; if it is partly labelled, those of its labelled stretches."""
    check_lengths(predicted, true)
    spans = true.labelled_parts()
    return sum_errors(
        _errors_of_stretch(predicted.part(*span), true.part(*span), vocabulary) for span in spans
    )


def sum_errors(errors: Iterable[SegmentErrors]) -> SegmentErrors:
    """The errors of all videos together; at least one."""
    errors = tuple(errors)
    if not errors:
        raise InputError("no videos to compare")
    return reduce(add, errors)


def _errors_of_stretch(
    predicted: Segmentation, true: Segmentation, vocabulary: Vocabulary
) -> SegmentErrors:
    predicted, true = predicted.merged(), true.merged()
    background = list(vocabulary.background_ids)
    (own,) = np.nonzero(~np.isin(predicted.transcript, background))
    (theirs,) = np.nonzero(~np.isin(true.transcript, background))
    overlaps = _overlaps(predicted, true, own, theirs)
    first, second = predicted.transcript[own], true.transcript[theirs]
    pairs = align(first, second, overlaps)
    right = first[pairs.first] == second[pairs.second]
    n_classes = len(vocabulary)

    def by_class(actions: IntArray) -> IntArray:
        return np.bincount(actions, minlength=n_classes)

    cut = overlaps.of(pairs) < GOOD_CUT
    confused = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(confused, (second[pairs.second[~right]], first[pairs.first[~right]]), 1)
    starts = predicted.starts[own[pairs.first[right]]], true.starts[theirs[pairs.second[right]]]
    inside = np.maximum(*starts) > 0
    return SegmentErrors(
        n_predicted=len(own),
        named=by_class(second[pairs.second[right]]),
        badly_cut=by_class(second[pairs.second[right & cut]]),
        missing=by_class(np.delete(second, pairs.second)),
        extra=by_class(np.delete(first, pairs.first)),
        confused=confused,
        offsets=(starts[0] - starts[1])[inside],
    )


class Alignment(NamedTuple):
    """Pairs of places in two sequences, in order, each place at most once."""

    first: IntArray
    second: IntArray


class Overlaps(NamedTuple):
    """The pairs of places in two sequences that overlap, in order, and how much, in [0, 1]."""

    first: IntArray
    second: IntArray
    shares: NDArray[np.float64]

    def of(self, pairs: Alignment) -> NDArray[np.float64]:
        """The overlaps of some pairs, 0 for those that have none."""
        known = {(i, j): share for i, j, share in zip(*map(np.ndarray.tolist, self), strict=True)}
        wanted = zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)
        return np.array([known.get(pair, 0.0) for pair in wanted], dtype=np.float64)


def align(first: IntArray, second: IntArray, overlaps: Overlaps) -> Alignment:
    """The pairs that are kept or replaced on a shortest edit path from one to the other.

    Among all shortest paths, one whose pairs have the largest sum of overlaps. Of the table of all
    pairs, only a byte for each is kept: the step that leads there.
    """
    n_first, n_second = len(first), len(second)
    # All overlaps together weigh less than one edit.
    gains = overlaps.shares / (2.0 * (min(n_first, n_second) + 1))
    begins = np.searchsorted(overlaps.first, np.arange(n_first + 1))
    places = np.arange(n_second + 1)
    steps = np.empty((n_first, n_second), dtype=np.int8)
    costs = places.astype(np.float64)
    for row in range(n_first):
        pairing = (first[row] != second).astype(np.float64)
        own = slice(begins[row], begins[row + 1])
        pairing[overlaps.second[own]] -= gains[own]
        paired, skipped = costs[:-1] + pairing, costs + 1
        least = np.concatenate((skipped[:1], np.minimum(skipped[1:], paired)))
        costs = np.minimum.accumulate(least - places) + places
        steps[row] = np.argmin((paired, skipped[1:], costs[:-1] + 1), axis=0)
    found = []
    i, j = n_first, n_second
    while i and j:
        step = steps[i - 1, j - 1]
        if step == 0:
            found.append((i - 1, j - 1))
        i, j = i - (step != 2), j - (step != 1)
    pairs = np.array(found[::-1], dtype=np.int64).reshape(-1, 2)
    return Alignment(pairs[:, 0], pairs[:, 1])


def _overlaps(
    predicted: Segmentation, true: Segmentation, own: IntArray, theirs: IntArray
) -> Overlaps:
    """IoU of the segments of two segmentations of the same frames.

    Only the segments `own` and `theirs` count, and places are among them.
    """
    pairs = overlapping_pairs(predicted, true)
    lengths = predicted.durations[pairs.predicted] + true.durations[pairs.true]
    shares = pairs.shared / (lengths - pairs.shared)
    counts = np.isin(pairs.predicted, own) & np.isin(pairs.true, theirs)
    first = np.searchsorted(own, pairs.predicted[counts])
    return Overlaps(first, np.searchsorted(theirs, pairs.true[counts]), shares[counts])
