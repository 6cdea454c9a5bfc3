"""Augmentation of a batch on its device: gains, noise, and masked spans of frames."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

    from uvast.data import Batch

SPAN = 20
"""Frames that are masked together."""

N_GAINS = 9
"""Points in a video at which gains are drawn; they are linear in between."""


def augment(
    batch: Batch,
    *,
    noise: float,
    masking: float,
    channel_warp: float = 0.0,
    mask_token: Tensor | None = None,
) -> Batch:
    """Augments the features `(B, T, F)` of a training batch, which are already scaled.

    Each channel gets a gain that drifts over the video; the standard deviation of its logarithm is
    `channel_warp`. White noise has `noise` times the standard deviation of each channel. A share
    `masking` of the frames, in spans, becomes 0, or `mask_token (F,)`, which then gets gradients.
    """
    if not noise and not masking and not channel_warp:
        return batch
    features = batch.features
    if channel_warp:
        features = features * _gains(features, channel_warp)
    if noise:
        deviation = _deviation(features, batch.mask)
        features = features + noise * deviation * torch.randn_like(features)
    if masking:
        kept = _span_mask(features, masking)
        features = features * kept
        if mask_token is not None:
            features = features + (1 - kept) * batch.mask[..., None] * mask_token
    return dataclasses.replace(batch, features=features)


def _gains(features: Tensor, deviation: float) -> Tensor:
    """Gains of each video's channels `(B, T, F)`: log-normal, and slowly drifting."""
    n_videos, n_frames, n_features = features.shape
    knots = torch.randn(n_videos, n_features, N_GAINS, device=features.device)
    curves = functional.interpolate(knots, n_frames, mode="linear", align_corners=True)
    return (deviation * curves).exp().transpose(1, 2)


def _deviation(features: Tensor, mask: Tensor) -> Tensor:
    """The standard deviation of each channel over a video's valid frames `(B, 1, F)`."""
    valid = mask[..., None].to(features.dtype)
    n_frames = valid.sum(1, keepdim=True)
    mean = (features * valid).sum(1, keepdim=True) / n_frames
    squares = ((features - mean) * valid).square().sum(1, keepdim=True)
    return (squares / n_frames).sqrt()


def _span_mask(features: Tensor, share: float) -> Tensor:
    """A mask `(B, T, 1)`, 0 on random spans; they may overlap and add up to about `share`."""
    n_videos, n_frames, _ = features.shape
    starts = torch.rand(n_videos, n_frames + SPAN - 1, device=features.device) < share / SPAN
    dark = starts.float().unfold(1, SPAN, 1).amax(-1)  # (B, T)
    return (1 - dark)[..., None]
