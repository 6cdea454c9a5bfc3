"""Gains, noise and dark spans."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from uvast.data import Batch, Dataset, collate
from uvast.training.augmentation import N_GAINS, augment


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


def dark(batch: Batch, token: torch.Tensor | None) -> torch.Tensor:
    torch.manual_seed(0)
    return augment(batch, noise=0.0, masking=0.8, mask_token=token).features


def test_dark_frames_are_the_token_which_gradients_reach(tiny: Dataset) -> None:
    videos = sorted((tiny.video(name) for name in tiny.names), key=lambda one: one.n_frames)
    batch = collate([videos[0], videos[-1]])
    token = torch.arange(1.0, 7.0, requires_grad=True)
    zeros, shown = dark(batch, None), dark(batch, token)
    hidden = (zeros == 0).all(-1) & batch.mask
    assert 0 < hidden.sum() < batch.mask.sum()
    assert torch.equal(shown[hidden], token.expand(int(hidden.sum()), -1))
    assert torch.equal(shown[~hidden], zeros[~hidden])
    assert (shown[~batch.mask] == 0).all()
    shown.sum().backward()
    assert token.grad.tolist() == [float(hidden.sum())] * 6


def test_a_token_of_zeros_is_no_token(tiny: Dataset) -> None:
    batch = collate([tiny.video(tiny.names[0])])
    assert torch.equal(dark(batch, None), dark(batch, torch.zeros(6)))


def test_gains_drift_smoothly_and_differ_by_channel_and_video(tiny: Dataset) -> None:
    video = tiny.video(tiny.names[0])
    ones = collate([replace(video, features=np.ones_like(video.features))] * 2)
    torch.manual_seed(0)
    gains = augment(ones, noise=0.0, masking=0.0, channel_warp=0.5).features
    logarithms = gains.log()
    assert (gains > 0).all()
    assert 0.2 < logarithms.std() < 0.7
    bends = (logarithms.diff(n=2, dim=1).abs() > 1e-4).sum(1)
    assert bends.max() <= 2 * (N_GAINS - 2)  # linear in between
    assert (gains[0, 0] != gains[1, 0]).all()
    assert len(set(gains[0, 0].tolist())) == gains.shape[-1]
    assert augment(ones, noise=0.0, masking=0.0) is ones
