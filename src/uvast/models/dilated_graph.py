"""Graphs of three frames, `t - d`, `t` and `t + d`, over the whole video at once.

Each frame is the centre of one graph and an outer node of up to two others. All graphs of a layer
are a few operations on shifted views of the frames: linear in T, nothing is unfolded.

Pairs of nodes are numbered row by row: entry `3 i + j` of `(…, 9)` is what node j gives to node i.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

N_PAIRS = 9
LEAST_SQUARE = 1e-6
"""The smallest squared norm of a frame to divide by: frames of zeros have cosines of zero."""
REACH = 2
"""How many dilations away a frame still receives from: two outer nodes of one graph."""


def missing_pairs(mask: Tensor | None, n_frames: int, dilation: int, like: Tensor) -> Tensor:
    """The pairs of each graph that do not exist `(B or 1, T, 9)`, on the device of `like`.

    A node outside the video does not exist; the graph of a padding frame is that frame alone.
    """
    valid = like.new_ones((1, n_frames), dtype=torch.bool) if mask is None else mask
    before = _later(valid, dilation) & valid
    after = functional.pad(valid[:, dilation:], (0, min(dilation, n_frames))) & valid
    nodes = torch.stack((before, torch.ones_like(valid), after), dim=2)
    return ~(nodes.unsqueeze(3) & nodes.unsqueeze(2)).flatten(2)


def cosines(x: Tensor, dilation: int) -> Tensor:
    """Cosine of every pair of nodes, `(B, T, D)` -> `(B, T, 9)`; 0 where a node is missing."""
    unit = x * x.square().sum(2, keepdim=True).clamp(min=LEAST_SQUARE).rsqrt()
    near, far = _Neighbours.apply(unit, dilation)  # type: ignore[no-untyped-call]
    own, before, around = torch.ones_like(near), _later(near, dilation), _later(far, dilation)
    return torch.stack((own, before, around, before, own, near, around, near, own), dim=2)


def spread(x: Tensor, adjacency: Tensor, dilation: int) -> Tensor:
    """What a frame receives as a node of its graphs, summed over them.

    Args:
        x: frames `(B, T, D)`.
        adjacency: of G kinds of graph `(G, B, T, 9)`, 0 where a node is missing.
        dilation: d.

    Returns:
        `(G, B, T, D)`.
    """
    return _Spread.apply(x, adjacency, dilation)  # type: ignore[no-any-return, no-untyped-call]


def _later(x: Tensor, n_frames: int) -> Tensor:
    """`x (B, T)` delayed by `n_frames`, with 0 or False first."""
    return functional.pad(x[:, :-n_frames], (min(n_frames, x.shape[1]), 0))


class _Neighbours(torch.autograd.Function):
    """Products of each frame `(B, T, D)` with those one and two dilations later, `(B, T)` each.

    They are 0 where there is no later frame.
    """

    @staticmethod
    def forward(ctx, x: Tensor, dilation: int) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
        ctx.save_for_backward(x)
        ctx.dilation = dilation
        near, far = x.new_zeros((2, *x.shape[:2]))
        for out, step in ((near, dilation), (far, 2 * dilation)):
            torch.sum(x[:, :-step] * x[:, step:], 2, out=out[:, :-step])
        return near, far

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        (x,) = ctx.saved_tensors
        d_x = torch.zeros_like(x)
        for gradient, step in zip(gradients, (ctx.dilation, 2 * ctx.dilation), strict=True):
            slope = gradient[:, :-step].unsqueeze(2)
            d_x[:, :-step].addcmul_(x[:, step:], slope)
            d_x[:, step:].addcmul_(x[:, :-step], slope)
        return d_x, None


class _Spread(torch.autograd.Function):
    """`y[g, s] = Σ_k band[g, s, k] x[s + k d]` for k = -2 … 2.

    The band collects a frame's rows of the three adjacencies it is in: of its own graph as the
    centre, of the graph at `s + d` as the first node, of that at `s - d` as the last.
    """

    @staticmethod
    def forward(ctx, x: Tensor, adjacency: Tensor, dilation: int) -> Tensor:  # type: ignore[no-untyped-def]
        band = adjacency.new_zeros((*adjacency.shape[:3], 2 * REACH + 1))
        band[..., 1:4] = adjacency[..., 3:6]
        band[:, :, :-dilation, 2:] += adjacency[:, :, dilation:, :3]
        band[:, :, dilation:, :3] += adjacency[:, :, :-dilation, 6:]
        ctx.save_for_backward(x, band)
        ctx.dilation = dilation
        y = x * band[..., REACH, None]
        for k, here, there in _shifts(dilation):
            y[:, :, here].addcmul_(x[:, there], band[:, :, here, k, None])
        return y

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[no-untyped-def]
        x, band = ctx.saved_tensors
        dilation: int = ctx.dilation
        d_band = torch.zeros_like(band)
        d_band[..., REACH] = (gradient * x).sum(3)
        d_x = (gradient * band[..., REACH, None]).sum(0)
        for k, here, there in _shifts(dilation):
            d_band[:, :, here, k] = (gradient[:, :, here] * x[:, there]).sum(3)
            for slopes, own in zip(gradient, band, strict=True):
                d_x[:, there].addcmul_(slopes[:, here], own[:, here, k, None])
        d_adjacency = band.new_zeros((*band.shape[:3], N_PAIRS))
        d_adjacency[..., 3:6] = d_band[..., 1:4]
        d_adjacency[:, :, dilation:, :3] = d_band[:, :, :-dilation, 2:]
        d_adjacency[:, :, :-dilation, 6:] = d_band[:, :, dilation:, :3]
        return d_x, d_adjacency, None


def _shifts(dilation: int) -> list[tuple[int, slice, slice]]:
    """The band's entries but the middle one: index, frames that receive, frames that they read."""
    found = []
    for k in range(1, REACH + 1):
        early, late = slice(None, -k * dilation), slice(k * dilation, None)
        found += [(REACH + k, early, late), (REACH - k, late, early)]
    return found
