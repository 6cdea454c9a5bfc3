"""Window attention: a query sees a stretch of frames around it, at a cost linear in T.

With window w, the frames are cut into blocks of w. Two readings of the paper
(docs/method.md, "Frame encoder"):

- `neighbourhood`: every query of a block sees the block and w // 2 frames on either side of it;
- `band`: query i sees the keys j with |i - j| <= w // 2.

Both are computed on tiles: runs of queries (a block, or several small blocks together) with the
stretch of keys that any of them sees. Neighbouring tiles of equal shape are one batched product on
overlapping views of the keys, so that keys are never copied and no score outside the tiles is
computed. The scores of one product are bounded; only a backward pass needs all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from uvast.config import WindowKind

SMALLEST_TILE = 64
"""The fewest queries in a tile: smaller windows share a tile, under a mask."""

MOST_SCORES = 2**23
"""The most scores in one product of tiles, 32 MB: all those of an ordinary video."""


@dataclass(frozen=True)
class TileRun:
    """Neighbouring tiles of equal shape.

    Tile i of the run has the queries `[start + i size, start + (i + 1) size)` and the keys
    `[key_start + i size, key_start + i size + n_keys)`.
    """

    start: int
    n_tiles: int
    size: int
    key_start: int
    n_keys: int


def tile_size(window: int) -> int:
    """Queries in a tile, a multiple of the window."""
    return window * -(-SMALLEST_TILE // window)


@lru_cache(maxsize=1024)
def tile_runs(
    n_frames: int, window: int, n: int = 1, most_scores: int = MOST_SCORES
) -> tuple[TileRun, ...]:
    """Cuts `n_frames` queries into runs of tiles; keys never leave `[0, n_frames)`.

    A run has `most_scores` scores at most for `n` rows of queries together, or a single tile.
    """
    size = tile_size(window)
    halo = window // 2
    runs: list[TileRun] = []
    start = 0
    while start < n_frames:
        stop = min(start + size, n_frames)
        key_start, key_stop = max(start - halo, 0), min(stop + halo, n_frames)
        run = TileRun(start, 1, stop - start, key_start, key_stop - key_start)
        last = runs[-1] if runs else None
        if (
            last is not None
            and (last.size, last.n_keys) == (run.size, run.n_keys)
            and last.key_start + last.n_tiles * size == key_start
            and n * (last.n_tiles + 1) * run.size * run.n_keys <= most_scores
        ):
            runs[-1] = TileRun(last.start, last.n_tiles + 1, last.size, last.key_start, last.n_keys)
        else:
            runs.append(run)
        start = stop
    return tuple(runs)


@lru_cache(maxsize=256)
def _tile_bias(
    size: int,
    n_keys: int,
    halo: int,
    window: int,
    kind: WindowKind,
    dtype: torch.dtype,
    device: torch.device,
) -> Tensor | None:
    """`(size, n_keys)`: 0 where a query sees a key, else very negative; None if all see all.

    The first query starts a block and is key number `halo`, so that equal tiles of all videos
    share a bias.
    """
    query = torch.arange(size, device=device)[:, None]
    key = torch.arange(n_keys, device=device) - halo
    if kind == "band":
        visible = (query - key).abs() <= window // 2
    else:
        block = query // window * window
        visible = (key >= block - window // 2) & (key < block + window + window // 2)
    if bool(visible.all()):
        return None
    return torch.zeros(visible.shape, dtype=dtype, device=device).masked_fill_(
        ~visible, _hidden(dtype)
    )


def _hidden(dtype: torch.dtype) -> float:
    """The score of a hidden key: finite, so that a query that sees no key does not give NaN."""
    return torch.finfo(dtype).min / 4


def window_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    window: int,
    kind: WindowKind,
    mask: Tensor | None = None,
) -> Tensor:
    """Softmax attention within windows of w frames, `(N, T, d)` each; N counts videos and heads.

    No query sees keys outside the valid frames, `mask (N, T)`, None when all are. The output of a
    query that sees no valid key is arbitrary.
    """
    return _WindowAttention.apply(queries, keys, values, window, kind, mask)  # type: ignore[no-any-return, no-untyped-call]


def _tiles(x: Tensor, start: int, run: TileRun, length: int) -> Tensor:
    """Tiles of `x (N, T, d)` from `start` on, `run.size` apart: `(N n_tiles, length, d)`."""
    n, _, width = x.shape
    batch, time, channel = x.stride()
    tiles = x[:, start:].as_strided(
        (n, run.n_tiles, length, width),
        (batch, run.size * time, time, channel),
        x.storage_offset() + start * time,
    )
    return tiles.reshape(n * run.n_tiles, length, width)


class _WindowAttention(torch.autograd.Function):
    """Keeps the attention weights, T times a few windows, for a backward pass in closed form.

    Without one, they are freed run by run.
    """

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        window: int,
        kind: WindowKind,
        mask: Tensor | None,
    ) -> Tensor:
        n, n_frames, width = queries.shape
        out = torch.empty((n, n_frames, width), dtype=queries.dtype, device=queries.device)
        scale = 1 / math.sqrt(width)
        runs = tile_runs(n_frames, window, n, MOST_SCORES)
        padding = None
        if mask is not None:
            # Added, not filled in: broadcast additions are vectorised.
            padding = torch.zeros_like(mask, dtype=queries.dtype)
            padding = padding.masked_fill_(~mask, _hidden(queries.dtype)).unsqueeze(2)  # (N, T, 1)
        saved = []
        is_learning = any(ctx.needs_input_grad)
        for run in runs:
            halo = run.start - run.key_start
            bias = _tile_bias(
                run.size, run.n_keys, halo, window, kind, queries.dtype, queries.device
            )
            query = _tiles(queries, run.start, run, run.size)  # (N n_tiles, size, D)
            key = _tiles(keys, run.key_start, run, run.n_keys)  # (N n_tiles, n_keys, D)
            value = _tiles(values, run.key_start, run, run.n_keys)
            scores = torch.baddbmm(  # (N n_tiles, size, n_keys)
                query.new_zeros(()) if bias is None else bias,
                query,
                key.transpose(1, 2),
                beta=0 if bias is None else 1,
                alpha=scale,
            )
            if padding is not None:
                scores.add_(_tiles(padding, run.key_start, run, run.n_keys).transpose(1, 2))
            weights = torch.softmax(scores, dim=-1, out=scores)
            part = torch.bmm(weights, value)
            stop = run.start + run.n_tiles * run.size
            out[:, run.start : stop] = part.view(n, run.n_tiles * run.size, width)
            if is_learning:
                saved.append(weights)
        if is_learning:
            ctx.save_for_backward(queries, keys, values, out, *saved)
            ctx.runs = runs
        return out

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx,
        gradient: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        queries, keys, values, out, *saved = ctx.saved_tensors
        n, _, width = queries.shape
        scale = 1 / math.sqrt(width)
        d_queries = torch.empty_like(out)
        d_keys = torch.zeros_like(out)
        d_values = torch.zeros_like(out)
        delta = (gradient * out).sum(-1, keepdim=True)  # (N, T, 1)
        for run, weights in zip(ctx.runs, saved, strict=True):
            query = _tiles(queries, run.start, run, run.size)
            key = _tiles(keys, run.key_start, run, run.n_keys)
            value = _tiles(values, run.key_start, run, run.n_keys)
            d_out = _tiles(gradient, run.start, run, run.size)
            # d scores = weights * (d_out valuesᵀ - delta), the softmax's derivative.
            d_scores = torch.baddbmm(
                _tiles(delta, run.start, run, run.size), d_out, value.transpose(1, 2), beta=-1
            ).mul_(weights)
            stop = run.start + run.n_tiles * run.size
            d_query = torch.bmm(d_scores, key).mul_(scale)
            d_queries[:, run.start : stop] = d_query.view(n, run.n_tiles * run.size, width)
            _overlap_add(d_keys, torch.bmm(d_scores.transpose(1, 2), query).mul_(scale), run)
            _overlap_add(d_values, torch.bmm(weights.transpose(1, 2), d_out), run)
        return d_queries, d_keys, d_values, None, None, None


def _overlap_add(total: Tensor, tiles: Tensor, run: TileRun) -> None:
    """Adds `tiles (N n_tiles, n_keys, d)` to `total (N, T, d)`, each at its place."""
    n, _, width = total.shape
    tiles = tiles.view(n, run.n_tiles, run.n_keys, width)
    own = min(run.size, run.n_keys)
    # Tiles are `size` apart and at most twice as long: own parts and overhangs are each disjoint.
    for first, last in ((0, own), (own, run.n_keys)):
        if first < last:
            place = total[:, run.key_start + first :].as_strided(
                (n, run.n_tiles, last - first, width),
                (total.stride(0), run.size * width, width, 1),
                total.storage_offset() + (run.key_start + first) * width,
            )
            place.add_(tiles[:, :, first:last])


class WindowAttention(nn.Module):
    """Projections around `window_attention`: D -> 3 attention_width, and back to D.

    The attention width counts all heads; the activation comes before the projection back.
    """

    def __init__(
        self,
        width: int,
        attention_width: int,
        n_heads: int,
        window: int,
        kind: WindowKind,
        activation: nn.Module,
    ) -> None:
        super().__init__()
        self.project = nn.Linear(width, 3 * attention_width)
        self.restore = nn.Linear(attention_width, width)
        self.activation = activation
        self.n_heads = n_heads
        self.window = window
        self.kind: WindowKind = kind

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Frames `(B, T, D)`, valid ones `(B, T)` -> `(B, T, D)`."""
        return self.restore(self.activation(self._attend(x, mask)))  # type: ignore[no-any-return]

    def _attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """`(B, T, D)` -> `(B, T, attention_width)`."""
        n_videos, n_frames, _ = x.shape
        if self.window == 1:
            # A frame that sees only itself has weight 1: the attention is its value.
            weight, bias = self.project.weight.chunk(3)[2], self.project.bias.chunk(3)[2]
            return functional.linear(x, weight, bias)
        parts = self.project(x).view(n_videos, n_frames, 3, self.n_heads, -1)
        queries, keys, values = (
            part.transpose(1, 2).flatten(0, 1) for part in parts.unbind(2)
        )  # (B n_heads, T, d)
        if mask is not None and self.n_heads > 1:
            mask = mask.repeat_interleave(self.n_heads, dim=0)
        out = window_attention(queries, keys, values, self.window, self.kind, mask)
        return out.view(n_videos, self.n_heads, n_frames, -1).transpose(1, 2).flatten(2)
