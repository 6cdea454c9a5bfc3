"""Dilated convolution over time on `(B, T, D)`, without transposing or unfolding."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from uvast.errors import ConfigError


class DilatedConvolution(nn.Module):
    """Convolution that keeps the length; frames outside the video count as zero.

    Args:
        width: D, of its input.
        dilation: frames from one tap of the kernel to the next.
        width_out: D', of its output; None for D.
        kernel: taps, an odd number.
    """

    def __init__(
        self, width: int, dilation: int, *, width_out: int | None = None, kernel: int = 3
    ) -> None:
        super().__init__()
        if kernel < 1 or kernel % 2 == 0:
            raise ConfigError(f"kernel is {kernel}", remedy="it must be odd and positive")
        n_out = width if width_out is None else width_out
        bound = 1 / math.sqrt(kernel * width)
        self.weight = nn.Parameter(torch.empty(kernel, width, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))
        self.dilation = dilation

    def forward(self, x: Tensor) -> Tensor:
        """`(B, T, D)` -> `(B, T, D')`; padding must be zero in `x`."""
        return dilated_convolution(x, self.weight, self.bias, self.dilation)


def dilated_convolution(x: Tensor, weight: Tensor, bias: Tensor, dilation: int) -> Tensor:
    """`y[t] = b + sum over k of x[t + (k - h) dilation] W[k]`, with h = (K - 1) / 2.

    Takes `x (B, T, D)`, `weight (K, D, D')` with odd K, and `bias (D',)`; dilation may exceed T.
    """
    return _DilatedConvolution.apply(x, weight, bias, dilation)  # type: ignore[no-any-return, no-untyped-call]


class _DilatedConvolution(torch.autograd.Function):
    """One product per tap, on shifted views, summed in place: nothing is copied or unfolded."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor, dilation: int) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x, weight)
        ctx.dilation = dilation
        half = len(weight) // 2
        y = functional.linear(x, weight[half].T, bias)
        for step in range(1, half + 1):
            shift = step * dilation
            _add_product(y[:, shift:], x[:, :-shift], weight[half - step])
            _add_product(y[:, :-shift], x[:, shift:], weight[half + step])
        return y

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx,
        gradient: Tensor,
    ) -> tuple[Tensor | None, Tensor, Tensor, None]:
        x, weight = ctx.saved_tensors
        half = len(weight) // 2
        d_x = torch.matmul(gradient, weight[half].T) if ctx.needs_input_grad[0] else None
        d_weight = torch.empty_like(weight)
        _outer(x, gradient, out=d_weight[half])
        for step in range(1, half + 1):
            shift = step * ctx.dilation
            early, late = gradient[:, :-shift], gradient[:, shift:]
            _outer(x[:, :-shift], late, out=d_weight[half - step])
            _outer(x[:, shift:], early, out=d_weight[half + step])
            if d_x is not None:
                _add_product(d_x[:, :-shift], late, weight[half - step].T)
                _add_product(d_x[:, shift:], early, weight[half + step].T)
        return d_x, d_weight, gradient.sum((0, 1)), None


def _add_product(out: Tensor, x: Tensor, weight: Tensor) -> None:
    """Adds `x (B, t, D) weight (D, D')` to `out (B, t, D')`."""
    if len(x) == 1:
        out[0].addmm_(x[0], weight)
    else:
        out.baddbmm_(x, weight.expand(len(x), -1, -1))


def _outer(x: Tensor, y: Tensor, *, out: Tensor) -> None:
    """Sum over videos and frames of `x[b, t]ᵀ y[b, t]` into `out (D, D')`."""
    if len(x) == 1:
        torch.mm(x[0].T, y[0], out=out)
    else:
        torch.sum(torch.bmm(x.transpose(1, 2), y), 0, out=out)
