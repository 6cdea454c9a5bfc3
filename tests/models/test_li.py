"""Li et al.'s network: its size, its two towers, its preset."""

from __future__ import annotations

import pytest
import torch

from uvast.config import ModelConfig, load_config
from uvast.models.build import build_model
from uvast.models.convolution import DilatedConvolution

SMALL = ModelConfig(kind="li", width=8, n_encoder_layers=3, n_stages=3)


@pytest.mark.parametrize("n_classes", [11, 19, 48])
def test_the_preset_has_the_layers_of_the_paper(n_classes: int) -> None:
    model = build_model(load_config("li").model, n_features=2048, n_classes=n_classes)
    narrow, wide = (kernel * 64 * 64 + 64 + 64 * 64 + 64 for kernel in (3, 5))
    ends = 2 * (2048 * 64 + 64) + 3 * (n_classes * 64 + 64) + 5 * (64 * n_classes + n_classes)
    assert sum(one.numel() for one in model.parameters()) == ends + 40 * narrow + 10 * wide
    kernels = [len(one.weight) for one in model.modules() if isinstance(one, DilatedConvolution)]
    assert kernels == [3] * 10 + [5] * 10 + [3] * 30


def test_the_preset_has_the_published_settings() -> None:
    config = load_config("li")
    assert (config.loss.smoothing, config.loss.confidence) == (0.15, 0.075)
    train, supervision = config.train, config.supervision
    assert (train.learning_rate, train.batch_size, train.epochs) == (5e-4, 8, 50)
    assert (supervision.kind, supervision.method) == ("timestamps", "clicks")
    assert (supervision.refresh_after, supervision.refresh_every) == (30, 1)
    assert supervision.refresh_by == "energy"
    assert load_config("li", settings=["model.kind=li"]) == config


def test_the_towers_are_summed_and_refined() -> None:
    torch.manual_seed(0)
    model = build_model(SMALL, n_features=5, n_classes=4).eval()
    features = torch.randn(2, 20, 5)
    first = model.encode(features, None).earlier[0]
    narrow, wide = (tower(features, None) for tower in model.prediction.towers)
    torch.testing.assert_close(first.features, narrow[0] + wide[0])
    torch.testing.assert_close(first.logits, narrow[1] + wide[1])
    # far frames are seen through both towers: dilations 1, 2, 4 reach 7 and 14 frames
    changed = features.clone()
    changed[:, 0] += 1
    other = model.encode(changed, None).earlier[0].logits
    moved = (other - first.logits).abs().amax((0, 2)) > 1e-6
    assert moved[:15].all()
    assert not moved[15:].any()


def test_every_weight_learns() -> None:
    torch.manual_seed(0)
    model = build_model(SMALL, n_features=5, n_classes=4)
    stages = model.encode(torch.randn(2, 30, 5), None).stages
    sum(one.logits.square().mean() for one in stages).backward()
    assert all(one.grad.any() for one in model.parameters())
