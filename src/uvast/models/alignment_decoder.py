"""The alignment decoder: assigns every frame of a video to a segment of its transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from uvast.models.attention import SelfAttention
from uvast.models.layers import FeedForward, dropout, sinusoidal_positions

if TYPE_CHECKING:
    from uvast.models.dimensions import UvastDimensions


class SegmentAttention(nn.Module):
    """Attention of many frames to a few segments."""

    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.project_frames = nn.Linear(width, width)
        self.project_segments = nn.Linear(width, 2 * width)
        self.restore = nn.Linear(width, width)
        self.n_heads = n_heads
        for layer in (self.project_frames, self.project_segments):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        nn.init.zeros_(self.restore.bias)

    def forward(self, frames: Tensor, segments: Tensor, mask: Tensor | None) -> Tensor:
        """Frames `(B, T, D)`, segments `(B, S, D)`, valid ones `(B, S)` or None -> `(B, T, D)`."""
        queries = self._heads(self.project_frames(frames))
        keys, values = (self._heads(part) for part in self.project_segments(segments).chunk(2, -1))
        out = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=None if mask is None else mask[:, None, None, :]
        )
        return self.restore(out.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]

    def _heads(self, x: Tensor) -> Tensor:
        """`(B, L, D)` -> `(B, n_heads, L, d)`."""
        return x.view(*x.shape[:2], self.n_heads, -1).transpose(1, 2)


class AlignmentDecoder(nn.Module):
    """One post-norm decoder layer from frames to segments, and a score for every pair.

    Its attention weights have no dropout of their own: the self-attention's `(T, T)` weights are
    never stored, and a frame needs all of the few segments it may belong to.
    """

    def __init__(self, dimensions: UvastDimensions) -> None:
        super().__init__()
        width = dimensions.width
        self.self_attention = SelfAttention(width, dimensions.n_heads, 0.0)
        self.cross_attention = SegmentAttention(width, dimensions.n_heads)
        self.feed_forward = FeedForward(
            width, dimensions.alignment_feedforward, dimensions.decoder_dropout
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.rate = dimensions.decoder_dropout
        self.input_rate = dimensions.input_dropout

    def forward(
        self,
        frames: Tensor,
        mask: Tensor | None,
        segments: Tensor,
        segment_mask: Tensor | None,
    ) -> Tensor:
        """Scores frames against segments.

        Args:
            frames: encoder features `(B, T, D)`.
            mask: valid frames `(B, T)`, None when all are.
            segments: transcript decoder features of the segments, in order `(B, S, D)`.
            segment_mask: valid segments `(B, S)`, None when all are.

        Returns:
            Logits `(B, T, S)`, to be divided by τ; -inf on padding segments.
        """
        segments = segments + sinusoidal_positions(
            0, segments.shape[1], segments.shape[2], segments
        )
        x = dropout(frames, self.input_rate, self.training)
        memory = dropout(segments, self.input_rate, self.training)
        x = self._residual(0, x, self.self_attention(x, mask))
        x = self._residual(1, x, self.cross_attention(x, memory, segment_mask))
        x = self._residual(2, x, self.feed_forward(x))
        logits = x @ segments.transpose(1, 2)
        if segment_mask is not None:
            logits = logits.masked_fill(~segment_mask[:, None, :], -torch.inf)
        return logits

    def _residual(self, index: int, x: Tensor, change: Tensor) -> Tensor:
        """Post-norm residual connection number `index`, `(B, T, D)`."""
        return self.norms[index](  # type: ignore[no-any-return]
            x + dropout(change, self.rate, self.training)
        )
