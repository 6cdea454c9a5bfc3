"""The transcript decoder, one token at a time.

A token's cost is the number of operator calls, not their arithmetic: so weights that follow one
another are multiplied once for a video, and a layer is left with some twenty calls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

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


class Affine(NamedTuple):
    """`x @ weight + bias`, laid out for one call.

    Args:
        weight: `(D, D')`.
        bias: `(D',)`.
    """

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """`(B, D)` -> `(B, D')`."""
        return torch.addmm(self.bias, x, self.weight)

    @classmethod
    def of(cls, linear: nn.Linear) -> Affine:
        """A linear layer's weights."""
        return cls(linear.weight.t().contiguous(), linear.bias)


@dataclass(frozen=True)
class LayerWeights:
    """A decoder layer's weights, folded where one product follows another.

    With `k = Wk m`, the score `q · k` of a frame `m` is `(Wkᵀ Wq x) · m`, and the output is
    `Wo Wv` of the averaged frames: the memory is never projected.

    Args:
        project: to queries (scaled), keys and values of self-attention `(D, 3 D)`.
        restore: self-attention's output layer.
        query: to what the memory is scored by, `(D, n_heads D)`.
        value: from averaged memories to cross-attention's output, `(n_heads D, D)`.
        expand: feed-forward, first half.
        contract: feed-forward, second half.
        norms: weight and bias of the three layer norms.
        epsilon: theirs.
    """

    project: Affine
    restore: Affine
    query: Affine
    value: Affine
    expand: Affine
    contract: Affine
    norms: tuple[tuple[Tensor, Tensor], ...]
    epsilon: float

    @classmethod
    def fold(cls, layer: TranscriptDecoderLayer) -> LayerWeights:
        """From a layer."""
        attention = layer.self_attention
        width = attention.restore.weight.shape[0]
        scale = torch.ones(3 * width, dtype=attention.restore.weight.dtype).to(
            attention.restore.weight.device
        )
        scale[:width] = 1 / math.sqrt(width // attention.n_heads)
        project = Affine.of(attention.project)
        query, value = _folded_memory(layer.cross_attention)
        norms = [cast("nn.LayerNorm", norm) for norm in layer.norms]
        return cls(
            project=Affine(project.weight * scale, project.bias * scale),
            restore=Affine.of(attention.restore),
            query=query,
            value=value,
            expand=Affine.of(layer.feed_forward.expand),
            contract=Affine.of(layer.feed_forward.contract),
            norms=tuple((norm.weight, norm.bias) for norm in norms),
            epsilon=norms[0].eps,
        )


def _folded_memory(attention: CrossAttention) -> tuple[Affine, Affine]:
    width = attention.restore.weight.shape[0]
    heads = (attention.n_heads, width // attention.n_heads, width)
    query, key, value = (part.view(heads) for part in attention.project.weight.chunk(3))
    query_bias, _, value_bias = attention.project.bias.chunk(3)
    scale = 1 / math.sqrt(heads[1])
    restore = attention.restore.weight.view(width, *heads[:2]).transpose(0, 1)  # (h, D, d)
    scored = key.transpose(1, 2) @ query * scale  # (h, D, D)
    scored_bias = key.transpose(1, 2) @ query_bias.view(*heads[:2], 1) * scale
    return (
        Affine(scored.flatten(0, 1).t().contiguous(), scored_bias.flatten()),
        Affine(
            (restore @ value).transpose(1, 2).flatten(0, 1).contiguous(),
            attention.restore.weight @ value_bias + attention.restore.bias,
        ),
    )


@dataclass(frozen=True)
class DecoderState:
    """Where the decoder is in its transcripts, one for each of B sequences.

    Args:
        keys: the memory that cross-attention scores `(B or 1, T, D)`.
        values: the memory that it averages `(B or 1, T, D)`.
        mask: valid frames `(B or 1, T)`, None when all are.
        weights: of each layer.
        caches: a layer's self-attention keys and values `(B, n_heads, n_tokens, d)`.
        positions: encodings of the positions `0, 1, …`, `(P, D)`, P above `n_tokens`.
        n_tokens: tokens seen so far.
        features: the last layer's output for the last token `(B, D)`; None before the first.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor | None
    weights: tuple[LayerWeights, ...]
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
            weights=tuple(LayerWeights.fold(layer) for layer in layers),
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
    x: Tensor, past: tuple[Tensor, Tensor], weights: LayerWeights, state: DecoderState
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """One more token `(B, D)` -> `(B, D)` and the longer cache."""
    attended, cache = _attend_past(x, past, weights)
    first, second, third = weights.norms
    shape, epsilon = x.shape[1:], weights.epsilon
    x = torch.layer_norm(x + attended, shape, *first, epsilon)
    x = torch.layer_norm(x + _attend_memory(x, weights, state), shape, *second, epsilon)
    hidden = functional.gelu(weights.expand(x))
    return torch.layer_norm(x + weights.contract(hidden), shape, *third, epsilon), cache


def _attend_past(
    x: Tensor, past: tuple[Tensor, Tensor], weights: LayerWeights
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    n, n_heads, _, depth = past[0].shape
    query, key, value = weights.project(x).view(n, 3, n_heads, 1, depth).unbind(1)
    keys, values = torch.cat((past[0], key), 2), torch.cat((past[1], value), 2)
    queries = query.reshape(n * n_heads, 1, depth)
    scores = torch.bmm(queries, keys.flatten(0, 1).transpose(1, 2))
    out = torch.bmm(torch.softmax(scores, -1), values.flatten(0, 1)).view(n, -1)
    return weights.restore(out), (keys, values)


def _attend_memory(x: Tensor, weights: LayerWeights, state: DecoderState) -> Tensor:
    """`(B, D)` -> `(B, D)`."""
    n, width = x.shape
    queries = weights.query(x).view(-1, width)  # (B n_heads, D)
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
    return weights.value(averages.reshape(n, -1))
