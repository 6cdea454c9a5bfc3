"""Averages over neighbouring frames that stop at barriers (BCN's local barrier pooling)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def barrier_smooth(x: Tensor, barriers: Tensor, mask: Tensor | None, window: int) -> Tensor:
    """Averages `x` over the `window` frames (odd) around each; barriers lower a frame's weight.

    A neighbour's weight is `exp(-h)`, where h is the sum of the barriers from the frame to it. The
    barrier at a frame stands between it and the one before. Frames outside the video and padding
    have no effect.

    Sums over 1, 2, 4, … frames are made by doubling, so that time and memory grow with T log window
    and every factor is at most 1: no sum over the whole video loses digits.

    Args:
        x: `(B, T, C)`, finite.
        barriers: heights of at least 0 `(B, T)`.
        mask: valid frames `(B, T)`; None if all are.
        window: frames, the middle one included.

    Returns:
        `(B, T, C)`, zero on padding.
    """
    counts = x.new_ones(x.shape[:2]) if mask is None else mask.to(x.dtype)
    counted = torch.cat((x * counts.unsqueeze(2), counts.unsqueeze(2)), dim=2)  # (B, T, C + 1)
    passing = (-barriers).exp().unsqueeze(2)
    # What follows a frame comes before it in the reversed video, where the barrier before a frame
    # is the one that stood after it.
    backwards = passing.roll(-1, dims=1).flip(1)
    sums = _sums_of_past(
        torch.cat((counted, counted.flip(1))), torch.cat((passing, backwards)), window // 2 + 1
    )
    past, future = sums.chunk(2)
    total = past + future.flip(1) - counted  # the frame itself is in both
    # A valid frame counts itself as 1; the clamp is for padding, whose count may be 0.
    return total[..., :-1] * (counts.unsqueeze(2) / total[..., -1:].clamp(min=0.5))


def _sums_of_past(x: Tensor, passing: Tensor, n_frames: int) -> Tensor:
    """`y[t] = x[t] + p[t] x[t - 1] + p[t] p[t - 1] x[t - 2] + …`, over `n_frames` frames.

    Takes `x (B, T, C)` and `passing (B, T, 1)`; adds up the powers of 2 that make up `n_frames`.
    """
    power, through, width = x, passing, 1  # sums of `width` frames, what passes their barriers
    total, total_through, n_total = torch.zeros_like(x), torch.ones_like(passing), 0
    while width <= n_frames:
        if n_frames & width:
            total = total + total_through * _later(power, n_total)
            total_through = total_through * _later(through, n_total)
            n_total += width
        power = power + through * _later(power, width)
        through = through * _later(through, width)
        width *= 2
    return total


def _later(x: Tensor, n_frames: int) -> Tensor:
    """`x (B, T, C)` delayed by `n_frames`, with zeros first."""
    n_frames = min(n_frames, x.shape[1])
    return functional.pad(x[:, : x.shape[1] - n_frames], (0, 0, n_frames, 0))
