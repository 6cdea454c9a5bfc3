"""The frame encoder: dilated convolutions and window attention over the frames of a video."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from uvast.errors import InputError
from uvast.models.attention import SelfAttention
from uvast.models.convolution import DilatedConvolution
from uvast.models.layers import FeedForward, InputProjection, dropout, sinusoidal_positions
from uvast.models.normalisation import instance_norm
from uvast.models.stretches import STRETCH, stretches
from uvast.models.window_attention import WindowAttention, tile_size

if TYPE_CHECKING:
    from uvast.models.dimensions import UvastDimensions


class EncoderBlock(nn.Module):
    """One block of the `uvast` or `asformer` encoder, with dilation and window `window`.

    Both begin alike: convolution, activation, window attention with a residual, 1x1 convolution.
    `uvast` uses GELU and goes on with a second dilated convolution and a norm of the block's output
    (supplement, figure of the encoder); `asformer` uses ReLU and stops there.
    """

    def __init__(self, dimensions: UvastDimensions, window: int) -> None:
        super().__init__()
        width = dimensions.width
        is_uvast = dimensions.encoder == "uvast"
        self.activation = nn.GELU() if is_uvast else nn.ReLU()
        self.first = DilatedConvolution(width, window)
        self.attention = WindowAttention(
            width,
            dimensions.attention_width,
            dimensions.n_heads,
            window,
            dimensions.window,
            self.activation,
        )
        self.mix = nn.Linear(width, width)
        self.second = DilatedConvolution(width, window) if is_uvast else None
        self.rate = dimensions.encoder_dropout

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Frames `(B, T, D)`, zero on padding, valid ones `(B, T)` or None -> `(B, T, D)`."""
        hidden = self.activation(self.first(x))
        hidden = self._attended(hidden, instance_norm(hidden, mask), mask)
        if self.second is None:
            return x + hidden
        # One name for all: of a long video, each of these is freed before the one after the next.
        hidden = self.second(hidden)
        hidden = self.activation(hidden)
        hidden = x + hidden
        return instance_norm(hidden, mask)

    def _attended(self, hidden: Tensor, normed: Tensor, mask: Tensor | None) -> Tensor:
        """Attention to the normed frames, added to them and mixed, all `(B, T, D)`.

        Without gradients, a long video is taken in stretches, in the place of `hidden`.
        """
        n_frames = hidden.shape[1]
        if torch.is_grad_enabled() or n_frames <= STRETCH:
            hidden = hidden + self.attention(normed, mask)
            return clear_padding(dropout(self.mix(hidden), self.rate, self.training), mask)
        window = self.attention.window
        for part in stretches(n_frames, tile=tile_size(window), halo=window // 2):
            own_mask = None if mask is None else mask[:, part.seen]
            attended = self.attention(normed[:, part.seen], own_mask)[:, part.inner]
            mixed = self.mix(attended.add_(hidden[:, part.own]))
            mixed = dropout(mixed, self.rate, self.training)
            hidden[:, part.own] = clear_padding(mixed, None if mask is None else mask[:, part.own])
        return hidden


class PlainEncoderLayer(nn.Module):
    """A standard post-norm Transformer encoder layer: attention over all frames, in O(T²) time."""

    def __init__(self, dimensions: UvastDimensions) -> None:
        super().__init__()
        self.attention = SelfAttention(dimensions.width, dimensions.n_heads, 0.0)
        self.feed_forward = FeedForward(
            dimensions.width, dimensions.plain_feedforward, dimensions.decoder_dropout
        )
        self.norms = nn.ModuleList(nn.LayerNorm(dimensions.width) for _ in range(2))
        self.rate = dimensions.decoder_dropout

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Frames `(B, T, D)`, valid ones `(B, T)` or None -> `(B, T, D)`."""
        x = self.norms[0](x + dropout(self.attention(x, mask), self.rate, self.training))
        return self.norms[1](  # type: ignore[no-any-return]
            x + dropout(self.feed_forward(x), self.rate, self.training)
        )


class FrameEncoder(nn.Module):
    """Input features to frame features and frame logits.

    `uvast` and `asformer` cost O(T) time and memory. In `plain`, every frame sees all frames, which
    costs O(T²) time and O(T) memory; sinusoidal positions tell it the order of the frames.
    """

    def __init__(self, dimensions: UvastDimensions) -> None:
        super().__init__()
        self.embed = InputProjection(
            dimensions.n_features, dimensions.width, dimensions.channel_dropout
        )
        self.is_plain = dimensions.encoder == "plain"
        self.blocks = nn.ModuleList(
            PlainEncoderLayer(dimensions) if self.is_plain else EncoderBlock(dimensions, 2**index)
            for index in range(dimensions.n_encoder_layers)
        )
        self.classify = nn.Linear(dimensions.width, dimensions.n_classes)

    def forward(self, features: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Features `(B, T, F)`, valid frames `(B, T)` or None -> `(B, T, D)`, `(B, T, C)`."""
        return self.embedded(self.embed(features), mask)

    def embedded(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same from the input layer's output `(B, T, D)` on."""
        x = clear_padding(x, mask)
        if self.is_plain:
            x = x + sinusoidal_positions(0, x.shape[1], x.shape[2], x)
        for block in self.blocks:
            x = block(x, mask)
        x = clear_padding(x, mask)
        return x, self.classify(x)


def clear_padding(x: Tensor, mask: Tensor | None) -> Tensor:
    """`x (B, T, D)`, finite, with zeros outside the valid frames `(B, T)`."""
    return x if mask is None else x * mask.unsqueeze(2).to(x.dtype)


def checked_mask(features: Tensor, mask: Tensor | None, n_features: int) -> Tensor | None:
    """Refuses features that are not `(B, T, F)`; returns `padding_only` of the mask."""
    if features.ndim != 3 or features.shape[2] != n_features:
        raise InputError(
            f"features of shape {tuple(features.shape)}",
            remedy=f"this model takes (B, T, {n_features})",
        )
    return padding_only(mask)


def padding_only(mask: Tensor | None) -> Tensor | None:
    """The mask, or None if it hides nothing: the fast paths take no mask."""
    return None if mask is None or bool(mask.all()) else mask
