"""Runs on recombined, warped and mirrored videos with a learned mask token."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from breaking_off import StopAfter, StopError
from safetensors.torch import load_file

from uvast.config import Config
from uvast.data import Dataset
from uvast.errors import CheckpointError, ConfigError
from uvast.models.build import mask_token
from uvast.models.checkpoint import (
    ModelCard,
    load_model,
    model_tensors,
    read_checkpoint,
    write_checkpoint,
)
from uvast.supervision import full_segmentations
from uvast.training import resume, train
from uvast.training.batches import draw_epoch, sample_augmentation
from uvast.training.distributed import Processes

ALL = {
    "model.mask_token": True,
    "train.recombination": 0.5,
    "train.reordering": 0.5,
    "train.speed": 1.5,
    "train.time_warp": 1.2,
    "train.channel_warp": 0.1,
    "train.time_masking": 0.2,
    "train.frame_dropping": 0.5,
    "train.batch_size": 2,
    "train.averaging": 0.9,
}
SHORT = {"train.epochs": 2, "train.alignment_epochs": 0}
MIRROR = "\n[symmetry]\ncolumns = [1, 0, 2, 3, 4, 5]\nsigns = [1, 1, -1, 1, 1, 1]\n"


@pytest.fixture(scope="module")
def mirrored(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small dataset with a symmetry."""
    path = tmp_path_factory.mktemp("mirrored") / "data"
    shutil.copytree(tiny_path, path)
    with (path / "dataset.toml").open("a") as file:
        file.write(MIRROR)
    return path


@pytest.mark.parametrize("kind", ["full", "timestamps"])
def test_a_broken_off_run_goes_on_as_if_it_had_not_been(
    mirrored: Path, small_config: Config, tmp_path: Path, kind: str
) -> None:
    clicks = {"supervision.kind": kind, "supervision.method": "midpoint"}
    config = small_config.replaced(**SHORT, **ALL, **clicks)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(mirrored, whole, config=config, split=1)
    with pytest.raises(StopError):
        train(mirrored, parts, config=config, split=1, watcher=StopAfter(1))
    resume(parts)
    ours, theirs = (load_file(run / "last.safetensors") for run in (whole, parts))
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert torch.equal(tensor, theirs[name]), name
    model, _ = load_model(whole / "best.safetensors")
    assert mask_token(model).abs().max() > 0


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("name", ["recombination", "speed", "time_warp", "channel_warp"])
def test_each_setting_changes_the_first_stage(
    tiny: Dataset, small_config: Config, name: str, stage: int
) -> None:
    value = 2.0 if name in ("speed", "time_warp") else 1.0
    changed = small_config.replaced(**{f"train.{name}": value})
    assert is_same_epoch(tiny, small_config, tiny, changed, stage) == (stage == 2)


@pytest.mark.parametrize("stage", [1, 2])
def test_a_declared_symmetry_is_used_unless_it_is_switched_off(
    tiny: Dataset, mirrored: Path, small_config: Config, stage: int
) -> None:
    dataset, off = Dataset.open(mirrored), small_config.replaced(**{"train.symmetry": 0.0})
    assert is_same_epoch(tiny, small_config, dataset, small_config, stage) == (stage == 2)
    assert is_same_epoch(tiny, small_config, dataset, off, stage)


def is_same_epoch(
    first: Dataset, config: Config, second: Dataset, changed: Config, stage: int
) -> bool:
    """Whether two epochs have the same features."""
    epochs = []
    for dataset, settings in ((first, config), (second, changed)):
        torch.manual_seed(0)
        drawn = draw_epoch(
            dataset,
            full_segmentations(dataset, dataset.names),
            settings,
            stage=stage,
            epoch=0,
            device=torch.device("cpu"),
            processes=Processes(),
            augmentation=sample_augmentation(dataset, settings.train),
        )
        epochs.append([batch.features for batch in drawn.batches])
    return all(torch.equal(one, other) for one, other in zip(*epochs, strict=True))


def test_baselines_learn_a_token_too(tiny_path: Path, small_config: Config, tmp_path: Path) -> None:
    config = small_config.replaced(
        **SHORT,
        **{
            "model.kind": "ms-tcn",
            "model.mask_token": True,
            "train.time_masking": 0.3,
            "decode.transcript": "frames",
        },
    )
    train(tiny_path, tmp_path / "run", config=config, split=1)
    model, _ = load_model(tmp_path / "run" / "best.safetensors")
    assert mask_token(model).abs().max() > 0


def test_a_checkpoint_without_a_token_is_of_a_model_without_one(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    config = small_config.replaced(**SHORT, **{"train.time_masking": 0.3})
    train(tiny_path, tmp_path / "run", config=config, split=1)
    path = tmp_path / "run" / "best.safetensors"
    model, card = load_model(path)
    assert mask_token(model) is None
    assert isinstance(card, ModelCard)
    wrong = model_tensors(model) | {"model.mask_token": torch.zeros(7)}
    write_checkpoint(path, wrong, read_checkpoint(path).card)
    with pytest.raises(CheckpointError, match=r"mask_token is float32 \(7,\), not float32 \(6,\)"):
        load_model(path)


def test_a_symmetry_that_does_not_fit_is_found_before_the_run_begins(
    tiny_path: Path, small_config: Config, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(tiny_path, tmp_path / "data"))
    with (data / "dataset.toml").open("a") as file:
        file.write("\n[symmetry]\ncolumns = [0]\n")
    with pytest.raises(ConfigError, match=r"symmetry\.columns is for features of 1 columns"):
        train(Dataset.open(data), tmp_path / "run", config=small_config)
    assert not (tmp_path / "run").exists()
    sample_augmentation(Dataset.open(data), replace(small_config.train, symmetry=0.0))
