"""Frame confidences that mean what they say."""

from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.optimize import check_grad
from scipy.special import log_softmax

import uvast
from uvast.data import Dataset
from uvast.evaluation import expected_calibration_error
from uvast.inference import temperature as module
from uvast.inference.temperature import (
    COLDEST,
    FARTHEST,
    LEARNING,
    JudgedFrames,
    StoredTemperature,
    Temperature,
    fit_temperature,
    learned_from_all,
    mean_confidence,
    tempered,
)


def drawn(
    temperature: float, n_frames: int = 20_000, *, scale: float = 2.0, seed: int = 0
) -> JudgedFrames:
    """A video for which the model is too sure by a factor; the larger the scale, the surer."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(scale=scale, size=(n_frames, 5))
    true = np.exp(log_softmax(logits, axis=1))
    labels = (true.cumsum(1) > generator.random((n_frames, 1))).argmax(1)
    logs = log_softmax(logits * temperature, axis=1).astype(np.float32)
    return JudgedFrames(logs, labels, np.ones(n_frames), mean_confidence(logs))


def error(video: JudgedFrames, temperature: Temperature) -> float:
    shown = np.exp(tempered(video.log_probabilities, temperature.of(video.log_probabilities)))
    np.testing.assert_allclose(shown.sum(1), 1)
    return expected_calibration_error(shown.max(1), shown.argmax(1) == video.labels)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
def test_a_planted_temperature_is_found_and_mends_the_error(temperature: float) -> None:
    video = drawn(temperature)
    found = fit_temperature([video])
    assert found.usual == pytest.approx(temperature, rel=0.05)
    assert error(video, found) < 0.015


def test_less_confident_videos_get_a_higher_temperature_where_they_need_it() -> None:
    """Sure videos are right to be sure, the others are worse than they look."""
    needs = [(1.0, 6.0), (1.3, 4.0), (1.8, 2.5), (2.4, 1.5)] * 5
    videos = [drawn(one, 2000, scale=scale, seed=seed) for seed, (one, scale) in enumerate(needs)]
    found = fit_temperature(videos)
    assert found.slope > 0.1
    same = fit_temperature([dataclasses.replace(one, confidence=0.5) for one in videos])
    assert (same.slope, same.spread) == (0, 0)
    errors = [[error(one, way) for one in videos] for way in (found, same)]
    assert np.mean(errors[0]) < 0.6 * np.mean(errors[1])
    temperatures = [found.of(one.log_probabilities) for one in videos[:4]]
    assert temperatures == sorted(temperatures)


def test_a_few_videos_hardly_bend_it() -> None:
    needs = [(1.0, 6.0), (2.4, 1.5)]
    videos = [drawn(one, 2000, scale=scale) for one, scale in needs]
    few, many = fit_temperature(videos), fit_temperature(videos * 10)
    assert 0 < few.slope < many.slope
    assert few.usual == pytest.approx(many.usual, rel=0.2)


def test_a_video_far_from_all_others_counts_as_less_far() -> None:
    one = Temperature(2.0, slope=0.5, confidence=0.8, spread=0.05)
    assert one.at(0.8) == 2.0
    assert one.at(0.75) == pytest.approx(2 * np.exp(0.5))
    assert one.at(0.1) == pytest.approx(one.at(0.8 - FARTHEST * 0.05))
    assert one.at(0.1) == pytest.approx(2 * np.exp(0.5 * FARTHEST))
    assert one.at(1.0) == pytest.approx(2 * np.exp(-0.5 * FARTHEST))


def test_the_gradient_of_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search gets the slope of the cost that it is given."""
    videos = [drawn(2.0, 50, scale=scale, seed=3) for scale in (1.0, 2.0, 4.0)]
    seen = []

    def minimize(cost, start, **_):
        seen.append(check_grad(lambda x: cost(x)[0], lambda x: cost(x)[1], np.array([0.3, -0.2])))
        return type("Found", (), {"x": start})

    monkeypatch.setattr("scipy.optimize.minimize", minimize)
    fit_temperature(videos)
    assert seen[0] < 1e-6


def test_a_weight_is_so_many_frames() -> None:
    video = drawn(3.0, 300)
    weights = np.arange(300) % 3
    repeated = np.repeat(np.arange(300), weights)
    one = fit_temperature([dataclasses.replace(video, weights=weights.astype(np.float64))])
    other = JudgedFrames(
        video.log_probabilities[repeated],
        video.labels[repeated],
        np.ones(len(repeated)),
        video.confidence,
    )
    assert one.usual == pytest.approx(fit_temperature([other]).usual, abs=1e-3)


def doubt(videos: list[JudgedFrames], temperature: Temperature) -> float:
    """One minus the mean confidence that is shown."""
    logs = [tempered(one.log_probabilities, temperature.at(one.confidence)) for one in videos]
    weights = np.concatenate([one.weights for one in videos])
    return 1 - float(np.average(np.exp(np.concatenate(logs)).max(1), weights=weights))


def test_a_model_that_learns_from_more_is_shown_surer() -> None:
    """By as much as it errs less often, and with the same slope."""
    videos = [drawn(2.0, 400, scale=scale, seed=3) for scale in (1.0, 2.0, 4.0)]
    videos[0] = dataclasses.replace(videos[0], weights=np.full(400, 3.0))
    fitted = fit_temperature(videos)
    found = learned_from_all(fitted, videos, 0.5)
    assert found.usual < fitted.usual
    assert dataclasses.replace(found, usual=fitted.usual) == fitted
    ratio = doubt(videos, found) / doubt(videos, fitted)
    assert ratio == pytest.approx(0.5**LEARNING, abs=1e-3)


def test_a_temperature_stays_where_nothing_more_is_learned() -> None:
    videos = [drawn(2.0, 50)]
    fitted = fit_temperature(videos)
    nothing = JudgedFrames(np.zeros((0, 5), np.float32), np.zeros(0, int), np.zeros(0), 0.5)
    assert learned_from_all(fitted, videos, 1.0) == fitted
    assert learned_from_all(fitted, [nothing], 0.5) == fitted
    coldest = Temperature(COLDEST)
    assert learned_from_all(coldest, videos, 0.5) == coldest


def test_frames_that_all_look_alike_get_no_surer_than_the_coldest() -> None:
    """Nothing makes a uniform posterior surer."""
    logs = np.full((10, 4), -np.log(4), np.float32)
    flat = JudgedFrames(logs, np.zeros(10, int), np.ones(10), 0.25)
    assert learned_from_all(Temperature(), [flat], 0.5).usual == COLDEST


def test_without_frames_or_classes_nothing_changes() -> None:
    nothing = JudgedFrames(np.zeros((0, 4), np.float32), np.zeros(0, int), np.zeros(0), 0.5)
    alone = JudgedFrames(np.zeros((3, 1), np.float32), np.zeros(3, int), np.ones(3), 1.0)
    assert fit_temperature([]) == fit_temperature([nothing]) == Temperature()
    assert fit_temperature([alone]) == Temperature()
    assert learned_from_all(Temperature(), [alone], 0.5) == Temperature()


def test_files_of_earlier_versions_have_one_number() -> None:
    read = TypeAdapter(StoredTemperature).validate_python
    assert read(1.5) == Temperature(1.5)
    assert read(dataclasses.asdict(Temperature(1.5, 0.2, 0.8, 0.1))).slope == 0.2


def test_it_changes_what_is_shown_and_nothing_else(model: uvast.Segmenter, tiny: Dataset) -> None:
    features = tiny.video(tiny.names[0], labels=False).features
    priors = dataclasses.replace(model.priors, temperature=Temperature(3.0))
    hot = dataclasses.replace(model, priors=priors)
    for transcript in ("decoder", "semi-markov", "best"):
        one, other = (m.segment(features, transcript=transcript) for m in (model, hot))
        assert one.segmentation == other.segmentation
        assert other.confidence < one.confidence
        assert (other.doubts.entropies > one.doubts.entropies).all()
        np.testing.assert_array_equal(other.doubts.agreements, one.doubts.agreements)


def test_long_videos_are_tempered_in_blocks(monkeypatch):
    logs = log_softmax(np.random.default_rng(0).normal(size=(5_003, 20)), 1).astype(np.float32)
    expected = log_softmax(logs.astype(np.float64) / 1.7, axis=1)
    assert tempered(logs, 1.7).tolist() == expected.tolist()
    monkeypatch.setattr(module, "BLOCK", 100)
    tracemalloc.start()
    found = tempered(logs, 1.7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == expected.tolist()
    assert peak < 1.2 * found.nbytes
