"""The metrics against an independent implementation, on thousands of random segmentations."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_scores import (
    blurred_videos,
    plain_distance,
    plain_f1,
    plain_scores,
    plain_segments,
    random_videos,
)

from uvast.evaluation import score
from uvast.evaluation.metrics import levenshtein
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary


def assert_agrees(videos, background, protocol, n_classes):
    classes = Vocabulary(
        tuple(f"class {c}" for c in range(n_classes)), tuple(f"class {c}" for c in background)
    )
    pairs = [tuple(Segmentation.from_labels(side) for side in video) for video in videos]
    found = score(pairs, classes, protocol=protocol).as_dict()
    expected = plain_scores(videos, background, protocol)
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=1e-9)


@settings(max_examples=600, deadline=None)
@given(random_videos(), st.sampled_from(["standard", "legacy"]))
@example(([([0], [0])], set(), 1), "legacy")
@example(([([0, 1], [0, 1])], {0}, 2), "legacy")
@example(([([0, 0, 0, 0], [0, 1, 1, 0])], set(), 2), "standard")
def test_agrees_with_plain_python(case, protocol):
    videos, background, n_classes = case
    assert_agrees(videos, background, protocol, n_classes)


@settings(max_examples=600, deadline=None)
@given(blurred_videos(), st.sampled_from(["standard", "legacy"]))
def test_agrees_with_plain_python_on_blurred_truth(video, protocol):
    """Predictions near the truth, where overlaps lie around the thresholds."""
    assert_agrees([video], {3}, protocol, 4)


@settings(max_examples=300, deadline=None)
@given(st.lists(blurred_videos(), min_size=1, max_size=3), st.sampled_from(["standard", "legacy"]))
def test_f1_of_a_class_is_f1_with_all_others_as_background(videos, protocol):
    classes = Vocabulary(tuple("ABCD"), ("D",))
    pairs = [tuple(Segmentation.from_labels(side) for side in video) for video in videos]
    per_class = score(pairs, classes, protocol=protocol, per_class=True).per_class
    assert per_class is not None
    assert [one.name for one in per_class] == ["A", "B", "C"]
    for action, one in enumerate(per_class):
        others = {0, 1, 2, 3} - {action}
        n_true, n_predicted = (
            sum(len(plain_segments(video[side], others, legacy=False)) for video in videos)
            for side in (1, 0)
        )
        assert (one.n_true, one.n_predicted) == (n_true, n_predicted)
        for percent, found in one.f1.items():
            expected = plain_f1(videos, others, protocol == "legacy", percent)
            assert found == pytest.approx(
                expected if n_true + n_predicted else math.nan, nan_ok=True
            )


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), max_size=9), st.lists(st.integers(0, 3), max_size=9))
def test_levenshtein_agrees_with_the_recursion(first, second):
    assert levenshtein(first, second) == plain_distance(first, second)
