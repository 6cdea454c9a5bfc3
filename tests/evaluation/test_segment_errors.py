"""Planted errors are found as what they are, and are those that the Edit score is made of."""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.errors import InputError
from uvast.evaluation.metrics import edit_score, levenshtein
from uvast.evaluation.segment_errors import (
    Overlaps,
    SegmentErrors,
    align,
    find_errors,
    sum_errors,
)
from uvast.segments import UNLABELLED, Segmentation
from uvast.vocabulary import Vocabulary

LETTERS = "abcd_"
VOCABULARY = Vocabulary(tuple(LETTERS), background=("_",))


def segmentation(text: str) -> Segmentation:
    labels = [UNLABELLED if letter == "." else LETTERS.index(letter) for letter in text]
    return Segmentation.from_labels(np.array(labels, dtype=np.int64))


def errors(predicted: str, true: str) -> SegmentErrors:
    return find_errors(segmentation(predicted), segmentation(true), VOCABULARY)


def counts(found: SegmentErrors) -> dict[str, int]:
    values = found.as_dict(VOCABULARY)
    return {kind: values[kind] for kind in ("named", "badly_cut", "missing", "extra", "confused")}


@pytest.mark.parametrize(
    ("predicted", "true", "expected"),
    [
        ("aaabbbcc", "aaabbbcc", (3, 0, 0, 0, 0)),
        ("aaaaaacc", "aaabbbcc", (2, 0, 1, 0, 0)),
        ("aaabbdcc", "aaabbbcc", (3, 0, 0, 1, 0)),
        ("aaadddcc", "aaabbbcc", (2, 0, 0, 0, 1)),
        ("abbbbbcc", "aaabbbcc", (3, 1, 0, 0, 0)),  # a has an overlap of 1 / 3, b of 3 / 5
        ("____bbcc", "aaabbbcc", (2, 0, 1, 0, 0)),
        ("aaa__bcc", "aaabbbcc", (3, 1, 0, 0, 0)),
        ("________", "________", (0, 0, 0, 0, 0)),
    ],
)
def test_each_kind(predicted: str, true: str, expected: tuple[int, ...]) -> None:
    assert tuple(counts(errors(predicted, true)).values()) == expected


def test_of_equal_ways_the_one_that_overlaps_most() -> None:
    """One `a` is missing: the first, which nothing overlaps, though either would do for Edit."""
    found = errors("bbbbbbbbaaaa", "aabbbbbbaaaa")
    assert counts(found) == {"named": 2, "badly_cut": 0, "missing": 1, "extra": 0, "confused": 0}
    assert found.offsets.tolist() == [-2, 0]


def test_classes_with_the_most_errors_are_named() -> None:
    found = sum_errors([errors("dddbb", "aaabb"), errors("dddcc", "aaacc"), errors("aab", "aaa")])
    assert found.most_frequent("confused", VOCABULARY) == [("a → d", 2)]
    assert found.most_frequent("extra", VOCABULARY) == [("b", 1)]
    assert found.most_frequent("missing", VOCABULARY) == []
    assert found.as_dict(VOCABULARY)["most_frequent"]["confused"] == {"a → d": 2}
    assert (found.n_true, found.n_predicted) == (5, 6)


def test_starts() -> None:
    found = errors("aaaaabccc", "aaabbbccc")
    assert found.offsets.tolist() == [2, 0]  # the first segment starts with the video
    assert found.late(0.5) == 1
    assert errors("aaa", "aaa").late(0.5) is None


def test_labelled_stretches_are_sequences_of_their_own() -> None:
    found = errors("aabbccdd", "aa....dc")
    assert counts(found) == {"named": 2, "badly_cut": 0, "missing": 1, "extra": 0, "confused": 0}


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InputError, match="a prediction of 2 frames for a video of 3"):
        errors("aa", "aaa")
    with pytest.raises(InputError, match="no videos to compare"):
        sum_errors([])


def test_thousands_of_segments_need_little_memory() -> None:
    found = [segmentation("ab" * 1000), segmentation("ba" * 1000)]
    tracemalloc.start()
    find_errors(*found, VOCABULARY)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2 * 2000 * 2000  # a byte for each pair of segments, and change


sequences = st.lists(st.integers(0, 2), max_size=5).map(lambda one: np.array(one, dtype=np.int64))


@given(sequences, sequences, st.integers(0, 2**32 - 1))
def test_alignment_by_brute_force(first: np.ndarray, second: np.ndarray, seed: int) -> None:
    overlaps = np.random.default_rng(seed).random((len(first), len(second)))

    def cost(rows: tuple[int, ...], columns: tuple[int, ...]) -> tuple[int, float]:
        wrong = sum(first[i] != second[j] for i, j in zip(rows, columns, strict=True))
        edits = wrong + len(first) + len(second) - 2 * len(rows)
        return int(edits), -float(sum(overlaps[i, j] for i, j in zip(rows, columns, strict=True)))

    ways = [
        cost(rows, columns)
        for n in range(min(len(first), len(second)) + 1)
        for rows in combinations(range(len(first)), n)
        for columns in combinations(range(len(second)), n)
    ]
    found = align(first, second, Overlaps(*np.nonzero(overlaps), overlaps[overlaps > 0]))
    edits, gained = cost(tuple(found.first), tuple(found.second))
    best = min(ways)
    assert (edits, gained) == (best[0], pytest.approx(best[1]))
    assert edits == levenshtein(first, second)


labels = st.text(alphabet=LETTERS, min_size=12, max_size=12)


@given(labels, labels)
def test_errors_are_those_of_the_edit_score(predicted: str, true: str) -> None:
    found = counts(errors(predicted, true))
    edits = found["missing"] + found["extra"] + found["confused"]
    one, other = (segmentation(text).transcript for text in (predicted, true))
    n_own = found["named"] + found["confused"] + found["extra"]
    n_true = found["named"] + found["confused"] + found["missing"]
    longest = max(n_own, n_true)
    expected = 100 * (1 - edits / longest) if longest else 100.0
    assert edit_score(one, other, VOCABULARY.background_ids) == pytest.approx(expected)
    assert found["badly_cut"] <= found["named"]
