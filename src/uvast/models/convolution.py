"""Dilated convolution over time, kernel 3, on `(B, T, D)` without transposing or unfolding."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional


class DilatedConvolution(nn.Module):
    """Convolution of kernel 3 that keeps the length; frames outside the video count as zero."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(3 * width)
        self.weight = nn.Parameter(torch.empty(3, width, width).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(width).uniform_(-bound, bound))
        self.dilation = dilation

    def forward(self, x: Tensor) -> Tensor:
        """`(B, T, D)` -> `(B, T, D)`; padding must be zero in `x`."""
        return dilated_convolution(x, self.weight, self.bias, self.dilation)


def dilated_convolution(x: Tensor, weight: Tensor, bias: Tensor, dilation: int) -> Tensor:
    """`y[t] = b + x[t - dilation] W[0] + x[t] W[1] + x[t + dilation] W[2]`.

    Of `x (B, T, D)`, `weight (3, D, D')` and `bias (D',)`; the dilation may exceed T.
    """
    return _DilatedConvolution.apply(x, weight, bias, dilation)  # type: ignore[no-any-return, no-untyped-call]


class _DilatedConvolution(torch.autograd.Function):
    """Three products of shifted views, accumulated in place: nothing is copied or unfolded."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor, dilation: int) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x, weight)
        ctx.dilation = dilation
        y = functional.linear(x, weight[1].T, bias)
        _add_product(y[:, dilation:], x[:, :-dilation], weight[0])
        _add_product(y[:, :-dilation], x[:, dilation:], weight[2])
        return y

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx,
        gradient: Tensor,
    ) -> tuple[Tensor | None, Tensor, Tensor, None]:
        x, weight = ctx.saved_tensors
        dilation: int = ctx.dilation
        early, late = gradient[:, :-dilation], gradient[:, dilation:]
        d_weight = torch.stack(
            (
                _outer(x[:, :-dilation], late),
                _outer(x, gradient),
                _outer(x[:, dilation:], early),
            )
        )
        d_x = None
        if ctx.needs_input_grad[0]:
            d_x = torch.matmul(gradient, weight[1].T)
            _add_product(d_x[:, :-dilation], late, weight[0].T)
            _add_product(d_x[:, dilation:], early, weight[2].T)
        return d_x, d_weight, gradient.sum((0, 1)), None


def _add_product(out: Tensor, x: Tensor, weight: Tensor) -> None:
    """Adds `x (B, t, D) weight (D, D')` to `out (B, t, D')`."""
    if len(x) == 1:
        out[0].addmm_(x[0], weight)
    else:
        out.baddbmm_(x, weight.expand(len(x), -1, -1))


def _outer(x: Tensor, y: Tensor) -> Tensor:
    """Sum over videos and frames of `x[b, t]ᵀ y[b, t]`: `(D, D')`."""
    if len(x) == 1:
        return x[0].T @ y[0]
    return torch.bmm(x.transpose(1, 2), y).sum(0)
