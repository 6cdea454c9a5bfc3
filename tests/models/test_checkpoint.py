"""Checkpoints that cannot be read or written are one sentence, and never half a file."""

from __future__ import annotations

import dataclasses
import resource
from pathlib import Path

import pytest
import torch

from uvast.errors import CheckpointError, OutputError
from uvast.models.checkpoint import ModelCard, load_model, model_tensors, write_checkpoint
from uvast.models.ms_tcn import MsTcnDimensions, MultiStageNetwork, ms_tcn
from uvast.vocabulary import Vocabulary


@pytest.fixture
def model() -> MultiStageNetwork:
    return ms_tcn(MsTcnDimensions(n_features=5, n_classes=2, width=8, n_layers=2, n_stages=1))


def card_of(model: MultiStageNetwork, **changes: object) -> ModelCard:
    dimensions = {**dataclasses.asdict(model.dimensions), **changes}
    return ModelCard("ms-tcn", dimensions, Vocabulary(("a", "b")))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n_features": 6}, "size mismatch"),
        ({"n_layers": 3}, "Missing key"),
        ({"magic": 1}, "has unknown dimensions ['magic']"),
        ({"n_features": "5"}, "got str"),
    ],
)
def test_weights_that_do_not_fit_their_card_are_one_sentence(
    model: MultiStageNetwork, tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    path = tmp_path / "model.safetensors"
    write_checkpoint(path, model_tensors(model), card_of(model, **changes))
    with pytest.raises(
        CheckpointError, match=r"model\.safetensors: (does not fit its own|has un)"
    ) as found:
        load_model(path)
    assert reason in str(found.value)
    assert "\n" not in str(found.value)


def test_an_alignment_decoder_of_a_frame_wise_model_is_refused(
    model: MultiStageNetwork, tmp_path: Path
) -> None:
    tensors = {**model_tensors(model), "model.alignment.weight": torch.zeros(1)}
    write_checkpoint(tmp_path / "model.safetensors", tensors, card_of(model))
    with pytest.raises(CheckpointError, match="does not fit its own model card"):
        load_model(tmp_path / "model.safetensors")


def test_a_full_disk_leaves_the_old_checkpoint(model: MultiStageNetwork, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    write_checkpoint(path, model_tensors(model), card_of(model))
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"model\.safetensors: cannot be written \(.*large"):
            write_checkpoint(path, model_tensors(model), card_of(model))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
