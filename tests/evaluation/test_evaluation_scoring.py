"""One way to score: sides of splits, repeated and cut predictions, bare transcripts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.errors import InputError
from uvast.evaluation import edit_score, fit, mean_scores, score, score_sides
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

CLASSES = Vocabulary(("background", "a", "b"), ("background",))


def drawn(generator: np.random.Generator) -> Segmentation:
    return Segmentation.from_labels(np.repeat(generator.integers(0, 3, 8), 5))


@pytest.fixture
def videos() -> tuple[dict[str, Segmentation], dict[str, Segmentation]]:
    generator = np.random.default_rng(0)
    return {n: drawn(generator) for n in "vwxyz"}, {n: drawn(generator) for n in "vwxyz"}


def test_splits_are_scored_apart_and_averaged(videos) -> None:
    truths, found = videos
    sides = {1: ("v", "w"), 2: ("x", "y", "z")}
    scored = score_sides(
        truths, dict.fromkeys(sides, found), sides, CLASSES, per_class=True, confusion=True
    )
    expected = {
        split: score([(found[n], truths[n]) for n in side], CLASSES, per_class=True)
        for split, side in sides.items()
    }
    assert scored.splits == expected
    assert scored.scores == mean_scores(list(expected.values()))
    assert scored.scores.confusion is not None
    assert scored.scores.confusion.sum() == sum(one.n_frames for one in truths.values())
    assert {one.video: one.scores for one in scored.videos} == {
        n: score([(found[n], truths[n])], CLASSES) for n in truths
    }


def test_a_video_on_two_sides_has_two_predictions(videos) -> None:
    truths, found = videos
    sides = {1: ("v",), 2: ("v",)}
    scored = score_sides(truths, {1: truths, 2: found}, sides, CLASSES)
    assert scored.splits[1].acc == 100
    assert scored.splits[2] == score([(found["v"], truths["v"])], CLASSES)
    assert [one.split for one in scored.videos] == [2, 1]  # the worst first


def test_only_the_side_is_scored(videos) -> None:
    truths, _ = videos
    scored = score_sides({"v": truths["v"]}, {None: truths}, {None: ["v"]}, CLASSES)
    assert (scored.scores.acc, scored.scores.n_videos, scored.splits) == (100, 1, {})


def test_a_video_without_a_prediction_is_named(videos) -> None:
    truths, _ = videos
    with pytest.raises(InputError, match="video w has no prediction"):
        score_sides(truths, {None: {"v": truths["v"]}}, {None: ["v", "w"]}, CLASSES)


@settings(max_examples=60)
@given(
    labels=st.lists(st.integers(0, 2), min_size=1, max_size=30),
    n_missing=st.integers(0, 3),
)
def test_frames_are_cut_as_labels_are(labels, n_missing) -> None:
    n_frames = max(1, len(labels) - n_missing)
    fitted = fit(Segmentation.from_labels(labels), n_frames)
    assert fitted.labels.tolist() == labels[:n_frames]
    scored = score_sides(
        {"v": fitted},
        {None: {"v": Segmentation.from_labels(labels)}},
        {None: ["v"]},
        CLASSES,
    )
    assert scored.scores.acc == 100


def test_a_prediction_that_is_too_short_is_refused() -> None:
    short, long = (Segmentation.from_labels([1] * n) for n in (10, 12))
    with pytest.raises(InputError, match="v: a prediction of 10 frames for a video of 12"):
        score_sides({"v": long}, {None: {"v": short}}, {None: ["v"]}, CLASSES)


def test_a_bare_transcript_has_an_edit_score_alone(videos) -> None:
    truths, found = videos
    sides = {1: ("v", "w"), 2: ("x", "y", "z")}
    bare = {name: one.transcript for name, one in found.items()}
    scored = score_sides(truths, dict.fromkeys(sides, bare), sides, CLASSES, per_class=True)
    edits = {
        split: np.mean([edit_score(bare[n], truths[n].transcript, {0}) for n in side])
        for split, side in sides.items()
    }
    assert scored.scores.columns() == {"edit": pytest.approx(np.mean(list(edits.values())))}
    assert scored.scores.per_class is None
    assert scored.scores.as_dict()["acc"] is None
    # the same as of segmentations with the same transcripts
    of_both = score_sides(truths, dict.fromkeys(sides, found), sides, CLASSES)
    assert scored.scores.edit == of_both.scores.edit
