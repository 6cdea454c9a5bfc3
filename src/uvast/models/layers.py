"""Small parts that every network shares: dropout, activations, positions, the input layer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Zeroes entries of `x` at `rate` and scales the others up.

    One draw of 64 random bits serves 8 or 4 entries, an order of magnitude cheaper on a CPU than a
    draw for each. The rate is a multiple of 1/256 where that is exact, else of 1/65536.
    """
    if not training or rate == 0:
        return x
    kind, n_bits = (torch.int8, 8) if (rate * 256).is_integer() else (torch.int16, 16)
    levels = 2**n_bits
    n_dropped = min(round(rate * levels), levels - 1)
    n_draws = -(-x.numel() * n_bits // 64)
    draws = torch.empty(n_draws, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    bits = draws.view(kind)[: x.numel()].view(x.shape)
    return _Dropout.apply(x, bits, n_dropped - levels // 2, levels / (levels - n_dropped))  # type: ignore[no-any-return, no-untyped-call]


class _Dropout(torch.autograd.Function):
    """`x * (bits >= threshold) * scale`; keeps one or two bytes per entry for the backward pass."""

    @staticmethod
    def forward(ctx, x: Tensor, bits: Tensor, threshold: int, scale: float) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(bits)
        ctx.threshold, ctx.scale = threshold, scale
        return _drop(x, bits, threshold, scale)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[no-untyped-def]
        (bits,) = ctx.saved_tensors
        return _drop(gradient, bits, ctx.threshold, ctx.scale), None, None, None


def _drop(x: Tensor, bits: Tensor, threshold: int, scale: float) -> Tensor:
    # Compared as floats, in place: multiplying by booleans would convert them, slowly.
    return bits.to(x.dtype).ge_(threshold).mul_(x).mul_(scale)


def sinusoidal_positions(first: int, n_positions: int, width: int, like: Tensor) -> Tensor:
    """Sinusoidal encodings `(n_positions, width)` of positions `first`, `first + 1`, ….

    Sines and cosines alternate, wavelengths grow from 2π to 10000·2π (Vaswani et al. 2017).
    Computed on demand, so that no transcript is too long. Type and device are those of `like`.
    """
    position = torch.arange(first, first + n_positions, device=like.device, dtype=torch.float32)
    channel = torch.arange(0, width, 2, device=like.device, dtype=torch.float32)
    angle = position[:, None] * torch.exp(channel * (-math.log(10000.0) / width))
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).to(like.dtype)


class InputProjection(nn.Module):
    """Linear layer F -> D after channel dropout.

    Dropping a channel of the input is the same as dropping a column of the weight, which is far
    smaller: the `(T, F)` input is read once, never copied, and may be a transposed view.
    """

    def __init__(self, n_features: int, width: int, channel_dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(n_features, width)
        self.channel_dropout = channel_dropout

    def forward(self, features: Tensor) -> Tensor:
        """Features `(B, T, F)` -> `(B, T, D)`."""
        weight, bias = self.linear.weight, self.linear.bias
        if not self.training or self.channel_dropout == 0:
            return functional.linear(features, weight, bias)
        n_videos, _, n_features = features.shape
        keep = dropout(weight.new_ones((n_videos, 1, n_features)), self.channel_dropout, True)
        weights = weight * keep  # (B, D, F)
        if n_videos == 1:
            return functional.linear(features[0], weights[0], bias).unsqueeze(0)
        return torch.baddbmm(bias, features, weights.transpose(1, 2))


class FeedForward(nn.Module):
    """Linear D -> hidden, GELU, dropout, linear hidden -> D."""

    def __init__(self, width: int, hidden: int, rate: float) -> None:
        super().__init__()
        self.expand = nn.Linear(width, hidden)
        self.contract = nn.Linear(hidden, width)
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """`(…, D)` -> `(…, D)`."""
        hidden = dropout(functional.gelu(self.expand(x)), self.rate, self.training)
        return self.contract(hidden)  # type: ignore[no-any-return]


def video_mean(values: Tensor, valid: Tensor) -> Tensor:
    """Mean over a video's valid entries `(B, N)`, 0 if there are none, then over videos `()`."""
    return (values.where(valid, 0.0).sum(1) / valid.sum(1).clamp(min=1)).mean()
