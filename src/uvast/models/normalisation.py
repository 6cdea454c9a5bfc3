"""Instance normalisation over time: each channel of each video, over its valid frames only."""

from __future__ import annotations

import torch
from torch import Tensor

EPSILON = 1e-5


def instance_norm(x: Tensor, mask: Tensor | None) -> Tensor:
    """Shifts and scales each channel of `x (B, T, D)` to mean 0, variance 1 over valid frames.

    They are `mask (B, T)`, None when all are. Padding, and a video of one frame, become zero.
    """
    n_videos, n_frames, _ = x.shape
    if n_videos == 1 and n_frames > 1 and mask is None:
        # One video's statistics over time are batch norm's over a batch of frames. (Batch norm
        # scales before it shifts, so a single frame would leave its rounding error, not zero.)
        return torch.batch_norm(
            x[0], None, None, None, None, True, 0.0, EPSILON, torch.backends.cudnn.enabled
        ).unsqueeze(0)
    weights = x.new_ones(x.shape[:2]) if mask is None else mask.to(x.dtype)
    return _InstanceNorm.apply(x, weights)  # type: ignore[no-any-return, no-untyped-call]


class _InstanceNorm(torch.autograd.Function):
    """Norm with weights 1 on valid frames and 0 on padding; sums over time are matrix products."""

    @staticmethod
    def forward(ctx, x: Tensor, weights: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        average = (weights / weights.sum(1, keepdim=True).clamp(min=1)).unsqueeze(1)  # (B, 1, T)
        centred = (x - average @ x).mul_(weights.unsqueeze(2))
        scale = (average @ centred.square() + EPSILON).rsqrt_()  # (B, 1, D)
        y = centred.mul_(scale)
        ctx.save_for_backward(y, scale, average, weights)
        return y

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        y, scale, average, weights = ctx.saved_tensors
        shift = average @ gradient
        slope = average @ (gradient * y)
        return (gradient - shift - y * slope).mul_(scale).mul_(weights.unsqueeze(2)), None
