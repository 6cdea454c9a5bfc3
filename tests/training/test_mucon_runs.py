"""Whole runs of MuCon and of gradient descent: resuming, timestamps, every decoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from breaking_off import StopAfter, StopError
from safetensors.torch import load_file
from torch import nn

import uvast
from uvast.benchmark.cell import Cell
from uvast.benchmark.matrix import Matrix
from uvast.benchmark.run_cell import run_cell
from uvast.config import Config, load_config
from uvast.data import Dataset
from uvast.errors import CheckpointError
from uvast.runs import RunFolder
from uvast.segments import round_durations
from uvast.training import resume, train
from uvast.training.optimisation import build_optimiser, load_optimiser, optimiser_tensors

SMALL = {"model.width": 16, "train.epochs": 2, "train.checkpoint_seconds": 0.0}


def small(**changes: object) -> Config:
    return load_config("mucon").replaced(**{**SMALL, **changes})


@pytest.mark.parametrize("supervision", ["full", "timestamps"])
def test_every_decoding_of_a_run(supervision: str, tiny_path: Path, tmp_path: Path) -> None:
    config = small(**{"supervision.kind": supervision})
    ways = Matrix([tiny_path], ["mucon"]).decodings_for(config)
    wanted = {"frames", "transcript", "explicit", "viterbi", "fifa", "semi-markov", "best"}
    assert set(ways) == {*wanted, "viterbi + gamma"}
    cell = Cell("mucon", str(tiny_path.resolve()), split=1, seed=0, config=config, decodings=ways)
    assert set(run_cell(cell, tmp_path)) == set(ways)
    (first, last) = RunFolder(tmp_path / cell.key).read_log()
    for name in ("frame", "segment", "smoothing", "durations", "consistency", "lengths"):
        assert name in first
    assert last["loss"] < first["loss"]


def test_its_own_lengths_are_the_durations(tiny: Dataset, tmp_path: Path) -> None:
    run = train(tiny, tmp_path / "run", config=small(), split=1)
    segmenter = uvast.load(run.path)
    features = tiny.video(tiny.side(1, "test")[0]).features
    found = segmenter.segment(features)
    assert found.segmentation is not None
    model, vocabulary = segmenter.module, segmenter.vocabulary
    with torch.inference_mode():
        encoded = model.encode(torch.tensor(features)[None], None)
        tokens = torch.tensor([[vocabulary.sos, *found.transcript.tolist()]])
        shares = model.decode(encoded, None, tokens).fractions[0, 0, :-1].numpy()
    wanted = round_durations(shares.astype(np.float64), len(features))
    assert found.segmentation.durations.tolist() == wanted.tolist()
    for n_frames in (1, 3, 15):
        short = segmenter.segment(features[:n_frames]).segmentation
        assert short is not None
        assert short.n_frames == n_frames


def test_a_run_by_gradient_descent_resumes_to_equal_weights(tiny: Dataset, tmp_path: Path) -> None:
    train(tiny, tmp_path / "whole", config=small(), split=1)
    with pytest.raises(StopError):
        train(tiny, tmp_path / "broken", config=small(), split=1, watcher=StopAfter(1))
    kept = load_file(tmp_path / "broken" / "last.safetensors")
    assert any(name.endswith(".momentum_buffer") for name in kept)
    assert not any(name.endswith(".exp_avg") for name in kept)
    resume(tmp_path / "broken")
    whole, broken = (load_file(tmp_path / run / "best.safetensors") for run in ("whole", "broken"))
    for name, value in whole.items():
        np.testing.assert_array_equal(value.numpy(), broken[name].numpy(), err_msg=name)


def test_the_state_of_another_optimiser_is_refused(tiny: Dataset, tmp_path: Path) -> None:
    with pytest.raises(StopError):
        train(tiny, tmp_path / "run", config=small(), split=1, watcher=StopAfter(1))
    settings = tmp_path / "run" / "config.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace('optimiser = "sgd"', 'optimiser = "adam"'), encoding="utf-8")
    with pytest.raises(
        CheckpointError, match=r"optimiser belongs to another run .*optimiser\.0\.step"
    ):
        resume(tmp_path / "run")


def test_gradient_descent_with_momentum_is_that_of_a_plain_loop() -> None:
    weight = nn.Parameter(torch.tensor([2.0]))
    optimiser = build_optimiser([weight], kind="sgd", learning_rate=0.1, weight_decay=0.5)
    plain, velocity = 2.0, 0.0
    for step in range(4):
        if step == 2:  # as a resumed run does
            tensors = {n: v.clone() for n, v in optimiser_tensors(optimiser).items()}
            optimiser = build_optimiser([weight], kind="sgd", learning_rate=0.1, weight_decay=0.5)
            load_optimiser(optimiser, tensors)
        optimiser.zero_grad()
        weight.square().sum().backward()
        optimiser.step()
        velocity = 0.9 * velocity + 2 * plain + 0.5 * plain
        plain -= 0.1 * velocity
        assert float(weight.detach()) == pytest.approx(plain)
