"""Ways side by side: scores as the evaluation has them, the worst video first."""

from __future__ import annotations

import numpy as np
import pytest

from uvast.errors import InputError
from uvast.evaluation import mean_scores, score
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
    compared = compare(truths, {"perfect": truths, "random": found}, CLASSES)
    assert compared.scores[0].f1 == {10: 100.0, 25: 100.0, 50: 100.0}
    expected = score([(found[n], truths[n]) for n in truths], CLASSES, per_class=True)
    assert compared.scores[1] == expected
    assert compared.scores[1].confusion is not None
    assert compared.scores[1].confusion.sum() == sum(one.n_frames for one in truths.values())
    for video in compared.videos:
        assert video.scores[1] == score([(found[video.name], truths[video.name])], CLASSES)


def test_sides_are_averaged(videos) -> None:
    truths, found = videos
    sides = [["v", "w"], ["x", "y", "z"]]
    compared = compare(truths, {"random": found}, CLASSES, sides=sides)
    of_sides = [score([(found[n], truths[n]) for n in side], CLASSES) for side in sides]
    assert compared.scores[0].edit == pytest.approx(mean_scores(of_sides).edit)
    assert compared.scores[0].n_videos == 5


def test_the_worst_video_comes_first(videos) -> None:
    truths, found = videos
    mixed = truths | {"x": found["x"]}
    compared = compare(truths, {"random": found, "one wrong": mixed}, CLASSES)
    order = order_of_videos(compared, 1)
    assert compared.videos[order[0]].name == "x"
    assert sorted(order) == [0, 1, 2, 3, 4]


def test_frames_past_the_labels_are_cut_off() -> None:
    long = Segmentation(np.array([0, 1]), np.array([5, 7]))
    true = Segmentation(np.array([0, 1]), np.array([5, 5]))
    assert compare({"v": true}, {"long": {"v": long}}, CLASSES).scores[0].acc == 100
    with pytest.raises(InputError, match="the first 12 frames of a segmentation of 10"):
        compare({"v": long}, {"short": {"v": true}}, CLASSES)
