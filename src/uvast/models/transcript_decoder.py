"""The transcript decoder: predicts a video's actions one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from uvast.models.attention import CrossAttention, SelfAttention
from uvast.models.layers import FeedForward, dropout, sinusoidal_positions
from uvast.models.pooling import smooth

if TYPE_CHECKING:
    from uvast.models.dimensions import UvastDimensions


@dataclass(frozen=True)
class Decoded:
    """What the transcript decoder makes of L input tokens; N counts its layers.

    Args:
        logits: scores of the next token, C classes and EOS, after each layer `(N, B, L, C + 1)`.
        features: the last layer's output `(B, L, D)`.
        cross_attention: weights over the frames, averaged over heads `(N, B, L, T)`; None unless
            asked for.
        durations: share of the video of the next segment `(N, B, L)`; None unless the model has
            explicit durations.
    """

    logits: Tensor
    features: Tensor
    cross_attention: Tensor | None
    durations: Tensor | None


@dataclass(frozen=True)
class DecoderState:
    """Where the decoder is in its transcripts, one for each of B sequences.

    Args:
        keys: the memory that cross-attention scores `(B or 1, T, D)`.
        values: the memory that it averages `(B or 1, T, D)`.
        mask: valid frames `(B or 1, T)`, None when all are.
        caches: a layer's self-attention keys and values `(B, n_heads, n_tokens, d)`.
        n_tokens: tokens seen so far.
        features: the last layer's output for the last token `(B, D)`; None before the first.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor | None
    caches: tuple[tuple[Tensor, Tensor], ...]
    n_tokens: int
    features: Tensor | None = None

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


class TranscriptDecoderLayer(nn.Module):
    """Post-norm Transformer decoder layer: self-attention, cross-attention, feed-forward."""

    def __init__(self, width: int, n_heads: int, feedforward: int, rate: float) -> None:
        super().__init__()
        self.self_attention = SelfAttention(width, n_heads, rate)
        self.cross_attention = CrossAttention(width, n_heads, rate)
        self.feed_forward = FeedForward(width, feedforward, rate)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.rate = rate

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Tokens `(B, L, D)`, memory `(B, T, D)` -> `(B, L, D)`, weights `(B, n_heads, L, T)`."""
        return self._attend_memory(x, self.self_attention(x, causal=True), keys, values, mask)

    def step(
        self, x: Tensor, past: tuple[Tensor, Tensor], state: DecoderState
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """One more token `(B, 1, D)` -> `(B, 1, D)` and the longer cache."""
        attended, cache = self.self_attention.step(x, past)
        x, _ = self._attend_memory(x, attended, state.keys, state.values, state.mask)
        return x, cache

    def _attend_memory(
        self, x: Tensor, attended: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        x = self.norms[0](x + dropout(attended, self.rate, self.training))
        attended, weights = self.cross_attention(x, keys, values, mask)
        x = self.norms[1](x + dropout(attended, self.rate, self.training))
        x = self.norms[2](x + dropout(self.feed_forward(x), self.rate, self.training))
        return x, weights


class TranscriptDecoder(nn.Module):
    """Token embeddings, N layers, and one norm and output layer for every layer's output."""

    def __init__(self, dimensions: UvastDimensions) -> None:
        super().__init__()
        width = dimensions.width
        self.embed = nn.Embedding(dimensions.n_classes + 2, width)  # classes, EOS, SOS
        self.layers = nn.ModuleList(
            TranscriptDecoderLayer(
                width,
                dimensions.n_heads,
                dimensions.decoder_feedforward,
                dimensions.decoder_dropout,
            )
            for _ in range(dimensions.n_decoder_layers)
        )
        self.norm = nn.LayerNorm(width)
        self.classify = nn.Linear(width, dimensions.n_classes + 1, bias=False)
        self.regress = nn.Linear(width, 1) if dimensions.explicit_durations else None
        self.smoothing = dimensions.attention_smoothing
        self.input_rate = dimensions.input_dropout
        self.output_rate = dimensions.output_dropout

    def forward(
        self, memory: Tensor, mask: Tensor | None, tokens: Tensor, *, need_weights: bool
    ) -> Decoded:
        """Teacher forcing: position i of the output predicts token i + 1.

        Args:
            memory: frame features `(B, T, D)`.
            mask: valid frames `(B, T)`, None when all are.
            tokens: SOS and the actions `(B, L)`; any id on padding at the end.
            need_weights: whether `Decoded.cross_attention` is wanted.
        """
        values = dropout(memory, self.input_rate, self.training)
        keys = smooth(values, mask, self.smoothing)
        x = dropout(self._embed(tokens, 0), self.input_rate, self.training)
        outputs, weights = [], []
        for layer in self._typed_layers():
            x, layer_weights = layer(x, keys, values, mask)
            outputs.append(x)
            weights.append(layer_weights)
        features = self.norm(torch.stack(outputs))  # (N, B, L, D)
        logits = self.classify(dropout(features, self.output_rate, self.training))
        return Decoded(
            logits=logits,
            features=features[-1],
            cross_attention=torch.stack(weights).mean(2) if need_weights else None,
            durations=None if self.regress is None else self.regress(features)[..., 0].sigmoid(),
        )

    def start(self, memory: Tensor, mask: Tensor | None) -> DecoderState:
        """The state before the first token, of B transcripts over frame features `(B, T, D)`."""
        return DecoderState(
            keys=smooth(memory, mask, self.smoothing),
            values=memory,
            mask=mask,
            caches=tuple(
                layer.self_attention.empty_cache(memory, len(memory))
                for layer in self._typed_layers()
            ),
            n_tokens=0,
        )

    def step(self, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """Feeds one token to each transcript.

        Args:
            state: of B transcripts.
            tokens: `(B,)`; SOS first.

        Returns:
            Logits of the next token `(B, C + 1)`, and the new state.
        """
        x = self._embed(tokens[:, None], state.n_tokens)
        caches = []
        for layer, past in zip(self._typed_layers(), state.caches, strict=True):
            x, cache = layer.step(x, past, state)
            caches.append(cache)
        features = self.norm(x[:, 0])
        state = replace(state, caches=tuple(caches), n_tokens=state.n_tokens + 1, features=features)
        return self.classify(features), state

    def _typed_layers(self) -> tuple[TranscriptDecoderLayer, ...]:
        return cast("tuple[TranscriptDecoderLayer, ...]", tuple(self.layers))

    def _embed(self, tokens: Tensor, first: int) -> Tensor:
        """Tokens `(B, L)` at positions `first`, … -> `(B, L, D)`."""
        known = tokens.clamp(max=self.embed.num_embeddings - 1)
        x: Tensor = self.embed(known)
        return x + sinusoidal_positions(first, x.shape[1], x.shape[2], x)
