"""The transcript decoder, one token at a time, compiled for the host.

A token takes little arithmetic in many small steps: a tensor library's operator calls would cost
more than the arithmetic. So a step is one compiled function, run on the host whatever device the
network is on, and weights that follow one another are multiplied once per video.

The tuples of weights stay in this file: compiled code finds their fields by place, and its cache is
renewed only when the file of the kernels changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from uvast.kernels import kernel
from uvast.models.layers import sinusoidal_positions

if TYPE_CHECKING:
    from torch import Tensor, nn

    from uvast.models.attention import CrossAttention
    from uvast.models.transcript_decoder import TranscriptDecoder, TranscriptDecoderLayer
    from uvast.segments import IntArray

Array: TypeAlias = NDArray[np.floating]

vectorised = partial(kernel, may_reorder=True)

POSITIONS = 64
"""Positions computed at a time."""


class Affine(NamedTuple):
    """`x @ weight.T + bias`, of shapes `(D', D)` and `(D',)`."""

    weight: Array
    bias: Array

    @classmethod
    def of(cls, linear: nn.Linear) -> Affine:
        """A linear layer's weights."""
        return cls(_array(linear.weight), _array(linear.bias))


class Norm(NamedTuple):
    """A layer norm: weight `(D,)`, bias `(D,)`, and what keeps the variance above 0."""

    weight: Array
    bias: Array
    epsilon: float

    @classmethod
    def of(cls, norm: nn.Module) -> Norm:
        """A layer norm's weights."""
        weight, bias = norm.parameters()
        return cls(_array(weight), _array(bias), float(norm.eps))  # type: ignore[arg-type]


class LayerWeights(NamedTuple):
    """A decoder layer's weights, folded where one product follows another.

    With `k = Wk m`, the score `q · k` of a frame `m` is `(Wkᵀ Wq x) · m`, and the output is
    `Wo Wv` of the averaged frames: the memory is never projected.

    Args:
        project: D to queries (scaled), keys and values of self-attention, 3 D.
        restore: self-attention's output layer.
        query: D to the queries that score the memory, n_heads D.
        value: from averaged memories, n_heads D, to cross-attention's output, D.
        expand: feed-forward, first half.
        contract: feed-forward, second half.
        past_norm: after self-attention.
        memory_norm: after cross-attention.
        output_norm: after feed-forward.
    """

    project: Affine
    restore: Affine
    query: Affine
    value: Affine
    expand: Affine
    contract: Affine
    past_norm: Norm
    memory_norm: Norm
    output_norm: Norm

    @classmethod
    def fold(cls, layer: TranscriptDecoderLayer) -> LayerWeights:
        """The folded weights of a layer."""
        attention = layer.self_attention
        project = Affine.of(attention.project)
        width = len(project.bias) // 3
        scale = np.ones_like(project.bias)
        scale[:width] = 1 / math.sqrt(width // attention.n_heads)
        query, value = _folded_memory(layer.cross_attention)
        past_norm, memory_norm, output_norm = (Norm.of(norm) for norm in layer.norms)
        return cls(
            project=Affine(project.weight * scale[:, None], project.bias * scale),
            restore=Affine.of(attention.restore),
            query=query,
            value=value,
            expand=Affine.of(layer.feed_forward.expand),
            contract=Affine.of(layer.feed_forward.contract),
            past_norm=past_norm,
            memory_norm=memory_norm,
            output_norm=output_norm,
        )


def _folded_memory(attention: CrossAttention) -> tuple[Affine, Affine]:
    restore, restore_bias = _array(attention.restore.weight), _array(attention.restore.bias)
    width = len(restore)
    heads = (attention.n_heads, width // attention.n_heads, width)
    query, key, value = _array(attention.project.weight).reshape(3, *heads)
    query_bias, _, value_bias = _array(attention.project.bias).reshape(3, -1)
    keys = key.swapaxes(1, 2) / math.sqrt(heads[1])  # (h, D, d)
    scored = keys @ query  # (h, D, D)
    scored_bias = keys @ query_bias.reshape(*heads[:2], 1)
    restored = restore.reshape(width, *heads[:2]).swapaxes(0, 1) @ value  # (h, D, D)
    return (
        Affine(scored.reshape(-1, width), scored_bias.ravel()),
        Affine(restored.swapaxes(0, 1).reshape(width, -1), restore @ value_bias + restore_bias),
    )


@dataclass(frozen=True, eq=False)
class StepWeights:
    """Everything of a transcript decoder that a step reads.

    Embeddings of the tokens are `(C + 2, D)`; `classify (C + 1, D)` gives the next token's logits.
    """

    embeddings: Array
    layers: tuple[LayerWeights, ...]
    norm: Norm
    classify: Array

    @classmethod
    def of(cls, decoder: TranscriptDecoder) -> StepWeights:
        """The weights of a decoder."""
        return cls(
            embeddings=_array(decoder.embed.weight),
            layers=tuple(LayerWeights.fold(layer) for layer in decoder.typed_layers()),
            norm=Norm.of(decoder.norm),
            classify=_array(decoder.classify.weight),
        )


@dataclass(frozen=True, eq=False)
class DecoderState:
    """Where the decoder is in its transcripts, one per sequence (B of them).

    Args:
        weights: of the decoder.
        keys: the memory that cross-attention scores `(B or 1, T, D)`.
        values: the memory that it averages `(B or 1, T, D)`.
        padding: what hides frames in the scores, 0 or `-inf` `(B or 1, T)`.
        cache: keys and values of N layers' self-attention `(N, 2, B, n_heads, n_tokens, d)`.
        positions: encodings of the positions `0, 1, …`, `(P, D)`.
    """

    weights: StepWeights
    keys: Array
    values: Array
    padding: Array
    cache: Array
    positions: Array

    @classmethod
    @torch.inference_mode()
    def begin(
        cls, decoder: TranscriptDecoder, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> DecoderState:
        """The state before the first token: memory `(B, T, D)`, valid frames `(B, T)`."""
        memory = _array(values)
        n, n_frames, width = memory.shape
        n_heads = decoder.typed_layers()[0].self_attention.n_heads
        padding = np.zeros((n, n_frames), dtype=memory.dtype)
        if mask is not None:
            padding[mask.logical_not().cpu().numpy()] = -np.inf
        return cls(
            weights=StepWeights.of(decoder),
            keys=memory if keys is values else _array(keys),
            values=memory,
            padding=padding,
            cache=np.empty((len(decoder.layers), 2, n, n_heads, 0, width // n_heads), memory.dtype),
            positions=_positions(0, POSITIONS, memory),
        )

    @property
    def n_tokens(self) -> int:
        """Tokens seen so far."""
        return int(self.cache.shape[4])

    def select(self, indices: IntArray) -> DecoderState:
        """The state of the sequences `indices (B',)`, in that order; repeats are allowed.

        The memory of a single video is shared by all its sequences and is never copied.
        """
        keys, values, padding = self.keys, self.values, self.padding
        if len(keys) > 1:
            keys = keys[indices]
            values = keys if values is self.keys else values[indices]
            padding = padding[indices]
        cache = self.cache[:, :, indices]
        return replace(self, keys=keys, values=values, padding=padding, cache=cache)

    def step(self, tokens: IntArray) -> tuple[Array, DecoderState]:
        """Feeds `tokens (B,)`; returns the next ones' logits `(B, C + 1)` and the new state."""
        positions, weights = self.positions, self.weights
        if self.n_tokens == len(positions):
            more = _positions(self.n_tokens, self.n_tokens, positions)
            positions = np.concatenate((positions, more))
        x = weights.embeddings[tokens] + positions[self.n_tokens]  # (B, D)
        n_layers, _, n, n_heads, n_tokens, depth = self.cache.shape
        cache = np.empty((n_layers, 2, n, n_heads, n_tokens + 1, depth), x.dtype)
        cache[..., :n_tokens, :] = self.cache
        for layer, layer_cache in zip(weights.layers, cache, strict=True):
            x = _step(x, layer_cache, self.keys, self.values, self.padding, layer)
        logits = _normalised(x, np.zeros_like(x), weights.norm) @ weights.classify.T
        return logits, replace(self, cache=cache, positions=positions)


@vectorised
def _step(
    x: Array, cache: Array, keys: Array, values: Array, padding: Array, layer: LayerWeights
) -> Array:
    """One token through a layer: `(B, D)` -> `(B, D)`; its key and value enter the cache."""
    x = _normalised(x, _attend_past(x, cache, layer), layer.past_norm)
    x = _normalised(x, _attend_memory(x, keys, values, padding, layer), layer.memory_norm)
    hidden = _gelu(_affine(x, layer.expand))
    return _normalised(x, _affine(hidden, layer.contract), layer.output_norm)


@vectorised
def _attend_past(x: Array, cache: Array, layer: LayerWeights) -> Array:
    """`(B, D)` -> `(B, D)`; the newest token's key and value take the cache's last place."""
    _, n, n_heads, n_tokens, depth = cache.shape
    width = n_heads * depth
    projected = _affine(x, layer.project)
    attended = np.empty_like(x)
    visible = np.zeros(n_tokens, x.dtype)
    for b in range(n):
        for h in range(n_heads):
            first, last = h * depth, (h + 1) * depth
            query = projected[b, first:last]
            for d in range(depth):
                cache[0, b, h, n_tokens - 1, d] = projected[b, width + first + d]
                cache[1, b, h, n_tokens - 1, d] = projected[b, 2 * width + first + d]
            _attend(query, cache[0, b, h], cache[1, b, h], visible, attended[b, first:last])
    return _affine(attended, layer.restore)


@vectorised
def _attend_memory(
    x: Array, keys: Array, values: Array, padding: Array, layer: LayerWeights
) -> Array:
    """`(B, D)` -> `(B, D)`; one video's sequences share its memory."""
    n, width = x.shape
    queries = _affine(x, layer.query)
    averages = np.empty_like(queries)
    for b in range(n):
        m = min(b, len(keys) - 1)
        for first in range(0, queries.shape[1], width):
            query, average = queries[b, first : first + width], averages[b, first : first + width]
            _attend(query, keys[m], values[m], padding[m], average)
    return _affine(averages, layer.value)


@vectorised
def _attend(query: Array, keys: Array, values: Array, padding: Array, average: Array) -> None:
    """Fills `average (D,)`: values `(T, D)` weighted by softmax of query `(D,)` · keys `(T, D)`."""
    n_frames, width = keys.shape
    weights = padding.copy()
    for t in range(n_frames):
        for d in range(width):
            weights[t] += query[d] * keys[t, d]
    highest = weights.max()
    average[:] = 0
    total = average[0]
    for t in range(n_frames):
        weight = np.exp(weights[t] - highest)
        total += weight
        for d in range(width):
            average[d] += weight * values[t, d]
    average /= total


@vectorised
def _affine(x: Array, affine: Affine) -> Array:
    """`(B, D)` -> `(B, D')`."""
    weight, bias = affine.weight, affine.bias
    out = np.empty((len(x), len(bias)), x.dtype)
    for b in range(len(x)):
        for i in range(len(bias)):
            total = bias[i]
            for d in range(x.shape[1]):
                total += x[b, d] * weight[i, d]
            out[b, i] = total
    return out


@vectorised
def _gelu(x: Array) -> Array:
    """GELU in place, `(B, D)`."""
    kind = x.dtype.type  # a Python number would turn single into double precision
    half, one, root = kind(0.5), kind(1), kind(math.sqrt(0.5))
    for row in x:
        for d in range(len(row)):
            row[d] *= half * (one + math.erf(row[d] * root))
    return x


@vectorised
def _normalised(x: Array, update: Array, norm: Norm) -> Array:
    """Layer norm of `x + update`, both `(B, D)`."""
    out = np.empty_like(x)
    n, width = x.shape
    for b in range(n):
        mean = variance = 0.0
        for d in range(width):
            out[b, d] = x[b, d] + update[b, d]
            mean += out[b, d]
        mean /= width
        for d in range(width):
            variance += (out[b, d] - mean) ** 2
        scale = 1 / math.sqrt(variance / width + norm.epsilon)
        for d in range(width):
            out[b, d] = (out[b, d] - mean) * scale * norm.weight[d] + norm.bias[d]
    return out


def _positions(first: int, count: int, like: Array) -> Array:
    return _array(sinusoidal_positions(first, count, like.shape[-1], torch.from_numpy(like)))


def _array(tensor: Tensor) -> Array:
    """A contiguous array in the host's memory; copied only if it is not one already."""
    return np.ascontiguousarray(tensor.detach().cpu().numpy())
