"""Whole runs of models with boundaries: resuming, learning one video by heart, decoding."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from breaking_off import StopAfter, StopError
from safetensors.torch import load_file

import uvast
from uvast.config import Config, load_config
from uvast.data import Dataset
from uvast.durations import boundary_scores, segmentation_score, semi_markov, viterbi
from uvast.errors import CheckpointError, ConfigError
from uvast.models.protocols import as_frame_model
from uvast.runs import RunFolder
from uvast.segments import Segmentation
from uvast.training import resume, train

SMALL = {
    "model.width": 16,
    "model.attention_width": 8,
    "model.n_encoder_layers": 4,
    "model.decoder_feedforward": 32,
    "model.n_stages": 3,
    "train.epochs": 3,
    "train.alignment_epochs": 0,
    "train.checkpoint_seconds": 0.0,
}


def small(preset: str, **changes: object) -> Config:
    return load_config(preset).replaced(**{**SMALL, **changes})


def asrf(**changes: object) -> Config:
    return small("asrf", **changes)


def with_boundaries(**changes: object) -> Config:
    own = {"model.boundary_output": True, "model.refinement_stages": 1, "loss.smoothing": 0.15}
    return small("uvast", **{**own, **changes})


REFRESHED = {
    "supervision.kind": "timestamps",
    "supervision.refresh_every": 1,
    "supervision.refresh_after": 1,
}


@pytest.mark.parametrize(
    "config",
    [asrf(), asrf(**REFRESHED), with_boundaries(**{"train.batch_size": 2})],
    ids=["asrf", "asrf from clicks", "uvast"],
)
def test_a_run_broken_off_resumes_to_equal_weights(
    tiny: Dataset, tmp_path: Path, config: Config
) -> None:
    train(tiny, tmp_path / "whole", config=config, split=1)
    with pytest.raises(StopError):
        train(tiny, tmp_path / "broken", config=config, split=1, watcher=StopAfter(2))
    resume(tmp_path / "broken")
    whole, broken = (load_file(tmp_path / run / "best.safetensors") for run in ("whole", "broken"))
    assert whole.keys() == broken.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(value.numpy(), broken[name].numpy(), err_msg=name)
    (first, *_), (last, *_) = (RunFolder(tmp_path / run).read_log() for run in ("whole", "broken"))
    assert first["boundary"] == last["boundary"] > 0


@pytest.fixture(scope="module")
def learned(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A video, and the run of an ASRF that knows it by heart."""
    folder = tmp_path_factory.mktemp("asrf")
    shutil.copytree(tiny_path, folder / "data")
    name = Dataset.open(tiny_path).side(1, "train")[0]
    (folder / "data" / "splits" / "train.split1.bundle").write_text(f"{name}.txt\n")
    config = asrf(
        **{
            "model.width": 32,
            "model.encoder_dropout": 0.0,
            "train.epochs": 200,
            "train.learning_rate": 3e-3,
            "train.schedule": "cosine",
            "train.weight_decay": 0.0,
            "train.scaling": True,
            "train.checkpoint_seconds": 60.0,
        }
    )
    return name, train(folder / "data", folder / "run", config=config, split=1).path


def test_asrf_learns_one_video_by_heart(learned: tuple[str, Path], tiny: Dataset) -> None:
    name, run = learned
    last = RunFolder(run).read_log()[-1]
    assert last["frame"] < 1, "three stages, which smoothing of weight 1 holds back: 4.8 at first"
    assert last["boundary"] < 0.1
    truth = tiny.source_segmentation(name)
    model, features = uvast.load(run), tiny.video(name, labels=False).features
    assert model.segment(features).segmentation == truth
    starts = model.frames(features).boundaries
    assert (np.delete(starts, truth.starts) < 0).all()
    assert (starts[truth.starts[1:]] > 0).all()
    # the other decodings
    for transcript, durations in (("boundaries", "viterbi"), ("frames", "none")):
        found = model.segment(features, transcript=transcript, durations=durations).segmentation
        assert found.transcript.tolist() == truth.transcript.tolist()
        assert np.abs(found.ends - truth.ends).max() <= 2


def test_boundaries_hold_cuts_in_the_exact_searches(
    learned: tuple[str, Path], tiny: Dataset
) -> None:
    """Where the frame head knows nothing, its boundaries still tell where to cut."""
    name, run = learned
    model, truth = uvast.load(run), tiny.source_segmentation(name)
    batch = model.encode_batch([tiny.video(name, labels=False)])
    blind = np.full_like(batch.frames[0].log_probabilities, -np.log(len(model.vocabulary)))
    batch = replace(batch, frames=(replace(batch.frames[0], log_probabilities=blind),))
    options = model.options(transcript="semi-markov", boundary_weight=3.0)
    (found,) = model.decode_batch(batch, options)
    assert set(truth.ends.tolist()) <= set(found.segmentation.ends.tolist())


@pytest.fixture(scope="module")
def model(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> uvast.Segmenter:
    out = tmp_path_factory.mktemp("uvast") / "run"
    return uvast.load(train(tiny_path, out, config=with_boundaries(), split=1).path)


def test_decodings_weigh_boundaries(model: uvast.Segmenter, tiny: Dataset) -> None:
    video = tiny.video(tiny.names[0], labels=False)
    batch = model.encode_batch([video])
    (frames,) = batch.frames
    cuts = boundary_scores(frames.boundaries, 2.0)
    gamma, transitions = model.priors.gamma, model.priors.transitions.without_ends
    scored = {"alpha": model.priors.weights.alpha, "cut_scores": cuts}
    joint = semi_markov(frames.log_probabilities, gamma, transitions, **scored)

    def decoded(**options: object) -> Segmentation:
        chosen = model.options(boundary_weight=2.0, **options)
        return model.decode_batch(batch, chosen)[0].segmentation

    assert decoded(transcript="semi-markov") == joint
    by_frames = decoded(transcript="frames", durations="viterbi", length_model="gamma")
    expected = viterbi(frames.log_probabilities, by_frames.transcript, gamma, **scored)
    np.testing.assert_array_equal(by_frames.durations, expected.durations)
    (candidates,) = model.candidates(batch, model.options(transcript="best", boundary_weight=2.0))
    assert candidates.segmentations[0] == joint
    power = model.priors.weights.alpha
    for one, parts in zip(candidates.segmentations, candidates.parts.tolist(), strict=True):
        own = segmentation_score(frames.log_probabilities, one, gamma, transitions, **scored)
        assert power * parts[0] + parts[1] + parts[2] == pytest.approx(own)
    # off by default
    plain = model.decode_batch(batch, model.options(transcript="semi-markov"))[0]
    alone = semi_markov(frames.log_probabilities, gamma, transitions, alpha=power)
    assert plain.segmentation == alone


def test_broken_boundaries_are_told(
    model: uvast.Segmenter, tiny: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = as_frame_model(model.module)
    encode = network.encode
    monkeypatch.setattr(
        network,
        "encode",
        lambda *given: replace(one := encode(*given), boundaries=one.boundaries * float("nan")),
    )
    with pytest.raises(CheckpointError, match="the model's outputs are NaN"):
        model.encode_batch([tiny.video(tiny.names[0], labels=False)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"decode.transcript": "boundaries"}, "'boundaries' needs a model with a boundary output"),
        (
            {"decode.boundary_weight": 0.5},
            "boundary_weight is 0.5, and the model has no boundary output; train with --set "
            "model.boundary_output=true, or set decode.boundary_weight=0",
        ),
    ],
    ids=["transcript", "weight"],
)
def test_a_model_without_boundaries_is_refused_them(
    tiny: Dataset, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(tiny, tmp_path / "run", config=small("uvast", **changes), split=1)
    assert not (tmp_path / "run").exists()
