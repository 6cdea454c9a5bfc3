"""Noise and dark spans."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from uvast.data import Dataset, collate
from uvast.training.augmentation import augment


def test_noise_does_not_depend_on_padding(tiny: Dataset) -> None:
    videos = sorted((tiny.video(name) for name in tiny.names), key=lambda one: one.n_frames)
    short, long = videos[0], videos[-1]
    assert short.n_frames < long.n_frames
    noise = []
    for batch in (collate([short]), collate([short, long])):
        generator = torch.Generator().manual_seed(0)
        draws = torch.randn((short.n_frames, short.features.shape[1]), generator=generator)

        def same_draws(like: torch.Tensor, draws: torch.Tensor = draws) -> torch.Tensor:
            out = torch.zeros_like(like)
            out[0, : len(draws)] = draws
            return out

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "randn_like", same_draws)
            noisy = augment(batch, noise=0.5, masking=0.0).features[0, : short.n_frames]
        noise.append((noisy - torch.as_tensor(short.features)).numpy())
    np.testing.assert_allclose(noise[0], noise[1], rtol=1e-4, atol=1e-6)
