"""Decodings side by side: scored where there is truth, the worst or least sure video first."""

from __future__ import annotations

import numpy as np
import pytest
from planted_report import tracks

from uvast.data import Timestamps
from uvast.errors import InputError
from uvast.evaluation import Track, mean_scores, score
from uvast.report.compare import compare, order_of_videos
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

CLASSES = Vocabulary(("a", "b", "c"))


@pytest.fixture
def videos() -> tuple[dict[str, Segmentation], dict[str, Segmentation]]:
    generator = np.random.default_rng(0)

    def drawn() -> Segmentation:
        return Segmentation.from_labels(np.repeat(generator.integers(0, 3, 8), 5))

    return {n: drawn() for n in "vwxyz"}, {n: drawn() for n in "vwxyz"}


def test_scores_are_those_of_the_evaluation(videos) -> None:
    truths, found = videos
    compared = compare({"perfect": tracks(truths), "random": tracks(found)}, truths, CLASSES)
    assert compared.scores[0].f1 == {10: 100.0, 25: 100.0, 50: 100.0}
    expected = score([(found[n], truths[n]) for n in truths], CLASSES, per_class=True)
    assert compared.scores[1] == expected
    assert compared.scores[1].confusion is not None
    assert compared.scores[1].confusion.sum() == sum(one.n_frames for one in truths.values())
    for video in compared.videos:
        assert video.scores[1] == score([(found[video.name], truths[video.name])], CLASSES)


def test_sides_are_averaged_and_a_video_on_two_has_two_timelines(videos) -> None:
    truths, found = videos
    sides = {1: ["v", "w"], 2: ["w", "x"]}
    predictions = {1: found, 2: truths}
    compared = compare(
        {"one": {n: {v: Track(predictions[n][v]) for v in side} for n, side in sides.items()}},
        truths,
        CLASSES,
        in_training={2: ["w"]},
    )
    of_sides = [
        score([(predictions[n][v], truths[v]) for v in side], CLASSES, per_class=True)
        for n, side in sides.items()
    ]
    assert compared.scores == (mean_scores(of_sides),)
    assert [(one.name, one.split) for one in compared.videos] == [
        *(("v", 1), ("w", 1), ("w", 2), ("x", 2))
    ]
    first, second = compared.videos[1:3]
    assert (first.tracks[0].segmentation, second.tracks[0].segmentation) == (
        found["w"],
        truths["w"],
    )
    assert second.scores[0].acc == 100 != first.scores[0].acc
    assert [one.in_training for one in compared.videos] == [False, False, True, False]


def test_the_worst_video_comes_first(videos) -> None:
    truths, found = videos
    mixed = truths | {"x": found["x"]}
    compared = compare({"random": tracks(found), "one wrong": tracks(mixed)}, truths, CLASSES)
    order = order_of_videos(compared, 1)
    assert compared.videos[order[0]].name == "x"
    assert sorted(order) == [0, 1, 2, 3, 4]


def test_without_truth_nothing_is_scored_and_the_least_sure_comes_first(videos) -> None:
    _, found = videos
    sure = dict(zip("vwxyz", (0.9, 0.5, 0.7, 0.2, 0.8), strict=True))
    known = {n: Track(one, np.full(len(one), sure[n])) for n, one in found.items()}
    clicks = {"w": Timestamps(np.array([3]), np.array([1]))}
    compared = compare({"one": {None: known}}, {}, CLASSES, clicks=clicks)
    assert compared.scores == ()
    assert {one.scores for one in compared.videos} == {()}
    assert {one.true for one in compared.videos} == {None}
    assert [one.clicks for one in compared.videos] == [None, clicks["w"], None, None, None]
    names = [compared.videos[i].name for i in order_of_videos(compared, 0)]
    assert names == ["y", "w", "x", "z", "v"]


def test_videos_without_truth_come_after_the_scored_ones(videos) -> None:
    truths, found = videos
    some = {"y": truths["y"], "x": truths["x"]}
    compared = compare({"one": tracks(found)}, some, CLASSES)
    assert compared.scores[0] == score(
        [(found[n], truths[n]) for n in "xy"], CLASSES, per_class=True
    )
    names = [compared.videos[i].name for i in order_of_videos(compared, 0)]
    assert set(names[:2]) == {"x", "y"}
    assert names[2:] == ["v", "w", "z"]


def test_frames_past_the_labels_are_cut_off() -> None:
    long = Segmentation(np.array([0, 1, 2]), np.array([5, 5, 2]))
    true = Segmentation(np.array([0, 1]), np.array([5, 5]))
    sure = {None: {"v": Track(long, np.array([0.1, 0.2, 0.3]))}}
    compared = compare({"long": sure}, {"v": true}, CLASSES)
    assert compared.scores[0].acc == 100
    (track,) = compared.videos[0].tracks
    assert track.segmentation == true
    assert track.confidences is not None
    assert track.confidences.tolist() == [0.1, 0.2]
    with pytest.raises(InputError, match="v: a prediction of 10 frames for a video of 12"):
        compare({"short": tracks({"v": true})}, {"v": long}, CLASSES)
