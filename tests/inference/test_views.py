"""Videos seen more than once: at other rates, and by the frames that the model's rate skips."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uvast
from uvast.data import Dataset, Video
from uvast.inference.inputs import DatasetVideo, video_of_array
from uvast.inference.prediction import FramePrediction
from uvast.inference.views import averaged_frames, fine_cuts
from uvast.sampling import nearest_sampled
from uvast.segments import Segmentation

WAYS = [
    {"rates": [0.8, 1.0, 1.25]},
    {"rates": [0.5], "transcript": "semi-markov"},
    {"phases": True, "transcript": "frames", "durations": "none"},
    {"rates": [0.5, 2.0], "phases": True, "transcript": "best"},
]


def look(videos: Sequence[Video]) -> list[FramePrediction]:
    """A model whose posteriors, and boundaries, are the features themselves."""
    return [FramePrediction(v.features, np.log(v.features), v.features[:, 0]) for v in videos]


def posteriors(generator: np.random.Generator, n_frames: int) -> np.ndarray:
    return generator.dirichlet(np.ones(3), n_frames).astype(np.float32)


def seen(videos: Sequence[Video], **options: object) -> tuple[FramePrediction, ...]:
    return averaged_frames(look, videos, look(videos), **options)


def test_posteriors_that_are_straight_lines_come_back_as_they_are():
    first = np.linspace(0.1, 0.8, 41, dtype=np.float32)
    video = video_of_array(np.column_stack((first, 1 - first)))
    (found,) = seen([video], rates=[0.5, 0.8, 1.0, 1.7])
    inner = slice(3, -3)  # beyond the middle of the outermost frames there is nothing to go by
    assert np.exp(found.log_probabilities)[inner] == pytest.approx(video.features[inner], abs=1e-6)
    assert found.boundaries[inner] == pytest.approx(first[inner], abs=1e-6)
    assert found.features is video.features


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9, 1.3, 10.0])
@pytest.mark.parametrize("n_frames", [1, 2, 7, 30])
def test_one_rate_is_two_interpolations(rate: float, n_frames: int):
    """By numpy's own, between the middles of equal frames."""
    features = posteriors(np.random.default_rng(n_frames), n_frames)
    (found,) = seen([video_of_array(features)], rates=[rate])
    middles = (np.arange(n_frames) + 0.5) / n_frames
    n_other = max(1, round(rate * n_frames))
    others = (np.arange(n_other) + 0.5) / n_other
    expected = [
        np.interp(middles, others, np.interp(others, middles, column)) for column in features.T
    ]
    assert np.exp(found.log_probabilities) == pytest.approx(np.transpose(expected), abs=1e-5)
    assert found.boundaries == pytest.approx(expected[0], abs=1e-5)


def test_several_rates_are_the_mean_of_each_alone():
    features = posteriors(np.random.default_rng(0), 23)
    video = video_of_array(features)
    rates = [0.6, 1.0, 1.5]
    alone = [seen([video], rates=[rate])[0] for rate in rates]
    (found,) = seen([video], rates=rates)
    mean = np.mean([np.exp(one.log_probabilities) for one in alone], axis=0)
    assert np.exp(found.log_probabilities) == pytest.approx(mean, abs=1e-6)
    assert found.boundaries == pytest.approx(np.mean([one.boundaries for one in alone], axis=0))
    assert np.array_equal(alone[1].log_probabilities, np.log(features))


def test_a_class_that_is_ruled_out_stays_so():
    features = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]], np.float32)
    with np.errstate(divide="ignore"):
        (found,) = seen([video_of_array(features)], rates=[0.5, 2.0])
    assert np.isneginf(found.log_probabilities[:, 2]).all()
    assert np.exp(found.log_probabilities).sum(1) == pytest.approx(1)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(2, 6))
def test_phases_give_every_source_frame_its_own_posterior(n_source: int, rate: int):
    features = posteriors(np.random.default_rng(rate), n_source)
    (found,) = seen([video_of_array(features, rate)], phases=True)
    nearest = nearest_sampled(np.arange(n_source), rate, n_source)
    means = np.array([features[nearest == frame].mean(0) for frame in range(nearest[-1] + 1)])
    assert np.exp(found.log_probabilities) == pytest.approx(means, abs=1e-5)
    assert found.boundaries == pytest.approx(means[:, 0], abs=1e-5)
    if n_source > 1:
        assert np.array_equal(found.source_log_probabilities, np.log(features))


def test_phases_find_cuts_between_the_frames_of_the_models_rate():
    rate, truth = 5, Segmentation([0, 2, 1, 0], [7, 13, 6, 12])
    features = (0.01 + 0.97 * np.eye(3)[truth.labels]).astype(np.float32)
    video = video_of_array(features, rate)
    (found,) = seen([video], phases=True)
    coarse = Segmentation.from_labels(found.labels).upsampled(rate, truth.n_frames)
    assert coarse != truth
    assert fine_cuts(coarse, found.source_log_probabilities, rate) == truth


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 8))
def test_fine_cuts_keep_every_segment_and_raise_the_posterior(seed: int, rate: int, n_frames: int):
    generator = np.random.default_rng(seed)
    n_source = rate * (n_frames - 1) + int(generator.integers(1, rate + 1))
    logs = np.log(posteriors(generator, n_source))
    coarse = Segmentation.from_labels(generator.integers(0, 3, n_frames)).upsampled(rate, n_source)
    fine = fine_cuts(coarse, logs, rate)
    assert fine.transcript.tolist() == coarse.transcript.tolist()
    assert fine.labels[::rate].tolist() == coarse.labels[::rate].tolist()
    frames = np.arange(n_source)
    before, after = (logs[frames, one.labels].sum(dtype=np.float64) for one in (coarse, fine))
    assert after >= before - 1e-6


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_views_are_the_same_alone_and_in_a_batch(
    model: uvast.Segmenter, tiny: Dataset, way: dict[str, object]
):
    rate = 3
    sources = [DatasetVideo(tiny, name, rate) for name in tiny.side(1, "test")]
    videos = [source.read() for source in sources]
    assert len({video.n_frames for video in videos}) > 1, "padding is needed for this test"
    options = model.options(**way)
    together = model.encode_batch(videos, options)
    decoded = model.decode_batch(together, options)
    for video, frames, prediction in zip(videos, together.frames, decoded, strict=True):
        alone = model.encode_batch([video], options)
        assert alone.frames[0].log_probabilities == pytest.approx(
            frames.log_probabilities, abs=1e-3
        )
        (once,) = model.decode_batch(alone, options)
        assert once.segmentation == prediction.segmentation
        assert prediction.segmentation.n_frames == video.source_frames


def test_views_leave_what_the_decoder_attends_to(model: uvast.Segmenter, tiny: Dataset):
    video = tiny.video(tiny.names[0], labels=False)
    own, several = (model.encode_batch([video], model.options(rates=r)) for r in ([], [0.5, 2]))
    assert np.array_equal(own.encoded.features, several.encoded.features)
    assert np.array_equal(own.frames[0].features, several.frames[0].features)
    assert not np.allclose(own.frames[0].log_probabilities, several.frames[0].log_probabilities)


def test_decodings_are_encoded_again_only_for_other_views(
    model: uvast.Segmenter, tiny: Dataset, count_calls
):
    video = tiny.video(tiny.names[0], labels=False)
    calls = count_calls("segmenter.Segmenter.encode_batch")
    joint = {"transcript": "semi-markov"}
    ways = {"a": {}, "b": joint, "c": {**joint, "rates": [0.5]}, "d": {"rates": [0.5]}}
    found = model.segment_by([video], {name: model.options(**way) for name, way in ways.items()})
    assert len(calls) == 2
    for name, way in ways.items():
        assert model.segment(video.features, **way).segmentation == found[name][0].segmentation


def test_both_kinds_of_views_count_for_joint_decoding(model: uvast.Segmenter):
    options = model.parsed_options(["rates=[0.5, 1]", "phases=true"], transcript="best")
    assert options.rates == (0.5, 1)
    assert options.phases
