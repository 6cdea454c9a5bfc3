"""Many videos: several decodings at once, and one bad file that stops no other."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import uvast
from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import ConfigError, InputError
from uvast.inference.decoder import Decoder, Job
from uvast.inference.inputs import DatasetVideo, find_sources
from uvast.inference.pipeline import segment_all, segment_with_decodings
from uvast.inference.prediction import DecodedVideo
from uvast.models import Encoded
from uvast.training import train

FAST = (
    {"durations": "viterbi"},
    {"durations": "viterbi", "length_model": "gamma"},
    {"transcript": "semi-markov"},
)


def test_several_decodings_read_and_encode_each_video_once(
    model: uvast.Segmenter, tiny: Dataset, count_calls: Callable[..., list[str]]
) -> None:
    decodings = {str(one): model.options(**one) for one in FAST}
    calls = count_calls("segmenter.Segmenter.encode_batch")
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


def test_a_decoding_that_refuses_a_video_fails_alone(
    model: uvast.Segmenter, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = tiny.side(1, "test")
    refused = names[0]
    n_refused = tiny.video(refused, labels=False).n_frames
    decode = Decoder.decode

    def picky(self: Decoder, job: Job) -> DecodedVideo:
        if self.options.transcript == "semi-markov" and len(job.frames.features) == n_refused:
            raise InputError("too much of it", remedy="cut it")
        return decode(self, job)

    monkeypatch.setattr(Decoder, "decode", picky)
    sources = find_sources([tiny.path], n_features=6, sampling_rate=1, split=1)
    decodings = {one: model.options(transcript=one) for one in ("semi-markov", "frames")}
    found = {
        (decoding, one.name): one
        for decoding, one in segment_with_decodings(model, sources, decodings)
    }
    assert set(found) == {(decoding, name) for decoding in decodings for name in names}
    failed = {key: str(one.error) for key, one in found.items() if one.prediction is None}
    assert failed == {("semi-markov", refused): f"{refused}: too much of it; cut it"}


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
        assert prediction.doubts is not None
        assert len(prediction.doubts.band) == prediction.segmentation.n_frames  # under LONGEST_BAND
