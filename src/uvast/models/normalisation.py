"""Normalisation over valid frames only: of each video by itself, or of a whole batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

EPSILON = 1e-5
MOMENTUM = 0.1


def instance_norm(x: Tensor, mask: Tensor | None) -> Tensor:
    """Shifts and scales each channel of `x (B, T, D)` to mean 0, variance 1 over valid frames.

    Valid frames are `mask (B, T)`, None when all are. Padding and videos of one frame become zero.
    """
    n_videos, n_frames, _ = x.shape
    if n_videos == 1 and n_frames > 1 and mask is None:
        # One video's statistics over time are batch norm's over a batch of frames. (Batch norm
        # scales before it shifts, so a single frame would leave its rounding error, not zero.)
        return torch.batch_norm(
            x[0], None, None, None, None, True, 0.0, EPSILON, torch.backends.cudnn.enabled
        ).unsqueeze(0)
    weights = x.new_ones(x.shape[:2]) if mask is None else mask.to(x.dtype)
    return _MaskedNorm.apply(x, weights)[0]  # type: ignore[no-any-return, no-untyped-call]


class BatchNorm(nn.Module):
    """Batch norm that ignores padding: it does not enter the statistics and stays zero.

    In training, each channel gets mean 0 and variance 1 over all valid frames of the batch; the
    running statistics, which replace those of the batch in eval mode, follow them. A batch of a
    single frame has no variance: it is normalised as in eval mode and changes no statistics.

    With several processes, each normalises by its own videos; the running statistics are averaged
    after every step (`uvast.training.distributed`).
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_var", torch.ones(width))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Frames `(B, T, D)`, valid ones `(B, T)` or None if all are -> `(B, T, D)`."""
        is_learning = self.training and x.shape[0] * x.shape[1] > 1
        if is_learning and mask is not None:
            return self._masked(x, mask)
        y = functional.batch_norm(
            x.flatten(0, 1),
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            training=is_learning,
            momentum=MOMENTUM,
            eps=EPSILON,
        ).view_as(x)
        return y if mask is None else y * mask.unsqueeze(2).to(y.dtype)

    def _masked(self, x: Tensor, mask: Tensor) -> Tensor:
        weights = mask.to(x.dtype)
        # The frames of a batch are one long video.
        y, mean, variance = _MaskedNorm.apply(  # type: ignore[no-untyped-call]
            x.flatten(0, 1).unsqueeze(0), weights.view(1, -1)
        )
        n_valid = weights.sum()
        with torch.no_grad():
            self.running_mean.lerp_(mean.flatten(), MOMENTUM)
            unbiased = variance.flatten() * (n_valid / (n_valid - 1).clamp(min=1))
            self.running_var.lerp_(unbiased, MOMENTUM)
        shift = weights.unsqueeze(2) * self.bias
        return torch.addcmul(shift, y.view_as(x), self.weight)


class _MaskedNorm(torch.autograd.Function):
    """Norm with weights 1 on valid frames and 0 on padding; sums over time are matrix products.

    Returns `(B, T, D)`, and the means and variances `(B, 1, D)`, which have no gradient.
    """

    @staticmethod
    def forward(ctx, x: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[no-untyped-def]
        average = (weights / weights.sum(1, keepdim=True).clamp(min=1)).unsqueeze(1)  # (B, 1, T)
        mean = average @ x
        centred = (x - mean).mul_(weights.unsqueeze(2))
        variance = average @ centred.square()
        scale = (variance + EPSILON).rsqrt_()  # (B, 1, D)
        y = centred.mul_(scale)
        ctx.save_for_backward(y, scale, average, weights)
        ctx.mark_non_differentiable(mean, variance)
        return y, mean, variance

    @staticmethod
    def backward(ctx, gradient: Tensor, *_: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        y, scale, average, weights = ctx.saved_tensors
        shift = average @ gradient
        slope = average @ (gradient * y)
        return (gradient - shift - y * slope).mul_(scale).mul_(weights.unsqueeze(2)), None
