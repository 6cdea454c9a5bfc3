"""Attention of the decoders: over all frames, over a transcript, and from one to the other."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from uvast.models.layers import dropout

MOST_WEIGHTS = 2**23
"""The most weights stored, 32 MB, where nobody wants them; a fused kernel never stores more."""


class SelfAttention(nn.Module):
    """Attention of a sequence to itself; the fused kernel never stores the matrix of weights.

    With dropout (`rate` above 0) it is stored in training, so the rate is 0 for sequences of
    frames.
    """

    def __init__(self, width: int, n_heads: int, rate: float) -> None:
        super().__init__()
        self.project, self.restore = _projections(width)
        self.n_heads = n_heads
        self.rate = rate

    def forward(self, x: Tensor, mask: Tensor | None = None, *, causal: bool = False) -> Tensor:
        """Sequence `(B, L, D)`, valid entries `(B, L)` or None -> `(B, L, D)`."""
        queries, keys, values = self._project(x)
        out = functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=None if mask is None else mask[:, None, None, :],
            dropout_p=self.rate if self.training else 0.0,
            is_causal=causal,
        )
        return self._restore(out)

    def _project(self, x: Tensor) -> tuple[Tensor, ...]:
        """`(B, L, D)` -> queries, keys and values `(B, n_heads, L, d)`."""
        n, length, _ = x.shape
        parts = self.project(x).view(n, length, 3, self.n_heads, -1)
        return tuple(part.transpose(1, 2) for part in parts.unbind(2))

    def _restore(self, out: Tensor) -> Tensor:
        """`(B, n_heads, L, d)` -> `(B, L, D)`."""
        return self.restore(out.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class CrossAttention(nn.Module):
    """Attention of a short sequence (L tokens) to a long memory (T frames), with its weights.

    The projections of keys and values are applied on the short side: with `k = Wk m`, the score
    `q · k` is `(Wkᵀ q) · m`, and the weighted sum of `Wv m` is `Wv` of the weighted sum. So the
    memory is never projected and serves all layers as it is. The bias of the keys shifts all scores
    of a query alike, which the softmax ignores. The weights have dropout at `rate`.
    """

    def __init__(self, width: int, n_heads: int, rate: float) -> None:
        super().__init__()
        self.project, self.restore = _projections(width)
        self.n_heads = n_heads
        self.rate = rate

    def forward(
        self,
        x: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        *,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Attends from `x (B, L, D)` to a memory, whose B may be 1 to serve all of `x`.

        Keys `(B, T, D)` are scored where the mask `(B, T)` is true, values `(B, T, D)` averaged.
        Returns `(B, L, D)`, and the weights `(B, n_heads, L, T)` before dropout; if they are not
        needed, perhaps None.
        """
        queries = self._queries(x)
        n_weights = queries.shape[:3].numel() * keys.shape[1]
        is_free = not (need_weights or self.training or torch.is_grad_enabled())
        if is_free and n_weights > MOST_WEIGHTS:
            return self._attended(queries, keys, values, mask), None
        return self._weighted(queries, keys, values, mask)

    def _queries(self, x: Tensor) -> Tensor:
        """What scores the memory, from tokens `(B, L, D)`: `(B, n_heads, L, D)`."""
        n, length, width = x.shape
        depth = width // self.n_heads
        query_weight, key_weight, _ = self.project.weight.chunk(3)
        query_bias, _, _ = self.project.bias.chunk(3)
        queries = functional.linear(x, query_weight, query_bias) / math.sqrt(depth)
        queries = queries.view(n, length, self.n_heads, depth).transpose(1, 2)
        return queries @ key_weight.view(self.n_heads, depth, width)

    def _attended(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> Tensor:
        """The output `(B, L, D)` of queries `(B, n_heads, L, D)`, without their weights."""
        keys, values = (
            one.unsqueeze(1).expand(len(queries), self.n_heads, -1, -1) for one in (keys, values)
        )
        averages = functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=None if mask is None else mask[:, None, None, :],
            scale=1.0,
        )
        return self._restored(averages, torch.ones_like(averages[..., :1]))

    def _weighted(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The output of queries `(B, n_heads, L, D)`, and their weights."""
        scores = _shared_product(queries, keys.transpose(1, 2))  # (B, n_heads, L, T)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None, :], -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        dropped = dropout(weights, self.rate, self.training)
        averages = _shared_product(dropped, values)  # (B, n_heads, L, D)
        return self._restored(averages, dropped.sum(-1, keepdim=True)), weights

    def _restored(self, averages: Tensor, totals: Tensor) -> Tensor:
        """The output `(B, L, D)` of averaged memories, whose weights sum to the totals.

        They are `(B, n_heads, L, D)` and `(B, n_heads, L, 1)`.
        """
        width = averages.shape[-1]
        depth = width // self.n_heads
        value_weight, value_bias = self.project.weight[2 * width :], self.project.bias[2 * width :]
        out = averages @ value_weight.view(self.n_heads, depth, width).transpose(1, 2)
        out = out + totals * value_bias.view(self.n_heads, 1, depth)
        return self.restore(out.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


def _projections(width: int) -> tuple[nn.Linear, nn.Linear]:
    """To queries, keys and values, and back from the heads."""
    project, restore = nn.Linear(width, 3 * width), nn.Linear(width, width)
    nn.init.xavier_uniform_(project.weight)
    nn.init.zeros_(project.bias)
    nn.init.zeros_(restore.bias)
    return project, restore


def _shared_product(x: Tensor, memory: Tensor) -> Tensor:
    """`x (B, n_heads, L, M) memory (B or 1, M, M')` -> `(B, n_heads, L, M')`."""
    n, n_heads, length, _ = x.shape
    if len(memory) == 1:
        return (x.flatten(0, 2) @ memory[0]).view(n, n_heads, length, -1)
    return torch.bmm(x.flatten(1, 2), memory).view(n, n_heads, length, -1)
