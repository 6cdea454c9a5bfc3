"""What holds of every kind of model, as it is trained and used: a new kind is tested by itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from breaking_off import StopAfter, StopError
from safetensors.torch import load_file
from torch import Tensor, nn

import uvast
from uvast.config import Config, load_config
from uvast.data import Batch, Dataset, Video, collate
from uvast.errors import InputError
from uvast.models.build import OWN_KINDS, build_model
from uvast.models.checkpoint import ModelCard, load_model, model_tensors, write_checkpoint
from uvast.models.encoded import Encoded
from uvast.models.protocols import as_frame_model
from uvast.segments import Segmentation
from uvast.training import resume, train
from uvast.training.objectives import stage_one_objective
from uvast.vocabulary import Vocabulary

KINDS = sorted(OWN_KINDS)
SMALL = {
    "model.width": 16,
    "model.attention_width": 8,
    "model.n_encoder_layers": 4,
    "model.n_stages": 3,
    "model.n_decoder_layers": 1,
    "model.decoder_feedforward": 32,
    "train.epochs": 3,
    "train.alignment_epochs": 0,
    "train.weight_decay": 0.0,
    "train.batch_size": 2,
    "train.checkpoint_seconds": 0.0,
}
WITHOUT_DROPOUT = {
    "model.encoder_dropout": 0.0,
    "model.channel_dropout": 0.0,
    "model.decoder_dropout": 0.0,
}
VARIANTS = [
    *(pytest.param(kind, {}, id=kind) for kind in KINDS),
    pytest.param("asformer", {"model.window": "band"}, id="asformer, band"),
    pytest.param("uvast", {"model.window": "band"}, id="uvast, band"),
    pytest.param(
        "uvast",
        {"model.boundary_output": True, "model.refinement_stages": 1},
        id="uvast, boundaries and refinement",
    ),
]
BY_HEART = {
    "c2f-tcn": {"model.chunk": 1, "model.test_chunk_least": 1, "model.test_chunk_most": 1},
    "mucon": {"train.optimiser": "adam"},
}
"""What a kind needs to learn a video of 50 frames exactly in few epochs."""

N_FEATURES, N_CLASSES = 5, 4
VOCABULARY = Vocabulary(("a", "b", "c", "d"))


def small(kind: str, **changes: object) -> Config:
    """The kind's own preset, made small."""
    return load_config(preset=kind).replaced(**{**SMALL, **changes})


def small_model(kind: str, **changes: object) -> nn.Module:
    torch.manual_seed(0)
    return build_model(small(kind, **changes).model, n_features=N_FEATURES, n_classes=N_CLASSES)


def padded(videos: list[Tensor], filler: float = 1e3) -> tuple[Tensor, Tensor]:
    lengths = [len(one) for one in videos]
    features = torch.full((len(videos), max(lengths), N_FEATURES), filler)
    for row, one in zip(features, videos, strict=True):
        row[: len(one)] = one
    return features, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def outputs(encoded: Encoded) -> Iterator[Tensor]:
    """Features, logits and boundaries of every stage, time on the second axis."""
    for one in encoded.stages:
        yield one.features
        yield one.logits
        if one.boundaries is not None:
            yield one.boundaries


@pytest.mark.parametrize(("kind", "changes"), VARIANTS)
def test_a_video_alone_is_the_same_as_in_a_padded_batch(
    kind: str, changes: dict[str, object]
) -> None:
    model = small_model(kind, **changes)
    videos = [torch.randn(n, N_FEATURES) for n in (1, 37, 90)]
    features, mask = padded(videos)
    with torch.no_grad():
        as_frame_model(model.train()).encode(features, mask)  # statistics, where a model keeps any
        encode = as_frame_model(model.eval()).encode
        together = encode(features, mask)
        for index, one in enumerate(videos):
            n_frames = len(one)
            alone = encode(one[None], torch.ones(1, n_frames, dtype=torch.bool))
            for batch, expected in zip(outputs(together), outputs(alone), strict=True):
                torch.testing.assert_close(
                    batch[index, :n_frames], expected[0], atol=1e-5, rtol=1e-5
                )
            assert not together.features[index, n_frames:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_losses_and_gradients_ignore_padding_in_training(kind: str) -> None:
    config = small(kind, **WITHOUT_DROPOUT)
    model = small_model(kind, **WITHOUT_DROPOUT)
    generator = np.random.default_rng(0)
    lengths = {"short": (5, 4, 3), "long": (15, 5, 10, 10)}
    videos = [
        Video(name, generator.normal(size=(sum(n), N_FEATURES)).astype(np.float32), None, sum(n))
        for name, n in lengths.items()
    ]
    segmentations = [Segmentation(np.arange(len(n)), np.array(n)) for n in lengths.values()]
    batch = collate(videos, segmentations)
    found = [
        _gradients(
            model,
            config,
            replace(batch, features=torch.where(batch.mask[..., None], batch.features, filler)),
        )
        for filler in (1e3, -7.0)
    ]
    assert found[0].keys() == found[1].keys()
    for name, value in found[0].items():
        torch.testing.assert_close(value, found[1][name], msg=name)


def _gradients(model: nn.Module, config: Config, batch: Batch) -> dict[str, Tensor]:
    """Of the first objective, and its terms; random draws are the same in every call."""
    torch.manual_seed(1)
    model.zero_grad()
    objective = stage_one_objective(model, VOCABULARY, config.loss)
    objective.train_mode()
    losses = objective.losses(batch)
    losses.total.backward()
    parameters = objective.parameters().items()
    return {
        **{f"loss {name}": value.detach() for name, value in losses.terms.items()},
        **{name: one.grad.clone() for name, one in parameters if one.grad is not None},
    }


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_acts_in_training_only(kind: str) -> None:
    model = small_model(kind)
    features, mask = torch.randn(1, 30, N_FEATURES), torch.ones(1, 30, dtype=torch.bool)

    def logits() -> Tensor:
        return as_frame_model(model).encode(features, mask).logits.detach()

    model.eval()
    torch.testing.assert_close(logits(), logits())
    model.train()
    assert not torch.allclose(logits(), logits())


@pytest.mark.parametrize(("kind", "changes"), VARIANTS)
def test_checkpoints_come_back(kind: str, changes: dict[str, object], tmp_path: Path) -> None:
    model = small_model(kind, **changes)
    path, card = tmp_path / "model.safetensors", _card(kind, model)
    features, mask = torch.randn(1, 9, N_FEATURES), torch.ones(1, 9, dtype=torch.bool)
    as_frame_model(model.train()).encode(features, mask)
    write_checkpoint(path, model_tensors(model), card)
    loaded, read = load_model(path)
    assert (read.kind, read.vocabulary) == (kind, VOCABULARY)
    assert loaded.dimensions == model.dimensions
    theirs, ours = (as_frame_model(one.eval()).encode(features, mask) for one in (loaded, model))
    for one, other in zip(outputs(theirs), outputs(ours), strict=True):
        torch.testing.assert_close(one, other)


def _card(kind: str, model: nn.Module) -> ModelCard:
    return ModelCard(kind, asdict(as_frame_model(model).dimensions), VOCABULARY)


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_another_width_are_refused(kind: str) -> None:
    with pytest.raises(InputError, match=r"this model takes \(B, T, 5\)"):
        as_frame_model(small_model(kind)).encode(
            torch.zeros(1, 3, 6), torch.ones(1, 3, dtype=torch.bool)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_broken_off_resumes_to_equal_weights_and_every_weight_learns(
    kind: str, tiny: Dataset, tmp_path: Path
) -> None:
    config = small(kind)
    train(tiny, tmp_path / "whole", config=config, split=1)
    with pytest.raises(StopError):
        train(tiny, tmp_path / "broken", config=config, split=1, watcher=StopAfter(1))
    early = load_file(tmp_path / "broken" / "last.safetensors")
    resume(tmp_path / "broken")
    whole, broken = (load_file(tmp_path / run / "best.safetensors") for run in ("whole", "broken"))
    assert whole.keys() == broken.keys()
    for name, value in whole.items():
        np.testing.assert_array_equal(value.numpy(), broken[name].numpy(), err_msg=name)
    model, _ = load_model(tmp_path / "whole" / "best.safetensors")
    still = [
        name
        for name, value in model.named_parameters()
        if torch.equal(early[f"model.{name}"], value)
    ]
    assert still == []


@pytest.fixture(scope="module")
def one_video(tiny_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Dataset]:
    """A dataset whose training side is a single video."""
    folder = tmp_path_factory.mktemp("one") / "data"
    shutil.copytree(tiny_path, folder)
    name = Dataset.open(tiny_path).side(1, "train")[0]
    (folder / "splits" / "train.split1.bundle").write_text(f"{name}.txt\n")
    return lambda: Dataset.open(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_learns_one_video_by_heart(
    kind: str, one_video: Callable[[], Dataset], tmp_path: Path
) -> None:
    dataset = one_video()
    (name,) = dataset.side(1, "train")
    changes = {
        **WITHOUT_DROPOUT,
        "model.width": 32,
        "model.n_stages": 2,
        "train.epochs": 60,
        "train.learning_rate": 5e-3,
        "train.schedule": "cosine",
        "train.scaling": True,
        "train.checkpoint_seconds": 60.0,
        "supervision.kind": "full",
        **BY_HEART.get(kind, {}),
    }
    run = train(dataset, tmp_path / "run", config=small(kind, **changes), split=1)
    video = dataset.video(name)
    found = uvast.load(run.path).frames(video.features).log_probabilities.argmax(-1)
    assert (found == video.labels).mean() > 0.9
