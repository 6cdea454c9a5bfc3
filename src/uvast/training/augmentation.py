"""Augmentation of a batch on its device: noise, and spans of frames that go dark."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from uvast.data import Batch

SPAN = 20
"""Frames that go dark together."""


def augment(batch: Batch, *, noise: float, masking: float) -> Batch:
    """Changes the features `(B, T, F)` of a training batch.

    White noise has a deviation of `noise` times that of each channel; a share `masking` of the
    frames becomes 0, in spans.
    """
    if not noise and not masking:
        return batch
    features = batch.features
    if noise:
        deviation = _deviation(features, batch.mask)
        features = features + noise * deviation * torch.randn_like(features)
    if masking:
        features = features * _span_mask(features, masking)
    return dataclasses.replace(batch, features=features)


def _deviation(features: Tensor, mask: Tensor) -> Tensor:
    """Of each video's channels over its valid frames `(B, 1, F)`."""
    valid = mask[..., None].to(features.dtype)
    n_frames = valid.sum(1, keepdim=True)
    mean = (features * valid).sum(1, keepdim=True) / n_frames
    squares = ((features - mean) * valid).square().sum(1, keepdim=True)
    return (squares / n_frames).sqrt()


def _span_mask(features: Tensor, share: float) -> Tensor:
    """`(B, T, 1)`, 0 on random spans: a span starts at a frame with the fitting probability."""
    n_videos, n_frames, _ = features.shape
    starts = torch.rand(n_videos, n_frames + SPAN - 1, device=features.device) < share / SPAN
    dark = starts.float().unfold(1, SPAN, 1).amax(-1)  # (B, T)
    return (1 - dark)[..., None]
