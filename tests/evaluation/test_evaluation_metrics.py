"""The metrics: golden values, each rule by hand, and how counts add up."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_scores import random_videos

from uvast.errors import InputError
from uvast.evaluation import score
from uvast.evaluation.metrics import count, edit_score, levenshtein, sum_counts
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

GOLDEN = Path(__file__).parents[1] / "golden" / "scores.json"
LETTERS = Vocabulary(tuple("ABCD_"), ("_",))


def segmentation(text: str) -> Segmentation:
    """`"AAB"` is three frames of class A, A and B; `_` is background."""
    return Segmentation.from_labels(LETTERS.encode(text))


def score_texts(*pairs: tuple[str, str], **options):
    return score(
        [(segmentation(predicted), segmentation(true)) for predicted, true in pairs],
        LETTERS,
        **options,
    )


@pytest.mark.parametrize("case", json.loads(GOLDEN.read_text()), ids=lambda case: case["what"])
def test_golden_values(case):
    pairs = [(video["predicted"], video["true"]) for video in case["videos"]]
    for protocol in ("standard", "legacy"):
        found = score_texts(*pairs, protocol=protocol).as_dict()
        assert found == pytest.approx(case[protocol] | {"protocol": protocol}, abs=1e-9)


# Each rule by hand.


def test_frames_are_pooled_over_videos_and_background_counts():
    assert score_texts(("A_", "AA"), ("BBBBBB__", "BBBBBB__")).acc == 90


def test_edit_is_the_mean_over_videos():
    assert score_texts(("AB", "AB"), ("AABBCCDD", "DDCCBBAA")).edit == 50


def test_f1_is_pooled_over_videos():
    scores = score_texts(("AAA", "AAA"), ("BCD", "DBC"))
    assert scores.f1 == {10: 25, 25: 25, 50: 25}


@pytest.mark.parametrize(
    ("predicted", "hits"),
    [
        ("A" * 10, (True, False, False)),
        ("AAAA" + "B" * 6, (True, True, False)),
        ("AA" + "B" * 8, (True, True, True)),
        ("B" * 10, (False, False, False)),
    ],
)
def test_a_hit_is_at_the_threshold_itself(predicted, hits):
    found = score_texts((predicted, "A" + "_" * 9)).f1
    n_predicted = 1 + ("A" in predicted and "B" in predicted)
    expected = tuple(200 / (n_predicted + 1) if hit else 0 for hit in hits)
    assert tuple(found.values()) == pytest.approx(expected)


def test_a_true_segment_is_hit_once():
    # Both pieces overlap the one true segment by 40 % and more: one hit, one false positive.
    scores = score_texts(("AAAABAAAAA", "AAAAAAAAAA"))
    assert scores.f1[25] == pytest.approx(200 / (3 + 1))


def test_a_prediction_whose_best_match_is_taken_gets_no_second_choice():
    # The second A overlaps the long first A best (3/14), which is taken, and not the free
    # last A (1/5), which it would hit at 10 % too.
    scores = score_texts(("AAAAAAAABAAAAA__", "AAAAAAAAAAAA_A__"))
    assert scores.f1[10] == pytest.approx(200 * 1 / (3 + 2))


def test_equal_overlaps_take_the_first_true_segment():
    # The long A overlaps both true ones by 2/8 and takes the first: the second is left for the
    # last A.
    assert score_texts(("BBAAAAAABA", "AAAABBAAAA")).f1[25] == pytest.approx(200 * 2 / (4 + 3))


def test_background_is_left_out_of_edit_and_f1():
    scores = score_texts(("_A___B_", "AAAAABB"))
    assert scores.edit == 100
    assert scores.f1[10] == 100
    assert scores.acc == pytest.approx(100 * 2 / 7)


def test_actions_on_both_sides_of_background_stay_two():
    assert edit_score([0, 4, 0], [0], background=[4]) == 50
    assert edit_score([0, 4, 0], [0, 0], background=[4]) == 50
    assert score_texts(("A_A", "AAA")).f1[10] == pytest.approx(200 / 3)


def test_repeated_neighbours_of_a_transcript_count_once():
    assert edit_score([0, 0, 1], [0, 1, 1]) == 100
    chunks = Segmentation([0, 0, 1], [2, 2, 1])
    assert score([(chunks, segmentation("AAAAB"))], LETTERS).f1[50] == 100


def test_a_video_without_frames_divides_nothing_by_zero():
    empty = Segmentation([], [])
    for protocol in ("standard", "legacy"):
        scores = score([(empty, empty)], LETTERS, protocol=protocol, confusion=True)
        assert (scores.acc, scores.edit, set(scores.f1.values())) == (100, 100, {100})


def test_nothing_but_background():
    both = score_texts(("___", "___"))
    assert (both.acc, both.edit, both.f1[10]) == (100, 100, 100)
    missed = score_texts(("___", "_A_"))
    assert (missed.edit, missed.f1[10]) == (0, 0)
    invented = score_texts(("_A_", "___"))
    assert (invented.edit, invented.f1[10]) == (0, 0)
    assert edit_score([], []) == 100
    assert edit_score([], [1]) == 0


def test_legacy_ends_the_last_segment_one_frame_early():
    # The last B: 2 of 4 frames overlap; one frame early, 1 of 3.
    pair = ("AAAABB", "AABBBB")
    assert score_texts(pair).f1[50] == 100
    assert score_texts(pair, protocol="legacy").f1[50] == 50


def test_legacy_loses_a_last_segment_of_one_frame():
    pair = ("AAAB", "AAAB")
    assert score_texts(pair).f1[10] == 100
    legacy = score_texts(pair, protocol="legacy")
    assert legacy.f1[10] == 50
    assert (legacy.acc, legacy.edit) == (100, 100)


def test_legacy_does_not_touch_a_video_that_ends_in_background():
    pair = ("AAAABB_", "AABBBB_")
    legacy = score_texts(pair, protocol="legacy")
    assert legacy.f1 == score_texts(pair).f1


@settings(deadline=None)
@given(random_videos(), st.sampled_from(["standard", "legacy"]))
def test_truth_is_perfect_and_scores_stay_in_range(case, protocol):
    videos, _, n_classes = case
    classes = Vocabulary(tuple(str(c) for c in range(n_classes)))
    pairs = [tuple(Segmentation.from_labels(side) for side in video) for video in videos]
    found = score(pairs, classes, protocol=protocol)
    assert all(0 <= value <= 100 for value in (found.acc, found.edit, *found.f1.values()))
    assert found.f1[10] >= found.f1[25] >= found.f1[50]
    perfect = score([(true, true) for _, true in pairs], classes)
    assert (perfect.acc, perfect.edit, set(perfect.f1.values())) == (100, 100, {100})


# Counts, classes, confusion.


@settings(deadline=None)
@given(random_videos())
def test_counts_add_up_in_any_grouping(case):
    videos, _, n_classes = case
    classes = Vocabulary(tuple(str(c) for c in range(n_classes)))
    pairs = [tuple(Segmentation.from_labels(side) for side in video) for video in videos]
    counts = [count(*pair, classes, confusion=True) for pair in pairs]
    forward, backward = sum_counts(counts), sum_counts(counts[::-1])
    found, again = (total.scores(classes=classes).as_dict() for total in (forward, backward))
    assert found.pop("edit") == pytest.approx(again.pop("edit"))
    assert found == again
    copy = pickle.loads(pickle.dumps(forward))
    assert copy.scores() == forward.scores()


@settings(deadline=None)
@given(random_videos())
def test_confusion_counts_every_frame(case):
    videos, _, n_classes = case
    classes = Vocabulary(tuple(str(c) for c in range(n_classes)))
    pairs = [tuple(Segmentation.from_labels(side) for side in video) for video in videos]
    found = score(pairs, classes, confusion=True)
    expected = np.zeros((n_classes, n_classes), dtype=int)
    for predicted, true in videos:
        for p, t in zip(predicted, true, strict=True):
            expected[t, p] += 1
    assert found.confusion is not None
    assert found.confusion.tolist() == expected.tolist()
    assert 100 * np.trace(found.confusion) / found.confusion.sum() == pytest.approx(found.acc)


def test_f1_of_each_class():
    scores = score_texts(("AABB_C", "AABBBB"), per_class=True)
    assert scores.per_class is not None
    by_name = {one.name: one for one in scores.per_class}
    assert list(by_name) == ["A", "B", "C", "D"]
    assert by_name["A"].f1 == {10: 100, 25: 100, 50: 100}
    assert by_name["B"].f1 == {10: 100, 25: 100, 50: 100}
    assert by_name["C"].f1 == {10: 0, 25: 0, 50: 0}
    assert (by_name["C"].n_true, by_name["C"].n_predicted) == (0, 1)
    assert all(math.isnan(value) for value in by_name["D"].f1.values())
    assert by_name["D"].as_dict()["f1@10"] is None


def test_levenshtein_of_strings_of_the_textbook():
    kitten, sitting = ([ord(letter) for letter in word] for word in ("kitten", "sitting"))
    assert levenshtein(kitten, sitting) == levenshtein(sitting, kitten) == 3
    assert levenshtein([], [1, 2]) == 2


def test_inputs_that_cannot_be_right():
    with pytest.raises(InputError, match="a prediction of 2 frames for a video of 3; bring it"):
        score_texts(("AA", "AAA"))
    with pytest.raises(InputError, match="no videos to score"):
        score([], LETTERS)
    with pytest.raises(InputError, match="class ids outside of the vocabulary's 0 to 4"):
        count(Segmentation([5], [2]), segmentation("AA"), LETTERS)
    with pytest.raises(InputError, match="unknown protocol 'strict'; choose from"):
        score_texts(("A", "A"), protocol="strict")
    with pytest.raises(InputError, match="counts of different protocols"):
        _ = count(segmentation("A"), segmentation("A"), LETTERS) + count(
            segmentation("A"), segmentation("A"), LETTERS, protocol="legacy"
        )
