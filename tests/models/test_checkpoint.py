"""Checkpoints that cannot be read or written are one sentence, and never half a file."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from uvast.errors import CheckpointError, CorruptFileError, MissingFileError, OutputError
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
        ({"n_features": 6}, "prediction.embed.linear.weight is float32 (8, 5), not float32 (8, 6)"),
        ({"n_layers": 3}, "layers.2.convolution.weight is absent, not float32 (3, 8, 8)"),
        ({"n_stages": 2}, "is absent"),
        ({"n_layers": 1}, "layers.1.convolution.bias is float32 (8,), not absent"),
        ({"magic": 1}, "unknown dimensions ['magic']"),
        ({"n_features": "5"}, "got str"),
        ({"n_features": [5]}, "makes no model"),
        ({"n_classes": 3}, "3 classes with 2 names"),
        ({"width": 60_000_000}, "width is 60000000; it must lie in 1 to 65536"),
        ({"width": 60_000}, "is float32 (8, 5), not float32 (60000, 5)"),
        ({"n_layers": 70}, "n_layers is 70"),
        ({"n_features": 10**400}, "n_features is 1000"),
    ],
)
def test_weights_that_do_not_fit_their_card_are_one_sentence(
    model: MultiStageNetwork, tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    path = tmp_path / "model.safetensors"
    write_checkpoint(path, model_tensors(model), card_of(model, **changes))
    with pytest.raises(
        CheckpointError, match=r"model\.safetensors: (does not fit its own|has )"
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


def test_a_card_that_asks_for_too_much_is_refused_before_anything_is_built(
    model: MultiStageNetwork, tmp_path: Path
) -> None:
    """A small file must not take gigabytes: what is built first has shapes and no memory."""
    path = tmp_path / "model.safetensors"
    card = card_of(model, width=65_536, n_features=2**20)  # 275 GB
    write_checkpoint(path, model_tensors(model), card)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CheckpointError, match="does not fit its own model card"):
        load_model(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"sampling_rate": 2**63}, "sampling_rate is 9223372036854775808, above 1000000"),
        ({"sampling_rate": True}, "sampling_rate is True, not a whole number"),
        ({"frames_per_second": float("inf")}, "frames_per_second"),
        ({"stage": 3}, "stage is 3, not 1 or 2"),
        ({"dimensions": 7}, "dimensions is 7, not a table of values"),
        ({"vocabulary": {"names": []}}, "needs at least one class"),
        ({"vocabulary": {"names": ["a", 5]}}, "vocabulary.names.1 is 5, not text"),
        ({"kind": "\ud800"}, "Invalid JSON"),
        ({"kind": "x" * 10_000}, "longer than 1000 characters"),
    ],
)
def test_a_card_of_wrong_values_is_one_sentence(
    model: MultiStageNetwork, tmp_path: Path, changes: dict[str, object], fault: str
) -> None:
    path = tmp_path / "model.safetensors"
    write_checkpoint(path, model_tensors(model), card_of(model))
    card = {**dataclasses.asdict(card_of(model)), **changes}
    rewrite_header(path, card=json.dumps(card))
    with pytest.raises(CheckpointError, match="has a model card that cannot be read") as found:
        load_model(path)
    assert fault in str(found.value)
    assert len(str(found.value)) < 1500


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"kind": ' + "9" * 5000 + "}", "null"])
def test_a_card_that_is_no_table_is_one_sentence(
    model: MultiStageNetwork, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "model.safetensors"
    write_checkpoint(path, model_tensors(model), card_of(model))
    rewrite_header(path, card=text)
    with pytest.raises(CheckpointError, match=r"model\.safetensors: has a model card that cannot"):
        load_model(path)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.complex64])
def test_weights_of_another_type_are_refused(
    model: MultiStageNetwork, tmp_path: Path, dtype: torch.dtype
) -> None:
    tensors = {name: value.to(dtype) for name, value in model_tensors(model).items()}
    write_checkpoint(tmp_path / "model.safetensors", tensors, card_of(model))
    with pytest.raises(CheckpointError, match=r"weight is \w+ \(8, 5\), not float32 \(8, 5\)"):
        load_model(tmp_path / "model.safetensors")


def test_what_is_no_checkpoint_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(MissingFileError, match="name a run folder or a"):
        load_model(path)
    os.mkfifo(path)  # opening one would wait for ever
    with pytest.raises(CorruptFileError, match="is a pipe, not a file"):
        load_model(path)
    path.unlink()
    path.write_bytes((2**40).to_bytes(8, "little") + b"{}")
    with pytest.raises(CheckpointError, match=r"cannot be read \(a header of 1099511627776 b"):
        load_model(path)
    path.write_bytes(b"torn")
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_model(path)


def rewrite_header(path: Path, **entries: str) -> None:
    """Changes entries of a checkpoint's header."""
    with safe_open(path, framework="pt") as file:
        metadata = {**file.metadata(), **entries}
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, metadata=metadata)
