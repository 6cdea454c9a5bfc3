"""From a trained model to segmentations: every way, alone and in batches, from files and arrays."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import uvast
from uvast.data import Dataset, Video
from uvast.errors import CheckpointError, ConfigError, FeatureError, MissingFileError
from uvast.inference import segmenter
from uvast.inference.doubts import Doubts
from uvast.inference.prediction import Prediction
from uvast.proposals import segment_looks
from uvast.segments import Segmentation

WAYS = [
    {"durations": "viterbi"},
    {"durations": "viterbi", "length_model": "gamma"},
    {"durations": "viterbi", "length_model": "none", "frame_sampling": 4},
    {"durations": "fifa"},
    {"durations": "fifa", "fifa_optimiser": "gradient-descent", "fifa_steps": 50},
    {"durations": "alignment"},
    {"transcript": "frames", "durations": "none"},
    {"transcript": "frames", "durations": "none", "mode_filter": 9},
    {"transcript": "frames", "durations": "viterbi"},
    {"transcript": "frames", "durations": "fifa"},
    {"transcript": "semi-markov"},
    {"transcript": "best"},
    {"transcript": "best", "beam_width": 3},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_tiles_the_video_and_is_the_same_alone_and_in_a_batch(
    model: uvast.Segmenter, tiny: Dataset, way: dict[str, object]
) -> None:
    videos = [tiny.video(name, labels=False) for name in tiny.side(1, "test")]
    assert len({video.n_frames for video in videos}) > 1, "padding is needed for this test"
    together = model.decode_batch(model.encode_batch(videos), model.options(**way), workers=2)
    for video, prediction in zip(videos, together, strict=True):
        alone = model.segment(video.features, **way)
        assert alone.segmentation == prediction.segmentation
        assert alone.segmentation.n_frames == video.n_frames
        assert (alone.segmentation.durations > 0).all()
        assert alone.confidence == pytest.approx(prediction.confidence, abs=1e-4)
        assert alone.transcript.tolist() == alone.segmentation.transcript.tolist()


def test_segments_carry_label_frames_seconds_and_confidence(
    model: uvast.Segmenter, tiny: Dataset
) -> None:
    video = tiny.video(tiny.names[0], labels=False)
    prediction = model.segment(video.features)
    segments = prediction.segments
    assert segments[0].start == 0
    assert segments[-1].end == video.n_frames
    assert all(left.end == right.start for left, right in pairwise(segments))
    rate = tiny.spec.frames_per_second
    assert rate is not None
    assert segments[-1].end_seconds == pytest.approx(video.n_frames / rate)
    assert [one.label for one in segments] == list(prediction.actions)
    posteriors = np.exp(model.frames(video.features).log_probabilities)
    first = segments[0]
    column = model.vocabulary.names.index(first.label)
    assert first.confidence == pytest.approx(posteriors[: first.end, column].mean(), abs=1e-5)
    weights = [one.end - one.start for one in segments]
    mean = np.average([one.confidence for one in segments], weights=weights)
    assert prediction.confidence == pytest.approx(mean, abs=1e-6)


def test_segments_tell_what_they_look_like(model: uvast.Segmenter, tiny: Dataset) -> None:
    features = tiny.video(tiny.names[0], labels=False).features
    prediction = model.segment(features)
    first = prediction.segments[0]
    scaled = features if model.scaling is None else model.scaling.scaled(features)
    means = scaled[: first.end].mean(axis=0, dtype=np.float64)[None]
    assert prediction.looks is not None
    assert prediction.looks[0] == pytest.approx(segment_looks(means)[0], abs=1e-4)
    written = prediction.as_dict()["segments"]
    assert written[0]["look"] == pytest.approx(prediction.looks[0], rel=1e-3)
    assert len(written) == len(prediction.looks)


def test_looks_take_no_copy_of_a_long_video(model: uvast.Segmenter) -> None:
    features = np.ones((20_000, model.n_features), np.float32)
    segmentation = Segmentation(np.arange(50) % 2, np.full(50, 400))
    tracemalloc.start()
    model._looks(Video("long", features, None, len(features)), segmentation)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < features.nbytes / 2


def test_looks_of_many_segments_are_found_in_blocks(
    model: uvast.Segmenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = np.random.default_rng(0).normal(size=(4_003, model.n_features)).astype(np.float32)
    video = Video("noise", features, None, len(features))
    segmentation = Segmentation(np.arange(2_001) % 2, np.array([2] * 2_000 + [3]))
    whole = model._looks(video, segmentation)
    monkeypatch.setattr(segmenter, "SEGMENTS_SEEN", 100)
    tracemalloc.start()
    parts = model._looks(video, segmentation)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parts == pytest.approx(whole)
    assert peak < 3 * parts.nbytes


def test_a_dict_of_many_segments_is_made_once(model: uvast.Segmenter) -> None:
    n = 5_000
    ones = np.ones(n)
    prediction = Prediction(
        np.arange(n) % 2,
        Segmentation(np.arange(n) % 2, np.full(n, 2)),
        ones,
        1.0,
        model.vocabulary,
        frames_per_second=30,
        doubts=Doubts(ones / 3, ones / 7, ones[:9]),
    )
    tracemalloc.start()
    found = prediction.as_dict()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found["segments"][-1] == {
        "label": model.vocabulary.names[1],
        "start": 2 * n - 2,
        "end": 2 * n,
        "confidence": 1.0,
        "start_seconds": 333.2667,
        "end_seconds": 333.3333,
        "entropy": 0.3333,
        "agreement": 0.1429,
    }
    assert peak < 1.4 * kept


def test_a_bare_transcript_has_no_segments(model: uvast.Segmenter, tiny: Dataset) -> None:
    video = tiny.video(tiny.names[0], labels=False)
    prediction = model.segment(video.features, durations="none")
    assert prediction.segmentation is None
    assert prediction.segments == ()
    assert prediction.actions == model.segment(video.features).actions


def test_the_cap_on_segments_is_never_silent(model: uvast.Segmenter, tiny: Dataset) -> None:
    features = tiny.video(tiny.names[0], labels=False).features
    capped = model.segment(features, max_segments=1)
    assert len(capped.transcript) == 1
    assert not capped.complete
    assert model.segment(features).complete


@pytest.mark.parametrize("n_frames", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_shortest_videos_work_in_every_way(
    model: uvast.Segmenter, n_frames: int, way: dict[str, object]
) -> None:
    features = np.random.default_rng(n_frames).normal(size=(n_frames, model.n_features))
    prediction = model.segment(features.astype(np.float32), **way)
    assert prediction.segmentation.n_frames == n_frames


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        (np.zeros((0, 6), np.float32), r"features of shape \(0, 6\); the model wants"),
        (np.zeros((5, 7), np.float32), r"features of shape \(5, 7\); the model wants \(T, 6\)"),
        (np.zeros(5, np.float32), r"features of shape \(5,\)"),
        (np.full((5, 6), np.inf, np.float32), "NaN or infinite"),
    ],
)
def test_wrong_features_are_named(
    model: uvast.Segmenter, features: np.ndarray, sentence: str
) -> None:
    with pytest.raises(FeatureError, match=sentence):
        model.segment(features)


def test_what_a_model_cannot_do_is_said_before_the_first_video(model: uvast.Segmenter) -> None:
    with pytest.raises(ConfigError, match="durations 'explicit' need a model that was trained"):
        model.segment(np.zeros((5, 6), np.float32), durations="explicit")
    with pytest.raises(ConfigError, match=r"decode\.durations is 'magic'"):
        model.segment(np.zeros((5, 6), np.float32), durations="magic")


def test_places_without_a_model_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="name a run folder"):
        uvast.load(tmp_path / "absent")
    with pytest.raises(CheckpointError, match="holds no checkpoint"):
        uvast.load(tmp_path)
    (tmp_path / "run.json").touch()
    with pytest.raises(CheckpointError, match="no checkpoint yet; finish it with uvast train --re"):
        uvast.load(tmp_path)
    (tmp_path / "torn.safetensors").write_bytes(b"torn")
    with pytest.raises(CheckpointError, match="cannot be read"):
        uvast.load(tmp_path / "torn.safetensors")
