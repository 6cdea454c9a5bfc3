"""MuCon: a frame branch and a segment branch that have to agree with each other.

Souri, Fayyaz, Minciullo, Francesca and Gall, "Fast Weakly Supervised Action Segmentation Using
Mutual Consistency", TPAMI 2021; here in its fully supervised form. A backbone of dilated layers
with max-pools between them feeds both branches: one classifies the frames, the other (see
`uvast.models.mucon_decoder`) writes the transcript and the segments' lengths. The lengths place a
soft mask for each segment, and the frame branch's mean log-probabilities under a mask have to name
the segment's action: the gradient teaches both branches.

What is ours, where the facts we build on are silent: pools follow layers 2, 3, 5 and 9; a layer
norm ends the backbone, without which plain gradient descent is slow; frames between the centres of
pooled ones are interpolated; a mask's edges are sigmoids as wide as a tenth of the video's mean
segment; log-lengths within ±2 have no length loss; and with labels, the lengths learn from the
divergence of their shares of the video from the true ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from uvast.data.batching import PADDING
from uvast.errors import ConfigError
from uvast.models.dimensions import Dimensions
from uvast.models.encoded import Encoded
from uvast.models.encoder import checked_mask, clear_padding, padding_only
from uvast.models.layers import InputProjection, video_mean
from uvast.models.ms_tcn import DilatedResidualLayer
from uvast.models.mucon_decoder import (
    SegmentBranch,
    SegmentBranchState,
    WrittenLengths,
    log_shares,
)
from uvast.models.resampling import pool_pairs, stretch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.data import Targets
    from uvast.models.transcript_decoder import Decoded

POOLED = (1, 2, 4, 8)
"""Layers, counted from 0, whose output is pooled."""
SOFTNESS = 0.1
"""The width of a mask's edges, in mean segments of the video."""
FREE_LENGTH = 2.0
"""How far from 0 a log-length may be before it costs anything."""
LENGTH_WEIGHT = 0.1


@dataclass(frozen=True)
class MuconDimensions(Dimensions):
    """Everything a MuCon is built from.

    Args:
        width: D, the width of every layer; even.
        n_layers: layers of the backbone; layer i has dilation 2**i, in frames as pooled by then.
        dropout: rate inside every layer of the backbone.
        channel_dropout: rate at which whole input channels are dropped.
        decoder_dropout: rate on the inputs and outputs of the segment branch.
    """

    width: int = 128
    n_layers: int = 11
    dropout: float = 0.25
    channel_dropout: float = 0.0
    decoder_dropout: float = 0.25

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % 2:
            raise ConfigError(
                f"width is {self.width}",
                remedy="choose an even width: an LSTM of two directions needs one",
            )


@dataclass(frozen=True)
class MuconEncoded(Encoded):
    """An `Encoded` with what the segment branch has read from the pooled frames.

    Args:
        read: `(B, T', D)`, zero on padding.
        stride: frames that are pooled into one.
    """

    read: Tensor = field(kw_only=True)
    stride: int = field(kw_only=True)

    def video(self, index: int, n_frames: int) -> MuconEncoded:
        """One video of the batch, without padding (B = 1)."""
        alone = super().video(index, n_frames)
        read = self.read[index : index + 1, : -(-n_frames // self.stride)]
        return MuconEncoded(alone.features, alone.logits, read=read, stride=self.stride)


class Mucon(nn.Module):
    """Backbone, frame branch and segment branch.

    Padding has no effect: a video's outputs are the same alone and in a batch.
    """

    writes_transcripts = True
    gives_fractions = True

    def __init__(self, dimensions: MuconDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        width, n_classes = dimensions.width, dimensions.n_classes
        self.embed = InputProjection(dimensions.n_features, width, dimensions.channel_dropout)
        self.layers = nn.ModuleList(
            DilatedResidualLayer(width, 2**index, dimensions.dropout)
            for index in range(dimensions.n_layers)
        )
        self.norm = nn.LayerNorm(width)
        self.classify = nn.Linear(width, n_classes)
        self.segments = SegmentBranch(width, n_classes, dimensions.decoder_dropout)
        self.stride = 2 ** sum(index < dimensions.n_layers for index in POOLED)

    def encode(self, features: Tensor, mask: Tensor | None) -> MuconEncoded:
        """Features `(B, T, F)`, valid frames `(B, T)` -> frames of both branches."""
        mask = checked_mask(features, mask, self.dimensions.n_features)
        n_frames, valid = features.shape[1], mask
        x = clear_padding(self.embed(features), mask)
        for index, layer in enumerate(self.layers):
            x = layer(x, valid)
            if index in POOLED:
                x, valid = pool_pairs(x, valid)
        x = clear_padding(self.norm(x), valid)
        return MuconEncoded(
            clear_padding(stretch(x, valid, self.stride, n_frames), mask),
            stretch(self.classify(x), valid, self.stride, n_frames),
            read=self.segments.read(x, valid),
            stride=self.stride,
        )

    def decode(
        self, encoded: Encoded, mask: Tensor | None, tokens: Tensor, need_weights: bool = False
    ) -> WrittenLengths:
        """Teacher forcing with `tokens (B, L)`: SOS, then actions; output i predicts token i+1."""
        found: WrittenLengths = self.segments(*self._memory(encoded, mask), tokens)
        pooled = found.cross_attention
        assert pooled is not None, "the branch always says"
        weights = self._frame_weights(pooled, encoded, mask) if need_weights else None
        return replace(found, cross_attention=weights)

    @torch.inference_mode()
    def start(self, encoded: Encoded, mask: Tensor | None) -> SegmentBranchState:
        """The state before the first token (SOS) of every video's transcript."""
        started = self.segments.start(*self._memory(encoded, mask))
        return SegmentBranchState(self.segments, *started)

    def written_terms(
        self, encoded: Encoded, decoded: Decoded, mask: Tensor, targets: Targets
    ) -> Mapping[str, Tensor]:
        """Losses of the branches' consistency, of the lengths alone, and of labelled lengths."""
        assert isinstance(decoded, WrittenLengths), "of this model"
        assert decoded.fractions is not None, "of this model"
        is_segment = targets.transcript != PADDING
        log_lengths = decoded.log_lengths[:, :-1]
        masks = soft_masks(decoded.fractions[0, :, :-1], targets.n_segments, mask)
        return {
            "durations": share_divergence(log_lengths, targets.fractions, is_segment),
            "consistency": consistency_loss(encoded.logits, masks, targets.transcript),
            "lengths": LENGTH_WEIGHT * length_loss(log_lengths, is_segment),
        }

    def _memory(self, encoded: Encoded, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """What was read, and which of it is valid; a pooled frame is valid if its first one is."""
        assert isinstance(encoded, MuconEncoded), "of this model"
        mask = padding_only(mask)
        return encoded.read, None if mask is None else mask[:, :: self.stride]

    def _frame_weights(self, weights: Tensor, encoded: Encoded, mask: Tensor | None) -> Tensor:
        """Weights of pooled frames `(N, B, L, T')`, shared among their frames `(N, B, L, T)`."""
        n_videos, n_frames, _ = encoded.features.shape
        valid = weights.new_ones((n_videos, n_frames)) if mask is None else mask.to(weights)
        spare = -n_frames % self.stride
        n_own = functional.pad(valid, (0, spare)).view(n_videos, -1, self.stride).sum(2)
        shared = weights / n_own.clamp(min=1).unsqueeze(1)
        return shared.repeat_interleave(self.stride, 3)[..., :n_frames] * valid.unsqueeze(1)


def soft_masks(fractions: Tensor, n_segments: Tensor, mask: Tensor) -> Tensor:
    """How much each frame belongs to each segment `(B, S, T)`, differentiable in the shares.

    A mask is the difference of two sigmoids, at a segment's start and end, so that the masks of a
    video overlap at cuts and add up to about 1. Shares `(B, S)` are 0 where there is no segment.

    Args:
        fractions: each segment's share of its video, in order.
        n_segments: of each video `(B,)`.
        mask: valid frames `(B, T)`.
    """
    n_frames = mask.sum(1, keepdim=True)  # (B, 1)
    softness = SOFTNESS * n_frames / n_segments.clamp(min=1).unsqueeze(1)
    ends = fractions.cumsum(1) * n_frames
    cuts = torch.cat((torch.zeros_like(ends[:, :1]), ends), 1)  # (B, S + 1)
    frames = torch.arange(mask.shape[1], device=mask.device, dtype=ends.dtype) + 0.5
    after = ((frames - cuts.unsqueeze(2)) / softness.unsqueeze(2)).sigmoid()  # (B, S + 1, T)
    return (after[:, :-1] - after[:, 1:]) * mask.unsqueeze(1)


def consistency_loss(logits: Tensor, masks: Tensor, transcript: Tensor) -> Tensor:
    """Cross-entropy of the segments' actions, from mean log-probabilities under their masks `()`.

    Mean logits will do: they differ from mean log-probabilities by what the softmax ignores.

    Args:
        logits: of the frames `(B, T, C)`.
        masks: of the segments `(B, S, T)`.
        transcript: their actions `(B, S)`.
    """
    sizes = masks.sum(2, keepdim=True).clamp(min=torch.finfo(masks.dtype).eps)
    means = masks / sizes @ logits  # (B, S, C)
    losses = functional.cross_entropy(
        means.flatten(0, 1), transcript.flatten(), ignore_index=PADDING, reduction="none"
    )
    return video_mean(losses.view_as(transcript), transcript != PADDING)


def length_loss(log_lengths: Tensor, is_segment: Tensor) -> Tensor:
    """How far log-lengths `(B, S)` are beyond ±`FREE_LENGTH`, mean over segments, then videos `()`.

    It keeps a segment from taking all of a video, and from vanishing.
    """
    return video_mean((log_lengths.abs() - FREE_LENGTH).clamp(min=0), is_segment)


def share_divergence(log_lengths: Tensor, fractions: Tensor, is_segment: Tensor) -> Tensor:
    """Divergence of written shares from true ones `(B, S)`, mean over videos `()`."""
    written = log_shares(log_lengths, is_segment)
    true = fractions.where(is_segment, 0.0)
    return (torch.xlogy(true, true) - true * written.where(is_segment, 0.0)).sum(1).mean()
