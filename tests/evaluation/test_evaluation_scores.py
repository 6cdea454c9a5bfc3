"""Means over splits, and the order of videos."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from uvast.errors import InputError
from uvast.evaluation.scores import (
    HEADINGS,
    ClassScores,
    Scores,
    VideoScores,
    mean_scores,
    score_row,
    worst_first,
)


def scores(value: float, **changes) -> Scores:
    values = {
        "acc": value,
        "edit": value + 1,
        "f1": {10: value + 2, 25: value + 3, 50: value + 4},
        "protocol": "standard",
        "n_videos": 2,
    }
    return Scores(**(values | changes))


def class_scores(value: float) -> ClassScores:
    return ClassScores("cut", {10: value, 25: value, 50: value}, n_true=1, n_predicted=3)


def test_tables_have_one_order_of_columns():
    assert tuple(HEADINGS.values()) == ("F1@10", "F1@25", "F1@50", "Edit", "Acc")
    columns = scores(90.04).columns()
    assert tuple(columns) == tuple(HEADINGS) == ("f1@10", "f1@25", "f1@50", "edit", "acc")
    assert score_row(columns) == ["92.0", "93.0", "94.0", "91.0", "90.0"]
    assert score_row(dict(reversed(columns.items()))) == score_row(columns)


def test_the_mean_over_splits_does_not_weigh_by_videos():
    mean = mean_scores([scores(10, n_videos=1), scores(40, n_videos=9)])
    assert (mean.acc, mean.edit, mean.n_videos) == (25, 26, 10)
    assert mean.f1 == {10: 27, 25: 28, 50: 29}


def test_the_mean_of_one_split_is_that_split():
    assert mean_scores([scores(12.5)]) == scores(12.5)


def test_a_class_that_a_split_lacks_is_left_out_of_its_mean():
    both = [scores(0, per_class=(class_scores(v),)) for v in (60.0, math.nan)]
    (found,) = mean_scores(both).per_class
    assert (found.f1[10], found.n_true, found.n_predicted) == (60, 2, 6)
    (nowhere,) = mean_scores([both[1], both[1]]).per_class
    assert math.isnan(nowhere.f1[10])


def test_confusions_are_summed():
    one = scores(0, confusion=np.array([[1, 2], [3, 4]]))
    assert mean_scores([one, one]).confusion.tolist() == [[2, 4], [6, 8]]


def test_extras_that_one_split_lacks_are_left_out():
    full = scores(0, confusion=np.eye(2, dtype=int), per_class=(class_scores(1),))
    mean = mean_scores([full, scores(0)])
    assert mean.confusion is None
    assert mean.per_class is None


def test_what_cannot_be_averaged():
    with pytest.raises(InputError, match="no scores to average"):
        mean_scores([])
    with pytest.raises(InputError, match="different protocols cannot be averaged"):
        mean_scores([scores(1), scores(1, protocol="legacy")])
    other = ClassScores("pour", {10: 1, 25: 1, 50: 1}, 1, 1)
    with pytest.raises(InputError, match="different classes cannot be averaged"):
        mean_scores([scores(1, per_class=(class_scores(1),)), scores(1, per_class=(other,))])


def test_the_keys_of_the_json():
    plain = scores(1).as_dict()
    assert list(plain) == ["acc", "edit", "f1@10", "f1@25", "f1@50", "protocol", "videos"]
    full = scores(1, per_class=(class_scores(math.nan),), confusion=np.eye(2, dtype=int)).as_dict()
    assert full["per_class"] == {
        "cut": {"f1@10": None, "f1@25": None, "f1@50": None, "true": 1, "predicted": 3}
    }
    assert full["confusion"] == [[1, 0], [0, 1]]
    json.dumps(full, allow_nan=False)


def test_bare_transcripts_are_sorted_by_what_they_have():
    nan = dict.fromkeys((10, 25, 50), math.nan)
    bare = [
        VideoScores(name, 9, replace(scores(1), acc=math.nan, edit=edit, f1=nan))
        for name, edit in (("a", 100.0), ("b", 50.0))
    ]
    assert [one.video for one in worst_first(bare)] == ["b", "a"]


def test_the_worst_video_comes_first_and_equals_are_sorted_by_name():
    videos = [VideoScores(name, 9, scores(v)) for name, v in (("c", 5), ("b", 1), ("a", 5))]
    assert [one.video for one in worst_first(videos)] == ["b", "a", "c"]
    assert worst_first(videos)[0].as_dict() == {
        "video": "b",
        "frames": 9,
        "in_training": False,
        "acc": 1,
        "edit": 2,
        "f1@10": 3,
        "f1@25": 4,
        "f1@50": 5,
    }
