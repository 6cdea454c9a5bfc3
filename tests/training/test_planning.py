"""Training with preset `auto`: what it resolves to, and how long it is said to take."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from breaking_off import StopAfter, StopError

import uvast
from uvast.config import load_config
from uvast.data import Dataset
from uvast.models.checkpoint import read_checkpoint
from uvast.runs import RunFolder
from uvast.training import plan_training, resume, train
from uvast.training.estimate import expected_seconds

TINY = (
    "model.width=16",
    "model.attention_width=8",
    "model.n_encoder_layers=4",
    "model.decoder_feedforward=32",
    "train.epochs=3",
    "train.checkpoint_seconds=0",
)


def test_without_settings_the_data_decides(tiny_path, tmp_path):
    """Broken off at once: all that matters is what the run is going to do."""
    with pytest.raises(StopError):
        uvast.train(tiny_path, tmp_path / "run", split=1, watcher=StopAfter(1))
    config = RunFolder.open(tmp_path / "run").config
    planned = plan_training(tiny_path, split=1).config
    assert config == planned.replaced(**{"train.validation": 0.0})
    assert (config.train.epochs, config.decode.transcript) == (300, "best")


@pytest.mark.parametrize("supervision", ["full", "timestamps"])
def test_a_run_has_its_rate_everywhere_and_goes_on_with_it(tiny_path, tmp_path, supervision):
    settings = [*TINY, "train.sampling_rate=2", f"supervision.kind={supervision}"]
    config = plan_training(tiny_path, split=1, settings=settings).config
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(tiny_path, whole, config=config, split=1)
    with pytest.raises(StopError):
        train(tiny_path, broken, config=config, split=1, watcher=StopAfter(2))
    resume(broken)
    one, other = (read_checkpoint(path / "best.safetensors") for path in (whole, broken))
    assert one.card.sampling_rate == other.card.sampling_rate == 2
    for name, weight in one.weights.items():
        torch.testing.assert_close(other.weights[name], weight, rtol=0, atol=0)
    data = Dataset.open(tiny_path)
    assert data.sampling_rate == 1
    model = uvast.load(whole)
    assert model.sampling_rate == 2
    name = data.side(1, "test")[0]
    found = model.segment(data.features_path(name))
    assert found.segmentation.n_frames == data.source_frames(name)


def test_clicks_alone_train_without_a_word(tiny_path, tmp_path):
    data = tmp_path / "data"
    (data / "features").mkdir(parents=True)
    for name in ("mapping.txt", "timestamps.json", "dataset.toml"):
        if (tiny_path / name).exists():
            (data / name).write_bytes((tiny_path / name).read_bytes())
    for file in (tiny_path / "features").iterdir():
        (data / "features" / file.name).symlink_to(file)
    planned = plan_training(data)
    assert planned.config.supervision.kind == "timestamps"
    assert planned.facts.n_videos == 8


def test_the_validation_part_is_not_looked_at(tiny_path):
    facts = plan_training(tiny_path, settings=["train.validation=0.25"]).facts
    assert (facts.n_videos, facts.n_validation) == (6, 2)


def test_the_expected_time_is_measured_and_nothing_else_is_changed(tiny_path):
    planned = plan_training(tiny_path, split=1, settings=TINY)
    state = torch.random.get_rng_state()
    assert expected_seconds(planned.config, planned.facts, torch.device("cpu")) > 0
    assert torch.equal(torch.random.get_rng_state(), state)


def test_the_expected_time_grows_with_the_work(tiny_path, monkeypatch):
    """By steps of a second: 4 videos, of which each of two inner runs sees 2."""
    monkeypatch.setattr(
        "uvast.training.estimate._step", lambda config, objective, stage, batch: float(stage)
    )
    planned = plan_training(tiny_path, split=1, settings=TINY)
    config, facts = planned.config, planned.facts
    cpu, calibrated = torch.device("cpu"), 20 * 4
    assert expected_seconds(config, facts, cpu) == 3 * 4 + 2 * 3 * 2 + calibrated
    longer = config.replaced(**{"train.epochs": 3000, "train.alignment_epochs": 1000})
    second = 1000 * 4 * 2
    assert expected_seconds(longer, facts, cpu) == 3000 * 4 + second + 2 * 3000 * 2 + calibrated


def test_the_expected_time_counts_the_unlabelled_videos_of_every_step(tiny_path, monkeypatch):
    """By steps of a second, or of two with an unlabelled video beside the labelled one."""
    monkeypatch.setattr(
        "uvast.training.estimate._step",
        lambda config, objective, stage, batch: 1.0 if batch.unlabelled is None else 2.0,
    )
    cpu, found = torch.device("cpu"), {}
    for unlabelled in ("none", "test"):
        kind = ("model.kind=sstda", f"train.unlabelled={unlabelled}")
        planned = plan_training(tiny_path, split=1, settings=[*TINY, *kind])
        found[unlabelled] = expected_seconds(planned.config, planned.facts, cpu)
    calibrated = 20 * 4
    assert found == {"none": 24 + calibrated, "test": 2 * 24 + calibrated}


def test_the_expected_time_of_a_step_with_unlabelled_videos_is_measured(tiny_path):
    config = load_config("sstda", settings=TINY)
    facts = plan_training(tiny_path, split=1, settings=TINY).facts
    assert expected_seconds(config, facts, torch.device("cpu")) > 0


def test_a_plan_for_some_videos_looks_at_no_others(tiny: Dataset, tmp_path: Path) -> None:
    side = tiny.side(1, "train")
    few = plan_training(tiny, split=1, videos=side[:2])
    assert few.facts.n_videos == 2
    assert plan_training(tiny, split=1).facts.n_videos == len(side)
    with pytest.raises(StopError):
        train(tiny, tmp_path / "run", split=1, videos=side[:2], watcher=StopAfter(1))
    _, config, info = RunFolder.open(tmp_path / "run")
    assert info.train == side[:2]
    assert config.train.epochs == few.config.train.epochs
