"""From a trained model to segmentations: every way, alone and in batches, from files and arrays."""

from __future__ import annotations

import pkgutil
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

import uvast
from uvast.config import Config, DecodeConfig
from uvast.data import Dataset
from uvast.durations import viterbi
from uvast.errors import CheckpointError, ConfigError, FeatureError, InputError, MissingFileError
from uvast.evaluation import score
from uvast.inference.calibration import ALPHAS, DECODER_WEIGHTS, calibrate, selection_score
from uvast.inference.inputs import DatasetVideo, find_sources
from uvast.inference.pipeline import segment_all, segment_with_decodings
from uvast.inference.priors import Priors
from uvast.inference.search import Transcript
from uvast.models import Encoded
from uvast.segments import Segmentation
from uvast.training import train

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


def count_calls(monkeypatch: pytest.MonkeyPatch, place: str, calls: list[str]) -> None:
    """Every call of a function adds its name to `calls`."""
    real = pkgutil.resolve_name(place)

    def counted(*given: object, **options: object) -> object:
        calls.append(real.__name__)
        return real(*given, **options)

    monkeypatch.setattr(place, counted)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_tiles_the_video_and_is_the_same_alone_and_in_a_batch(
    model: uvast.Segmenter, tiny: Dataset, way: dict[str, object]
) -> None:
    videos = [tiny.video(name, labels=False) for name in tiny.side(1, "test")]
    assert len({video.n_frames for video in videos}) > 1, "padding is needed for this test"
    together = model.segment_batch(videos, model.options(**way), workers=2)
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


def test_greedy_search_looks_whether_the_end_follows_the_cap(
    model: uvast.Segmenter, tiny: Dataset
) -> None:
    from uvast.inference.search import beam_transcripts, greedy_transcripts

    batch = model.encode_batch([tiny.video(tiny.names[0], labels=False)])
    given = (model.module, batch.encoded, batch.mask, model.vocabulary)
    (whole,) = greedy_transcripts(*given, max_segments=50)
    for cap in (len(whole.tokens), len(whole.tokens) - 1):
        (greedy,) = greedy_transcripts(*given, max_segments=cap)
        (beam,) = beam_transcripts(*given, beam_width=1, max_segments=cap)
        assert greedy.tokens.tolist() == beam.tokens.tolist() == whole.tokens[:cap].tolist()
        assert greedy.complete == beam.complete == (cap == len(whole.tokens))
        assert greedy.log_probability == pytest.approx(beam.log_probability, abs=1e-3)


@pytest.mark.parametrize("beam_width", [1, 2])
def test_a_transcript_of_one_token_a_frame_was_not_stopped_by_the_cap(
    model: uvast.Segmenter, tiny: Dataset, beam_width: int
) -> None:
    """There is no room for another segment, so raising the cap would change nothing."""
    features = tiny.video(tiny.names[0], labels=False).features[:1]
    assert model.segment(features, beam_width=beam_width).complete


def test_noise_makes_no_candidate_longer_than_the_cap(
    model: uvast.Segmenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths = []

    def counted(
        frames: object, transcript: np.ndarray, *given: object, **options: object
    ) -> object:
        lengths.append(len(transcript))
        return viterbi(frames, transcript, *given, **options)

    monkeypatch.setattr("uvast.inference.candidates.viterbi", counted)
    noise = np.random.default_rng(0).normal(scale=9, size=(400, model.n_features))
    features = noise.astype(np.float32)
    runs = model.segment(features, transcript="frames", durations="none")
    assert len(runs.transcript) > 40, "a noisy head is needed for this test"
    joint = model.segment(features, transcript="semi-markov")
    best = model.segment(features, transcript="best", max_segments=len(joint.transcript))
    assert best.segmentation.n_frames == 400
    assert max(lengths) <= len(joint.transcript) < len(runs.transcript)
    # a joint segmentation above the cap is taken as it is
    lengths.clear()
    best = model.segment(features, transcript="best", max_segments=len(joint.transcript) - 1)
    assert best.segmentation == joint.segmentation
    assert best.complete
    assert not lengths


def test_best_says_if_its_transcript_was_cut(
    model: uvast.Segmenter, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    video = tiny.video(tiny.names[0], labels=False)
    joint = model.segment(video.features, transcript="semi-markov")

    def cut(*_: object, **__: object) -> tuple[Transcript, ...]:
        return (Transcript(joint.transcript, 0.0, complete=False),)

    monkeypatch.setattr("uvast.inference.decoder.beam_transcripts", cut)
    monkeypatch.setattr(
        "uvast.inference.candidates.smoothed_transcript", lambda *_, **__: np.array([0])
    )
    encoded, options = model.encode_batch([video]), model.options(transcript="best", beam_width=2)
    (found,) = model.decode_batch(encoded, options)
    assert found.complete == (not np.array_equal(found.transcript, joint.transcript))
    alone = replace(model.priors, decoder_weight=0.0)
    (found,) = model.decode_batch(encoded, options, priors=alone)
    assert not found.complete


def test_several_decodings_read_and_encode_each_video_once(
    model: uvast.Segmenter, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    decodings = {str(one): model.options(**one) for one in WAYS[:3]}
    calls: list[str] = []
    count_calls(monkeypatch, "uvast.inference.segmenter.Segmenter.encode_batch", calls)
    sources = [DatasetVideo(tiny, name, 1) for name in tiny.names]
    outcomes = segment_with_decodings(model, sources, decodings, batch_size=1)
    found = {(name, one.name): one.prediction for name, one in outcomes}
    assert len(calls) == len(tiny.names)
    assert set(found) == {(name, video) for name in decodings for video in tiny.names}
    for name, options in decodings.items():
        for one in segment_all(model, sources, options):
            assert found[name, one.name].segmentation == one.prediction.segmentation


def test_what_a_model_cannot_do_is_said_before_a_video_is_read(model: uvast.Segmenter) -> None:
    class Unread:
        name = "video"

        def n_frames(self) -> int:
            raise AssertionError

    with pytest.raises(ConfigError, match="'explicit' need a model that was trained"):
        next(segment_all(model, [Unread()], model.options(durations="explicit")))


def test_calibration_is_a_search_that_encodes_and_searches_each_video_once(
    model: uvast.Segmenter, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    videos = [tiny.video(name, labels=False) for name in tiny.side(1, "test")]
    truths = {one.name: Segmentation.from_labels(tiny.video(one.name).labels) for one in videos}
    calls: list[str] = []
    for place in ("segmenter.Segmenter.encode_batch", "decoder.beam_transcripts"):
        count_calls(monkeypatch, f"uvast.inference.{place}", calls)
    found = calibrate(model, videos, truths)
    assert sorted(calls) == ["beam_transcripts"] * len(videos) + ["encode_batch"] * len(videos)

    def judge(options: DecodeConfig, **changes: float) -> float:
        priors, pairs = replace(model.priors, **changes), []
        for video in videos:
            (one,) = model.decode_batch(model.encode_batch([video]), options, priors=priors)
            pairs.append((one.segmentation, truths[video.name].merged()))
        return selection_score(score(pairs, model.vocabulary))

    joint, best = model.options(transcript="semi-markov"), model.options(transcript="best")
    alphas = [judge(joint, alpha=alpha) for alpha in ALPHAS]
    assert alphas[ALPHAS.index(found.alpha)] == max(alphas)
    weights = [judge(best, alpha=found.alpha, decoder_weight=one) for one in DECODER_WEIGHTS]
    assert weights[DECODER_WEIGHTS.index(found.decoder_weight)] == max(weights)
    assert len(set(alphas)) > 1, "a choice is needed for this test"


@pytest.mark.parametrize("n_frames", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_shortest_videos_work_in_every_way(
    model: uvast.Segmenter, n_frames: int, way: dict[str, object]
) -> None:
    features = np.random.default_rng(n_frames).normal(size=(n_frames, model.n_features))
    prediction = model.segment(features.astype(np.float32), **way)
    assert prediction.segmentation.n_frames == n_frames


def test_a_beam_of_one_is_greedy_and_wider_ones_are_never_worse(
    model: uvast.Segmenter, tiny: Dataset
) -> None:
    from uvast.inference.search import (
        beam_transcripts,
        greedy_transcripts,
        transcript_log_probabilities,
    )

    for name in tiny.names[:4]:
        batch = model.encode_batch([tiny.video(name, labels=False)])
        given = (model.module, batch.encoded, batch.mask, model.vocabulary)
        (greedy,) = greedy_transcripts(*given, max_segments=50)
        one, *_ = beam_transcripts(*given, beam_width=1, max_segments=50)
        assert one.tokens.tolist() == greedy.tokens.tolist()
        assert one.log_probability == pytest.approx(greedy.log_probability, abs=1e-3)
        wide = beam_transcripts(*given, beam_width=8, max_segments=50)
        assert wide[0].log_probability >= greedy.log_probability - 1e-4
        scores = [one.log_probability for one in wide]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(one.tokens.tolist()) for one in wide}) == len(wide)
        full = transcript_log_probabilities(*given, [one.tokens for one in wide])
        assert scores == pytest.approx(full, abs=1e-3)


def test_files_folders_and_datasets_are_inputs(run: Path, tiny: Dataset, tmp_path: Path) -> None:
    from_dataset = uvast.segment(run, tiny.path, split=1)
    assert sorted(from_dataset) == sorted(tiny.side(1, "test"))
    name = tiny.side(1, "test")[0]
    np.save(tmp_path / f"{name}.npy", tiny.video(name, labels=False).features)
    from_folder = uvast.segment(run, tmp_path)
    from_file = uvast.load(run).segment(tmp_path / f"{name}.npy")
    assert from_folder[name].segmentation == from_dataset[name].segmentation
    assert from_file.segmentation == from_dataset[name].segmentation


def test_one_bad_file_never_stops_the_others(
    model: uvast.Segmenter, tiny: Dataset, tmp_path: Path
) -> None:
    np.save(tmp_path / "good.npy", tiny.video(tiny.names[0], labels=False).features)
    np.save(tmp_path / "wide.npy", np.zeros((20, model.n_features + 1), np.float32))
    np.save(tmp_path / "nan.npy", np.full((20, model.n_features), np.nan, np.float32))
    (tmp_path / "torn.npy").write_bytes(b"\x93NUMPY torn")
    sources = find_sources([tmp_path], n_features=model.n_features, sampling_rate=1)
    outcomes = {one.name: one for one in segment_all(model, sources, model.options())}
    assert outcomes["good"].prediction is not None
    for name in ("wide", "nan", "torn"):
        assert outcomes[name].prediction is None
        assert name in str(outcomes[name].error)


def test_a_video_that_fails_in_a_batch_fails_alone(
    run: Path, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory that runs out, and outputs that are no numbers, are said of the video they befall."""
    model = uvast.load(run)
    names = tiny.side(1, "test")
    sources = find_sources([tiny.path], n_features=6, sampling_rate=1, split=1)
    lengths = sorted({tiny.video(name, labels=False).n_frames for name in names})
    encode = model.module.encode

    def weak(features: torch.Tensor, mask: torch.Tensor) -> Encoded:
        if len(features) > 1 or features.shape[1] == lengths[-1]:
            raise RuntimeError("not enough memory: you tried to allocate 1 EB")
        encoded = encode(features, mask)
        return Encoded(encoded.features, encoded.logits * (nan if mask.sum() == lengths[0] else 1))

    nan = float("nan")
    monkeypatch.setattr(model.module, "encode", weak)
    outcomes = list(segment_all(model, sources, model.options()))
    errors = [str(one.error) for one in outcomes if one.error is not None]
    assert len(outcomes) == len(names)
    assert sum("does not fit into memory" in text for text in errors) == 1
    assert sum("outputs are NaN" in text for text in errors) == 1
    assert all(any(name in text for name in names) for text in errors)


def test_a_model_card_of_another_version_is_one_sentence(run: Path) -> None:
    known = uvast.load(run).priors.as_dict()
    for decoding in ({}, {**known, "temperature": 3}):
        with pytest.raises(CheckpointError, match="decoding section cannot be read"):
            Priors.from_dict(decoding)


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
    with pytest.raises(ConfigError, match=r"decode\.durations = 'magic'"):
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


def test_two_inputs_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        np.save(tmp_path / folder / "video.npy", np.zeros((3, 6), np.float32))
    with pytest.raises(InputError, match="two inputs are named video"):
        find_sources([tmp_path / "a", tmp_path / "b"], n_features=6, sampling_rate=1)


def test_the_source_rate_comes_back(tiny_path: Path, small_config: Config, tmp_path: Path) -> None:
    """A model of every second frame predicts all of them."""
    shutil.copytree(tiny_path, tmp_path / "data")
    spec = (tmp_path / "data" / "dataset.toml").read_text()
    assert "sampling_rate" not in spec
    (tmp_path / "data" / "dataset.toml").write_text("sampling_rate = 2\n" + spec)
    config = small_config.replaced(**{"train.alignment_epochs": 0})
    train(tmp_path / "data", tmp_path / "run", config=config, split=1)
    for name, prediction in uvast.segment(tmp_path / "run", tmp_path / "data", split=1).items():
        source = np.load(tmp_path / "data" / "features" / f"{name}.npy")
        assert prediction.segmentation.n_frames == max(n for n in source.shape if n != 6), (
            "every source frame has a label"
        )
