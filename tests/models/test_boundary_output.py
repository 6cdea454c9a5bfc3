"""What `uvast` gives beyond its published outputs: boundaries, and stages of refinement."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from uvast.config import ModelConfig
from uvast.models.build import build_model
from uvast.models.checkpoint import ModelCard, load_model, model_tensors, write_checkpoint
from uvast.models.protocols import gives_boundaries
from uvast.vocabulary import Vocabulary

ENCODERS = ("uvast", "asformer", "plain")


def padded(videos):
    lengths = torch.tensor([len(one) for one in videos])
    features = torch.nn.utils.rnn.pad_sequence(videos, batch_first=True, padding_value=1e3)
    return features, torch.arange(features.shape[1]) < lengths[:, None]


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_video_alone_is_the_same_as_in_a_padded_batch(small_model, encoder):
    model = small_model(encoder=encoder, boundary_output=True, n_refinement_stages=2).eval()
    videos = [torch.randn(n, 7) for n in (1, 21, 50)]
    with torch.no_grad():
        together = model.encode(*padded(videos))
        for index, one in enumerate(videos):
            alone = model.encode(one[None], None)
            found = together.boundaries[index, : len(one)]
            torch.testing.assert_close(found, alone.boundaries[0], atol=1e-5, rtol=1e-5)
            for batch, single in zip(together.stages, alone.stages, strict=True):
                logits = batch.logits[index, : len(one)]
                torch.testing.assert_close(logits, single.logits[0], atol=1e-5, rtol=1e-5)


def test_without_them_the_model_is_as_it_was(small_model):
    plain, more = small_model(), small_model(boundary_output=True, n_refinement_stages=1)
    names = plain.state_dict().keys()
    added = more.state_dict().keys() - names
    assert not names - more.state_dict().keys()
    assert {name.partition(".")[0] for name in added} == {"boundary", "refinements"}
    more.load_state_dict({**more.state_dict(), **plain.state_dict()})
    features = torch.randn(1, 30, 7)
    one, other = plain.eval().encode(features, None), more.eval().encode(features, None)
    assert (one.boundaries, one.earlier) == (None, ())
    torch.testing.assert_close(other.earlier[0].logits, one.logits)
    torch.testing.assert_close(other.features, one.features)
    assert not torch.allclose(other.logits, one.logits)
    assert (gives_boundaries(plain), gives_boundaries(more)) == (False, True)


def test_every_weight_of_them_learns(small_model):
    model = small_model(boundary_output=True, n_refinement_stages=2)
    encoded = model.encode(torch.randn(1, 30, 7), None)
    (encoded.logits.square().mean() + encoded.boundaries.square().mean()).backward()
    own = {n: p for n, p in model.named_parameters() if n.startswith(("boundary", "refinements"))}
    assert len(own) > 4
    assert all(p.grad is not None and p.grad.any() for p in own.values())


def test_settings_build_it_and_checkpoints_come_back(tmp_path):
    config = ModelConfig(
        width=8, attention_width=4, n_encoder_layers=3, boundary_output=True, refinement_stages=2
    )
    model = build_model(config, n_features=5, n_classes=2).eval()
    assert len(model.refinements) == 2
    card = ModelCard("uvast", dataclasses.asdict(model.dimensions), Vocabulary(("a", "b")))
    write_checkpoint(tmp_path / "model.safetensors", model_tensors(model), card)
    loaded, _ = load_model(tmp_path / "model.safetensors")
    features = torch.randn(1, 9, 5)
    ours, theirs = model.encode(features, None), loaded.encode(features, None)
    torch.testing.assert_close(theirs.boundaries, ours.boundaries)
    torch.testing.assert_close(theirs.logits, ours.logits)
    plain = build_model(ModelConfig(), n_features=5, n_classes=2).dimensions
    assert (plain.boundary_output, plain.n_refinement_stages) == (False, None)
