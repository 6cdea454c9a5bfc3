"""Average pooling over time, at a cost that grows with the logarithm of its window."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def smooth(memory: Tensor, mask: Tensor | None, window: int | None) -> Tensor:
    """Averages `memory (B, T, D)` over the valid frames among the `window` around each.

    A score is linear in its key, so average-pooling the scores along T is the same as scoring
    pooled keys, which are made once for all layers, heads and tokens. Without a mask `(B, T)` all
    frames are valid. The window is odd; None leaves the memory as it is.
    """
    if window is None or window == 1:
        return memory
    n_frames = memory.shape[1]
    weights = memory.new_ones((1, n_frames)) if mask is None else mask.to(memory.dtype)
    weights = weights.unsqueeze(2)  # (B or 1, T, 1)
    # Padding far from any valid frame has no neighbours; the clamp avoids dividing by 0.
    n_neighbours = window_sum(weights, window).clamp_(min=1)
    return _Smooth.apply(memory, weights, n_neighbours, window)  # type: ignore[no-any-return, no-untyped-call]


def window_sum(x: Tensor, window: int) -> Tensor:
    """Sums `x (B, T, D)` over the `window` frames (odd) around each; frames outside count as 0.

    Sums of 1, 2, 4, … frames are made by doubling, and the window is put together from those in its
    binary digits. No running sum over all of T: its rounding error would grow with T.
    """
    n_frames, half = x.shape[1], window // 2
    power = functional.pad(x, (0, 0, half, half))  # entry t sums `width` frames from t - half on
    total = power[:, :n_frames].clone()
    offset = width = 1
    while 2 * width <= window:
        power = power[:, :-width] + power[:, width:]
        width *= 2
        if window & width:
            total += power[:, offset : offset + n_frames]
            offset += width
    return total


class _Smooth(torch.autograd.Function):
    """Weighted window sum over the count of neighbours; the sum is its own adjoint."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx,
        memory: Tensor,
        weights: Tensor,
        n_neighbours: Tensor,
        window: int,
    ) -> Tensor:
        ctx.save_for_backward(weights, n_neighbours)
        ctx.window = window
        return window_sum(memory * weights, window).div_(n_neighbours)

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx,
        gradient: Tensor,
    ) -> tuple[Tensor, None, None, None]:
        weights, n_neighbours = ctx.saved_tensors
        return window_sum(gradient / n_neighbours, ctx.window).mul_(weights), None, None, None
