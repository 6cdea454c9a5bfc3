"""The transcript decoder, one token at a time, in NumPy.

A token's cost is the number of calls, not their arithmetic. So it is paid where a call is cheapest,
on the host and without torch, whatever device the network is on; and weights that follow one
another are multiplied once for a video.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtr

from uvast.models.layers import sinusoidal_positions

if TYPE_CHECKING:
    from torch import Tensor, nn

    from uvast.models.attention import CrossAttention
    from uvast.models.transcript_decoder import TranscriptDecoder, TranscriptDecoderLayer
    from uvast.segments import IntArray

Array: TypeAlias = NDArray[np.floating]

POSITIONS = 64
"""Positions computed at a time."""


class Affine(NamedTuple):
    """`x @ weight + bias`.

    Args:
        weight: `(D, D')`.
        bias: `(D',)`.
    """

    weight: Array
    bias: Array

    def __call__(self, x: Array) -> Array:
        """`(B, D)` -> `(B, D')`."""
        out: Array = x @ self.weight
        out += self.bias
        return out

    @classmethod
    def of(cls, linear: nn.Linear) -> Affine:
        """A linear layer's weights."""
        return cls(_array(linear.weight).T, _array(linear.bias))


class Norm(NamedTuple):
    """A layer norm.

    Args:
        weight: `(D,)`.
        bias: `(D,)`.
        mean: what averages a row, `(D, 1)`: a product costs less than a sum along an axis.
        epsilon: keeps the variance above 0.
    """

    weight: Array
    bias: Array
    mean: Array
    epsilon: float

    def __call__(self, x: Array) -> Array:
        """`(B, D)` -> `(B, D)`."""
        out: Array = x - x @ self.mean
        out /= np.sqrt((out * out) @ self.mean + self.epsilon)
        out *= self.weight
        out += self.bias
        return out

    @classmethod
    def of(cls, norm: nn.LayerNorm) -> Norm:
        """A layer norm's weights."""
        weight = _array(norm.weight)
        mean = np.full((len(weight), 1), 1 / len(weight), dtype=weight.dtype)
        return cls(weight, _array(norm.bias), mean, norm.eps)


@dataclass(frozen=True, eq=False)
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
        norms: after self-attention, cross-attention and feed-forward.
    """

    project: Affine
    restore: Affine
    query: Affine
    value: Affine
    expand: Affine
    contract: Affine
    norms: tuple[Norm, ...]

    @classmethod
    def fold(cls, layer: TranscriptDecoderLayer) -> LayerWeights:
        """From a layer."""
        attention = layer.self_attention
        project = Affine.of(attention.project)
        width = len(project.weight)
        scale = np.ones(3 * width, dtype=project.weight.dtype)
        scale[:width] = 1 / math.sqrt(width // attention.n_heads)
        query, value = _folded_memory(layer.cross_attention)
        return cls(
            project=Affine(project.weight * scale, project.bias * scale),
            restore=Affine.of(attention.restore),
            query=query,
            value=value,
            expand=Affine.of(layer.feed_forward.expand),
            contract=Affine.of(layer.feed_forward.contract),
            norms=tuple(Norm.of(cast("nn.LayerNorm", norm)) for norm in layer.norms),
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
        Affine(_array(scored.flatten(0, 1)).T, _array(scored_bias.flatten())),
        Affine(
            _array((restore @ value).transpose(1, 2).flatten(0, 1)),
            _array(attention.restore.weight @ value_bias + attention.restore.bias),
        ),
    )


@dataclass(frozen=True, eq=False)
class StepWeights:
    """Everything of a transcript decoder that a step reads.

    Args:
        embeddings: of the tokens `(C + 2, D)`.
        layers: in their order.
        norm: of the last layer's output.
        classify: from there to the next token's logits, `(D, C + 1)`.
    """

    embeddings: Array
    layers: tuple[LayerWeights, ...]
    norm: Norm
    classify: Array

    @classmethod
    @torch.inference_mode()
    def of(cls, decoder: TranscriptDecoder) -> StepWeights:
        """From a decoder."""
        return cls(
            embeddings=_array(decoder.embed.weight),
            layers=tuple(LayerWeights.fold(layer) for layer in decoder.typed_layers()),
            norm=Norm.of(decoder.norm),
            classify=_array(decoder.classify.weight).T,
        )


@dataclass(frozen=True, eq=False)
class DecoderState:
    """Where the decoder is in its transcripts, one for each of B sequences.

    Args:
        weights: of the decoder.
        keys: the memory that cross-attention scores `(B or 1, T, D)`.
        values: the memory that it averages `(B or 1, T, D)`.
        padding: what hides frames in the scores, 0 or `-inf` `(B or 1, 1, T)`; None if nothing.
        caches: a layer's self-attention keys and values `(B, n_heads, n_tokens, d)`.
        positions: encodings of the positions `0, 1, …`, `(P, D)`, P above `n_tokens`.
        n_tokens: tokens seen so far.
    """

    weights: StepWeights
    keys: Array
    values: Array
    padding: Array | None
    caches: tuple[tuple[Array, Array], ...]
    positions: Array
    n_tokens: int = 0

    @classmethod
    @torch.inference_mode()
    def begin(
        cls, decoder: TranscriptDecoder, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> DecoderState:
        """The state before the first token of B transcripts.

        Args:
            decoder: the decoder.
            keys: `(B, T, D)`.
            values: `(B, T, D)`.
            mask: valid frames `(B, T)`, None when all are.
        """
        n_heads = decoder.typed_layers()[0].self_attention.n_heads
        dtype = decoder.embed.weight.dtype  # the encoder may have worked in half precision
        memory = _array(values.to(dtype))
        n, _, width = memory.shape
        nothing = np.empty((n, n_heads, 0, width // n_heads), dtype=memory.dtype)
        padding = None
        if mask is not None:
            hidden = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
            padding = _array(hidden.masked_fill_(~mask, -torch.inf))[:, None]
        return cls(
            weights=StepWeights.of(decoder),
            keys=memory if keys is values else _array(keys.to(dtype)),
            values=memory,
            padding=padding,
            caches=((nothing, nothing),) * len(decoder.layers),
            positions=_positions(0, POSITIONS, memory),
        )

    def select(self, indices: IntArray) -> DecoderState:
        """The state of the sequences `indices (B',)`, in that order; repeats are welcome.

        The memory of a single video is shared by all its sequences and is never copied.
        """
        keys, values, padding = self.keys, self.values, self.padding
        if len(keys) > 1:
            keys = keys[indices]
            values = keys if values is self.keys else values[indices]
            padding = None if padding is None else padding[indices]
        caches = tuple((keys[indices], values[indices]) for keys, values in self.caches)
        return replace(self, keys=keys, values=values, padding=padding, caches=caches)

    def step(self, tokens: IntArray) -> tuple[Array, DecoderState]:
        """Feeds `tokens (B,)`; returns the next ones' logits `(B, C + 1)` and the new state."""
        positions = self.positions
        if self.n_tokens == len(positions):
            more = _positions(self.n_tokens, self.n_tokens, positions)
            positions = np.concatenate((positions, more))
        x = self.weights.embeddings[tokens] + positions[self.n_tokens]  # (B, D)
        caches = []
        for past, weights in zip(self.caches, self.weights.layers, strict=True):
            attended, cache = _attend_past(x, past, weights)
            x = weights.norms[0](x + attended)
            x = weights.norms[1](x + self._attend_memory(x, weights))
            x = weights.norms[2](x + weights.contract(_gelu(weights.expand(x))))
            caches.append(cache)
        state = replace(self, caches=tuple(caches), positions=positions, n_tokens=self.n_tokens + 1)
        return self.weights.norm(x) @ self.weights.classify, state

    def _attend_memory(self, x: Array, weights: LayerWeights) -> Array:
        """`(B, D)` -> `(B, D)`."""
        n, width = x.shape
        n_memories = len(self.keys)  # one video's sequences share it, as more heads would
        queries = weights.query(x).reshape(n_memories, -1, width)
        scores = queries @ self.keys.transpose(0, 2, 1)  # (B, n_heads, T) or (1, B n_heads, T)
        if self.padding is not None:
            scores += self.padding
        return weights.value(_average(scores, self.values).reshape(n, -1))


def _attend_past(
    x: Array, past: tuple[Array, Array], weights: LayerWeights
) -> tuple[Array, tuple[Array, Array]]:
    """`(B, D)` -> `(B, D)`, and the cache with one more token."""
    n, n_heads, _, depth = past[0].shape
    query, key, value = weights.project(x).reshape(n, 3, n_heads, 1, depth).swapaxes(0, 1)
    keys = np.concatenate((past[0], key), axis=2)
    values = np.concatenate((past[1], value), axis=2)
    attended = _average(query @ keys.swapaxes(2, 3), values)
    return weights.restore(attended.reshape(n, -1)), (keys, values)


def _average(scores: Array, values: Array) -> Array:
    """Values `(…, T, D)`, weighted by the softmax of scores `(…, Q, T)`, which is overwritten."""
    scores -= np.maximum.reduce(scores, axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    out: Array = scores @ values
    out /= np.add.reduce(scores, axis=-1, keepdims=True)
    return out


def _gelu(x: Array) -> Array:
    return x * ndtr(x)  # type: ignore[no-any-return]


def _positions(first: int, count: int, like: Array) -> Array:
    return _array(sinusoidal_positions(first, count, like.shape[-1], torch.from_numpy(like)))


def _array(tensor: Tensor) -> Array:
    """In the host's memory; a copy only if it was not there."""
    return tensor.detach().cpu().numpy()
