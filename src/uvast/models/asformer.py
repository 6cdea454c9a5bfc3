"""ASFormer: a window-attention encoder, and decoders that refine its frame logits.

Yi, Wen and Jiang, "ASFormer: Transformer for Action Segmentation", BMVC 2021. The encoder is the
`asformer` variant of `uvast.models.encoder`.

Queries and keys of a decoder's attention come from its own block, values from the features of the
stage before. The paper's text also mentions the concatenation of both for queries and keys; that
network would have 1.25 M parameters, this one has the published 1.13 M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from uvast.models.convolution import DilatedConvolution
from uvast.models.dimensions import StagedDimensions, UvastDimensions
from uvast.models.encoded import Encoded
from uvast.models.encoder import FrameEncoder, clear_padding
from uvast.models.layers import dropout
from uvast.models.ms_tcn import MultiStageNetwork
from uvast.models.normalisation import instance_norm
from uvast.models.window_attention import window_attention

if TYPE_CHECKING:
    from uvast.config import WindowKind

DECAY = 3.0
"""The attention of decoder i (from 0) has the weight exp(-DECAY i)."""


@dataclass(frozen=True)
class AsformerDimensions(StagedDimensions):
    """Everything an ASFormer is built from; the attention is as in `UvastDimensions`.

    Args:
        n_layers: blocks of the encoder and of each decoder; block i has dilation and window 2**i.
        n_stages: the encoder and its decoders.
    """

    attention_width: int = 32
    window: WindowKind = "neighbourhood"
    channel_dropout: float = 0.3


class CrossWindowAttention(nn.Module):
    """Window attention whose values come from another sequence of the same length."""

    def __init__(self, dimensions: AsformerDimensions, window: int) -> None:
        super().__init__()
        self.project_own = nn.Linear(dimensions.width, 2 * dimensions.attention_width)
        self.project_memory = nn.Linear(dimensions.width, dimensions.attention_width)
        self.restore = nn.Linear(dimensions.attention_width, dimensions.width)
        self.window = window
        self.kind: WindowKind = dimensions.window

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Frames and the stage before, `(B, T, D)`, valid frames `(B, T)` -> `(B, T, D)`."""
        queries, keys = self.project_own(x).chunk(2, dim=-1)
        values = self.project_memory(memory)
        hidden = window_attention(queries, keys, values, self.window, self.kind, mask)
        return self.restore(torch.relu(hidden))  # type: ignore[no-any-return]


class DecoderBlock(nn.Module):
    """Dilated convolution, ReLU, weighted cross-attention with a residual, 1x1 convolution."""

    def __init__(self, dimensions: AsformerDimensions, window: int, weight: float) -> None:
        super().__init__()
        self.convolution = DilatedConvolution(dimensions.width, window)
        self.attention = CrossWindowAttention(dimensions, window)
        self.mix = nn.Linear(dimensions.width, dimensions.width)
        self.weight = weight
        self.rate = dimensions.dropout

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """Frames and the stage before `(B, T, D)`, zero on padding -> `(B, T, D)`."""
        hidden = torch.relu(self.convolution(x))
        attended = self.attention(instance_norm(hidden, mask), memory, mask)
        hidden = self.mix(hidden + self.weight * attended)
        return clear_padding(x + dropout(hidden, self.rate, self.training), mask)


class RefinementDecoder(nn.Module):
    """One decoder: refines the class probabilities of the stage before, given its features."""

    def __init__(self, dimensions: AsformerDimensions, weight: float) -> None:
        super().__init__()
        self.embed = nn.Linear(dimensions.n_classes, dimensions.width)
        self.blocks = nn.ModuleList(
            DecoderBlock(dimensions, 2**index, weight) for index in range(dimensions.n_layers)
        )
        self.classify = nn.Linear(dimensions.width, dimensions.n_classes)

    def forward(self, before: Encoded, mask: Tensor | None) -> Encoded:
        """The stage before -> this stage."""
        x = clear_padding(self.embed(before.logits.softmax(-1)), mask)
        for block in self.blocks:
            x = block(x, before.features, mask)
        return Encoded(x, self.classify(x))


def asformer(dimensions: AsformerDimensions) -> MultiStageNetwork:
    """Encoder and decoders; each decoder's attention has less weight than the one before."""
    encoder = FrameEncoder(
        UvastDimensions(
            n_features=dimensions.n_features,
            n_classes=dimensions.n_classes,
            width=dimensions.width,
            attention_width=dimensions.attention_width,
            n_encoder_layers=dimensions.n_layers,
            encoder="asformer",
            window=dimensions.window,
            encoder_dropout=dimensions.dropout,
            channel_dropout=dimensions.channel_dropout,
        )
    )
    decoders = (
        RefinementDecoder(dimensions, math.exp(-DECAY * index))
        for index in range(dimensions.n_stages - 1)
    )
    return MultiStageNetwork(dimensions, encoder, decoders)
