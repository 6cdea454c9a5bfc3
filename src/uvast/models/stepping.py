"""The transcript decoder, one token at a time.

A token's cost is the number of operator calls, not their arithmetic: so weights that follow one
another are multiplied once for a video, and a layer is left with some twenty calls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from uvast.models.layers import sinusoidal_positions

if TYPE_CHECKING:
    from torch import nn

    from uvast.models.attention import CrossAttention
    from uvast.models.transcript_decoder import TranscriptDecoderLayer

POSITIONS = 64
"""Positions computed at a time."""


@dataclass(frozen=True)
class CrossWeights:
    """Cross-attention with the projections of the memory folded into those of the token.

    With `k = Wk m`, the score `q · k` is `(Wkᵀ Wq x) · m`, and the output `Wo Wv` of the averaged
    memory.

    Args:
        query: `(D, n_heads D)`, scaled; with its bias it gives what the memory is scored by.
        query_bias: `(n_heads D,)`.
        value: `(n_heads D, D)`, from averaged memories to the output.
        value_bias: `(D,)`.
    """

    query: Tensor
    query_bias: Tensor
    value: Tensor
    value_bias: Tensor

    @classmethod
    def fold(cls, attention: CrossAttention) -> CrossWeights:
        """From a layer's weights."""
        width = attention.restore.weight.shape[0]
        heads = (attention.n_heads, width // attention.n_heads, width)
        query, key, value = (part.view(heads) for part in attention.project.weight.chunk(3))
        query_bias, _, value_bias = attention.project.bias.chunk(3)
        scale = 1 / math.sqrt(heads[1])
        restore = attention.restore.weight.view(width, *heads[:2]).transpose(0, 1)  # (h, D, d)
        folded = key.transpose(1, 2) @ query * scale  # (h, D, D)
        folded_bias = key.transpose(1, 2) @ query_bias.view(*heads[:2], 1) * scale
        return cls(
            query=folded.flatten(0, 1).t().contiguous(),
            query_bias=folded_bias.flatten(),
            value=(restore @ value).transpose(1, 2).flatten(0, 1).contiguous(),
            value_bias=attention.restore.weight @ value_bias + attention.restore.bias,
        )


@dataclass(frozen=True)
class DecoderState:
    """Where the decoder is in its transcripts, one for each of B sequences.

    Args:
        keys: the memory that cross-attention scores `(B or 1, T, D)`.
        values: the memory that it averages `(B or 1, T, D)`.
        mask: valid frames `(B or 1, T)`, None when all are.
        weights: folded weights of each layer.
        caches: a layer's self-attention keys and values `(B, n_heads, n_tokens, d)`.
        positions: encodings of the positions `0, 1, …`, `(P, D)`, P above `n_tokens`.
        n_tokens: tokens seen so far.
        features: the last layer's output for the last token `(B, D)`; None before the first.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor | None
    weights: tuple[CrossWeights, ...]
    caches: tuple[tuple[Tensor, Tensor], ...]
    positions: Tensor
    n_tokens: int = 0
    features: Tensor | None = None

    @classmethod
    def begin(
        cls,
        layers: tuple[TranscriptDecoderLayer, ...],
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
    ) -> DecoderState:
        """The state before the first token of B transcripts."""
        n, _, width = values.shape
        n_heads = layers[0].self_attention.n_heads
        nothing = values.new_empty((n, n_heads, 0, width // n_heads))
        return cls(
            keys=keys,
            values=values,
            mask=mask,
            weights=tuple(CrossWeights.fold(layer.cross_attention) for layer in layers),
            caches=((nothing, nothing),) * len(layers),
            positions=sinusoidal_positions(0, POSITIONS, width, values),
        )

    def select(self, indices: Tensor) -> DecoderState:
        """The state of the sequences `indices (B',)`, in that order; repeats are welcome.

        The memory of a single video is shared by all its sequences and is never copied.
        """
        keys, values, mask = self.keys, self.values, self.mask
        if len(keys) > 1:
            keys = keys.index_select(0, indices)
            values = keys if values is self.keys else values.index_select(0, indices)
            mask = None if mask is None else mask.index_select(0, indices)
        return replace(
            self,
            keys=keys,
            values=values,
            mask=mask,
            caches=tuple(
                (past_keys.index_select(0, indices), past_values.index_select(0, indices))
                for past_keys, past_values in self.caches
            ),
            features=None if self.features is None else self.features.index_select(0, indices),
        )

    def after(self, caches: tuple[tuple[Tensor, Tensor], ...], features: Tensor) -> DecoderState:
        """The state with one more token."""
        n_tokens, positions = self.n_tokens + 1, self.positions
        if n_tokens == len(positions):
            more = sinusoidal_positions(n_tokens, n_tokens, positions.shape[1], positions)
            positions = torch.cat((positions, more))
        return replace(
            self, caches=caches, positions=positions, n_tokens=n_tokens, features=features
        )


def step_layer(
    layer: TranscriptDecoderLayer,
    x: Tensor,
    past: tuple[Tensor, Tensor],
    weights: CrossWeights,
    state: DecoderState,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """One more token `(B, D)` -> `(B, D)` and the longer cache."""
    attended, cache = _attend_past(layer, x, past)
    x = _norm(layer.norms[0], x + attended)
    x = _norm(layer.norms[1], x + _attend_memory(x, weights, state))
    expand, contract = layer.feed_forward.expand, layer.feed_forward.contract
    hidden = functional.gelu(functional.linear(x, expand.weight, expand.bias))
    x = _norm(layer.norms[2], x + functional.linear(hidden, contract.weight, contract.bias))
    return x, cache


def _attend_past(
    layer: TranscriptDecoderLayer, x: Tensor, past: tuple[Tensor, Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    attention = layer.self_attention
    n, n_heads, _, depth = past[0].shape
    parts = functional.linear(x, attention.project.weight, attention.project.bias)
    query, key, value = parts.view(n, 3, n_heads, 1, depth).unbind(1)
    keys, values = torch.cat((past[0], key), 2), torch.cat((past[1], value), 2)
    scores = torch.bmm(
        query.reshape(n * n_heads, 1, depth), keys.flatten(0, 1).transpose(1, 2)
    ).mul_(1 / math.sqrt(depth))
    out = torch.bmm(torch.softmax(scores, -1), values.flatten(0, 1)).view(n, -1)
    restored = functional.linear(out, attention.restore.weight, attention.restore.bias)
    return restored, (keys, values)


def _attend_memory(x: Tensor, weights: CrossWeights, state: DecoderState) -> Tensor:
    """`(B, D)` -> `(B, D)`."""
    n, width = x.shape
    queries = torch.addmm(weights.query_bias, x, weights.query).view(-1, width)  # (B n_heads, D)
    if len(state.keys) == 1:
        scores = queries @ state.keys[0].t()  # (B n_heads, T)
        if state.mask is not None:
            scores = scores.masked_fill_(~state.mask, -torch.inf)
        averages = torch.softmax(scores, -1) @ state.values[0]
    else:
        scores = torch.bmm(queries.view(n, -1, width), state.keys.transpose(1, 2))
        if state.mask is not None:
            scores = scores.masked_fill_(~state.mask[:, None], -torch.inf)
        averages = torch.bmm(torch.softmax(scores, -1), state.values)
    return torch.addmm(weights.value_bias, averages.reshape(n, -1), weights.value)


def _norm(norm: nn.Module, x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[1:], norm.weight, norm.bias, norm.eps)  # type: ignore[arg-type]
