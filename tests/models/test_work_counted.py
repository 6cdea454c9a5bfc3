"""The work that benchmarks/model_steps.py counts, against a count by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from uvast.models.ms_tcn import MsTcnDimensions, ms_tcn

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("n_videos", [1, 3])
def test_every_product_of_ms_tcn_is_counted_once(
    n_videos: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "machine", raising=False)
    from machine import count_flop

    features, classes, width, n_layers, n_stages, n_frames = 7, 3, 4, 5, 2, 20
    model = ms_tcn(MsTcnDimensions(features, classes, width, n_layers, n_stages, dropout=0.0))
    x = torch.randn(n_videos, n_frames, features)
    mask = torch.ones(n_videos, n_frames, dtype=torch.bool)

    def step() -> None:
        stages = model.train().encode(x, mask).stages
        torch.stack([one.logits.square().sum() for one in stages]).sum().backward()

    # a kernel of three sees each frame, and its neighbours where there are any
    seen = sum(n_frames + 2 * max(0, n_frames - 2**layer) for layer in range(n_layers))
    layers = width * width * (seen + n_layers * n_frames)
    stage = layers + n_frames * width * classes
    forward = n_stages * stage + n_frames * (features * width + (n_stages - 1) * classes * width)
    # backward: gradients of inputs and of weights, but the features have none
    whole = 3 * forward - n_frames * features * width
    assert count_flop(step) == 2 * n_videos * whole
