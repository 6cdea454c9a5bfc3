"""Cuts by their probability: against the definition, frame by frame, and as draws."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from uvast.data import Timestamps
from uvast.segments import Segmentation
from uvast.supervision import CutPosterior, VideoView, cut_again, cut_posteriors
from uvast.supervision.class_model import ClassFit

TRANSCRIPT = np.array([0, 1, 0, 2])
CLICKS = {
    "a": Timestamps(np.array([2, 9, 17, 26]), TRANSCRIPT),
    "b": Timestamps(np.array([4, 8, 9, 20, 21]), np.array([0, 1, 1, 2, 0])),
}
TARGETS = {
    "a": Segmentation(TRANSCRIPT, np.array([6, 7, 9, 8])),
    "b": Segmentation(np.array([0, 1, 2, 0]), np.array([6, 8, 7, 9])),
}


@pytest.fixture
def features() -> dict[str, NDArray[np.float64]]:
    generator = np.random.default_rng(5)
    centres = 2 * generator.standard_normal((3, 4))
    return {
        name: centres[one.labels] + generator.standard_normal((one.n_frames, 4))
        for name, one in TARGETS.items()
    }


def found(features: dict[str, NDArray[np.float64]], temperature: float) -> dict[str, CutPosterior]:
    return cut_posteriors(
        features.__getitem__, CLICKS, TARGETS, temperature=temperature, prior=0.5, offsets=0.0
    )


def test_probabilities_are_those_of_the_definition(
    features: dict[str, NDArray[np.float64]],
) -> None:
    views = {name: VideoView.of(features[name], len(CLICKS[name])) for name in CLICKS}
    fit = ClassFit(3)
    for name, target in TARGETS.items():
        fit.add(views[name], CLICKS[name], target)
    model = fit.model()
    posterior = found(features, 1.7)["b"]
    view, target = views["b"], TARGETS["b"]
    starts = [0, *np.cumsum(target.durations).tolist()]
    means = [view.frames[start:end].mean(0) for start, end in pairwise(starts)]
    shared = view.shared(slice(None))

    def density(frame: int, action: int) -> float:
        variance = model.variances[action]
        apart = (shared[frame] - model.means[action]) ** 2
        return float((-apart / (2 * variance) - np.log(variance) / 2).sum())

    assert posterior.firsts == (5, 10, 21)
    for place, (last, first) in enumerate([(4, 8), (9, 20), (20, 21)]):
        left, right = target.transcript[place : place + 2].tolist()
        local, classes = [], []
        both = range(starts[place], starts[place + 2])
        for frame in both:
            to_sides = [math.dist(view.frames[frame], means[place + side]) for side in (0, 1)]
            local.append(to_sides[0] - to_sides[1])
            classes.append(density(frame, right) - density(frame, left))
        units = [sum(map(abs, one)) / len(one) for one in (local, classes)]
        each = [x / units[0] + y / units[1] for x, y in zip(local, classes, strict=True)]
        each = each[last - both.start : first - both.start]
        unit = sum(map(abs, each)) / len(each)
        gap = first - last
        middle = 0.5 + gap * model.lengths[left] / (model.lengths[left] + model.lengths[right])
        costs = [
            sum(each[:cut]) + 4 * 0.5 * unit * (cut - middle) ** 2 / gap
            for cut in range(1, gap + 1)
        ]
        weights = [math.exp(-cost / 1.7) for cost in costs]
        expected = [one / sum(weights) for one in weights]
        assert posterior.probabilities[place] == pytest.approx(expected)


def test_cold_cuts_are_those_of_one_more_round(features: dict[str, NDArray[np.float64]]) -> None:
    views = {name: VideoView.of(features[name], len(CLICKS[name])) for name in CLICKS}
    fit = ClassFit(3)
    for name, target in TARGETS.items():
        fit.add(views[name], CLICKS[name], target)
    again = cut_again(
        views["a"], CLICKS["a"], TARGETS["a"].durations, fit.model(), range(3), prior=0.5
    )
    drawn = found(features, 1e-6)["a"].draw(np.random.default_rng(0))
    assert drawn == Segmentation(TRANSCRIPT, again)


def test_every_draw_keeps_clicks_in_their_segments_and_the_mean_is_soft(
    features: dict[str, NDArray[np.float64]],
) -> None:
    posterior = found(features, 3.0)["b"]
    generator = np.random.default_rng(1)
    labels = np.array([posterior.draw(generator).labels for _ in range(4000)])
    assert (labels[:, CLICKS["b"].frames] == CLICKS["b"].transcript).all()
    assert labels.shape[1] == 30
    cut = posterior.probabilities[1]
    share = (labels[:, 10 : 10 + len(cut)] == 2).mean(axis=0)
    assert share == pytest.approx(np.cumsum(cut), abs=0.04)
    assert 0.1 < share[len(cut) // 2] < 0.99


def test_one_segment_has_no_cuts() -> None:
    alone = {"c": Timestamps(np.array([3, 5]), np.array([1, 1]))}
    target = {"c": Segmentation(np.array([1]), np.array([9]))}
    video = np.random.default_rng(0).standard_normal((9, 2))
    (posterior,) = cut_posteriors(lambda _: video, alone, target, temperature=1.0).values()
    assert posterior.draw(np.random.default_rng(0)) == target["c"]


def test_offsets_move_the_probabilities() -> None:
    generator = np.random.default_rng(0)
    features, clicks, targets = {}, {}, {}
    for name in map(str, range(30)):
        durations = generator.integers(20, 40, 4)
        video = Segmentation(np.array([0, 1, 0, 1]), durations)
        looks = np.roll(video.labels, -6)  # features change six frames before people cut
        noise = generator.standard_normal((video.n_frames, 2))
        features[name] = np.stack((looks, 1 - looks), axis=1) + 0.3 * noise
        clicks[name] = Timestamps(video.sampled_timestamps(generator), video.transcript)
        targets[name] = video

    def apart(offsets: float) -> float:
        made = cut_posteriors(
            features.__getitem__, clicks, targets, temperature=1.0, offsets=offsets
        )
        means = [
            (first + np.arange(len(chances))) @ chances - end
            for name, one in made.items()
            for first, chances, end in zip(
                one.firsts, one.probabilities, targets[name].ends[:-1], strict=True
            )
        ]
        return float(np.mean(means))

    assert apart(0.0) < -2
    assert apart(0.05) > apart(0.0) + 1.5
