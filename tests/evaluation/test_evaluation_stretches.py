"""Scores of videos that are labelled in part: each stretch is a sequence of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.errors import InputError, LabelError
from uvast.evaluation import evaluate_in_detail, score, score_sides
from uvast.segments import UNLABELLED, Segmentation
from uvast.vocabulary import Vocabulary

CLASSES = Vocabulary(("background", "a", "b"), ("background",))

frames = st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 2)), min_size=1, max_size=40)


@given(video=frames.filter(lambda one: any(true >= 0 for true, _ in one)), whole=frames)
def test_the_scores_are_those_of_the_stretches_alone(
    video: list[tuple[int, int]], whole: list[tuple[int, int]]
) -> None:
    whole = [(max(true, 0), predicted) for true, predicted in whole]
    pairs = {"v": video, "w": whole}
    truths = {n: Segmentation.from_labels([true for true, _ in one]) for n, one in pairs.items()}
    found = {n: Segmentation.from_labels([label for _, label in one]) for n, one in pairs.items()}
    scored = score_sides(
        truths, {None: found}, {None: ["v", "w"]}, CLASSES, per_class=True, confusion=True
    )
    stretches: list[list[tuple[int, int]]] = [[]]
    for frame in video:
        if frame[0] == UNLABELLED:
            stretches.append([])
        else:
            stretches[-1].append(frame)
    cut = [
        tuple(Segmentation.from_labels([frame[side] for frame in one]) for side in (1, 0))
        for one in [*filter(None, stretches), whole]
    ]
    expected = score(cut, CLASSES, per_class=True, confusion=True)
    assert scored.scores.columns() == pytest.approx(expected.columns())
    assert scored.scores.per_class == expected.per_class
    np.testing.assert_array_equal(scored.scores.confusion, expected.confusion)
    assert scored.scores.n_videos == 2
    rows = {one.video: one.scores for one in scored.videos}
    assert rows["v"].columns() == pytest.approx(score(cut[:-1], CLASSES).columns())
    assert (len(scored.videos), rows["v"].n_videos) == (2, 1)


def test_a_bare_transcript_cannot_be_cut() -> None:
    truth = Segmentation([1, UNLABELLED, 2], [3, 4, 5])
    with pytest.raises(InputError, match="video v is labelled in part, and a bare transcript"):
        score_sides({"v": truth}, {None: {"v": np.array([1, 2])}}, {None: ["v"]}, CLASSES)


def write_texts(folder: Path, texts: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text("".join(f"{letter}\n" for letter in text))


def dataset(folder: Path, truth: dict[str, str]) -> Path:
    write_texts(folder / "groundTruth", truth)
    (folder / "mapping.txt").write_text("0 A\n1 B\n2 C\n")
    return folder


def test_a_partly_labelled_dataset_scores_as_the_cut_one(tmp_path: Path) -> None:
    data = dataset(tmp_path / "data", {"v": "AABB??CCCC!!", "w": "ABAB", "x": "AAAA"})
    spans = {"v": [[0, 4], [6, 10]], "x": []}
    (data / "labelled.json").write_text(json.dumps(spans))
    write_texts(tmp_path / "found", {"v": "AAABBBBCCCCC", "w": "AABB"})
    cut = dataset(tmp_path / "cut", {"v1": "AABB", "v2": "CCCC", "w": "ABAB"})
    write_texts(tmp_path / "cut found", {"v1": "AAAB", "v2": "BCCC", "w": "AABB"})
    made = evaluate_in_detail(tmp_path / "found", data, per_class=True)
    expected = evaluate_in_detail(tmp_path / "cut found", cut, per_class=True)
    assert made.scores.columns() == expected.scores.columns()
    assert made.scores.per_class == expected.scores.per_class
    assert (made.scores.n_videos, made.unlabelled) == (2, ("x",))
    assert sorted(one.video for one in made.videos) == ["v", "w"]


def test_nothing_labelled_is_an_error(tmp_path: Path) -> None:
    data = dataset(tmp_path / "data", {"v": "??"})
    (data / "labelled.json").write_text('{"v": []}')
    write_texts(tmp_path / "found", {"v": "AA"})
    with pytest.raises(LabelError, match="has no labels for any of the videos to score"):
        evaluate_in_detail(tmp_path / "found", data)
