"""Training with preset `auto`: what it resolves to, and how long it is said to take."""

from __future__ import annotations

import pytest
import torch

import uvast
from uvast.data import Dataset
from uvast.models.checkpoint import read_checkpoint
from uvast.runs import RunFolder
from uvast.training import EpochReport, plan_training, resume, train
from uvast.training.estimate import expected_seconds
from uvast.training.watching import Silent

TINY = (
    "model.width=16",
    "model.attention_width=8",
    "model.n_encoder_layers=4",
    "model.decoder_feedforward=32",
    "train.epochs=3",
    "train.checkpoint_seconds=0",
)


class StopAfter(Silent):
    """Stops after an epoch."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch

    def epoch(self, report: EpochReport) -> None:
        if report.epoch == self._epoch:
            raise KeyboardInterrupt


def test_without_settings_the_data_decides(tiny_path, tmp_path):
    """KeyboardInterrupt at once: all that matters is what the run is going to do."""
    with pytest.raises(KeyboardInterrupt):
        uvast.train(tiny_path, tmp_path / "run", split=1, watcher=StopAfter(1))
    _, config, _ = RunFolder.open(tmp_path / "run")
    planned = plan_training(tiny_path, split=1).config
    assert config == planned.replaced(**{"train.validation": 0.0})
    assert (config.train.epochs, config.decode.transcript) == (300, "best")


@pytest.mark.parametrize("supervision", ["full", "timestamps"])
def test_a_run_has_its_rate_everywhere_and_goes_on_with_it(tiny_path, tmp_path, supervision):
    settings = [*TINY, "train.sampling_rate=2", f"supervision.kind={supervision}"]
    config = plan_training(tiny_path, split=1, settings=settings).config
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(tiny_path, whole, config=config, split=1)
    with pytest.raises(KeyboardInterrupt):
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


def test_the_expected_time_grows_with_the_work(tiny_path):
    """Measured within one call, so that other work on the machine does not matter much."""
    planned = plan_training(tiny_path, split=1, settings=TINY)
    state = torch.random.get_rng_state()
    short = expected_seconds(planned.config, planned.facts, torch.device("cpu"))
    longer = planned.config.replaced(**{"train.epochs": 3000, "train.alignment_epochs": 1000})
    long = expected_seconds(longer, planned.facts, torch.device("cpu"))
    assert 0 < short < long / 50
    assert torch.equal(torch.random.get_rng_state(), state)
