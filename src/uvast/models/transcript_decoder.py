"""The transcript decoder: predicts a video's actions one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from uvast.models.attention import CrossAttention, SelfAttention
from uvast.models.layers import FeedForward, dropout, sinusoidal_positions
from uvast.models.pooling import smooth
from uvast.models.stepping import DecoderState

if TYPE_CHECKING:
    from uvast.models.dimensions import UvastDimensions


@dataclass(frozen=True)
class Decoded:
    """The transcript decoder's output for L input tokens; N counts its layers.

    Args:
        logits: scores of the next token, C classes and EOS, after each layer `(N, B, L, C + 1)`.
        features: the last layer's output `(B, L, D)`.
        cross_attention: weights over the frames, averaged over heads `(N, B, L, T)`; None unless
            asked for.
        fractions: the next segment's share of the video `(N, B, L)`; None unless the model has
            explicit durations.
    """

    logits: Tensor
    features: Tensor
    cross_attention: Tensor | None
    fractions: Tensor | None


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
        self,
        x: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        *,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Tokens `(B, L, D)`, memory `(B, T, D)` -> `(B, L, D)`, weights `(B, n_heads, L, T)`.

        The weights may be None unless they are needed.
        """
        attended = self.self_attention(x, causal=True)
        x = self.norms[0](x + dropout(attended, self.rate, self.training))
        attended, weights = self.cross_attention(x, keys, values, mask, need_weights=need_weights)
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
        x = dropout(self._embed(tokens), self.input_rate, self.training)
        outputs, weights = [], []
        for layer in self.typed_layers():
            x, layer_weights = layer(x, keys, values, mask, need_weights=need_weights)
            outputs.append(x)
            if need_weights:
                weights.append(layer_weights)
        features = self.norm(torch.stack(outputs))  # (N, B, L, D)
        logits = self.classify(dropout(features, self.output_rate, self.training))
        return Decoded(
            logits=logits,
            features=features[-1],
            cross_attention=torch.stack(weights).mean(2) if need_weights else None,
            fractions=None if self.regress is None else self.regress(features)[..., 0].sigmoid(),
        )

    def start(self, memory: Tensor, mask: Tensor | None) -> DecoderState:
        """The state before the first token of B transcripts over frame features `(B, T, D)`."""
        return DecoderState.begin(self, smooth(memory, mask, self.smoothing), memory, mask)

    def typed_layers(self) -> tuple[TranscriptDecoderLayer, ...]:
        """The layers, in order."""
        return cast("tuple[TranscriptDecoderLayer, ...]", tuple(self.layers))

    def _embed(self, tokens: Tensor) -> Tensor:
        """Tokens `(B, L)` -> `(B, L, D)`."""
        known = tokens.clamp(max=self.embed.num_embeddings - 1)
        x: Tensor = self.embed(known)
        return x + sinusoidal_positions(0, x.shape[1], x.shape[2], x)
