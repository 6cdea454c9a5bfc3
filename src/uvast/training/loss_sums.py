"""The sums of losses that are trained: which terms, and how they enter.

Shapes as in `losses`: N decoder layers, B videos, T frames, S segments, L = S + 1 positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from uvast.data.batching import PADDING
from uvast.training.losses import (
    cross_attention_loss,
    cross_entropy,
    duration_loss,
    group_loss,
    segment_targets,
    smoothing_loss,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from uvast.config import LossConfig
    from uvast.data import Targets
    from uvast.models import Decoded, Encoded


@dataclass(frozen=True, eq=False)
class Losses:
    """The terms of an objective, scalars by name, as they enter its sum: weight included."""

    terms: Mapping[str, Tensor]

    @property
    def total(self) -> Tensor:
        """The objective: the sum of the terms `()`."""
        return torch.stack(tuple(self.terms.values())).sum()

    def as_floats(self) -> dict[str, float]:
        """Every term and the `total`, as numbers; one transfer from the device."""
        values = torch.stack((*self.terms.values(), self.total)).detach().tolist()
        return dict(zip((*self.terms, "total"), values, strict=True))


def stage_one_losses(
    encoded: Encoded, decoded: Decoded | None, targets: Targets, config: LossConfig
) -> Losses:
    """The objective of encoder and transcript decoder.

    Args:
        encoded: `logits (B, T, C)`.
        decoded: under teacher forcing, `logits (N, B, L, C + 1)`; `cross_attention (N, B, L, T)`
            where its term is on; explicit durations `fractions (N, B, L)` have a term wherever
            there are any; None if no term needs the decoder.
        targets: `labels (B, T)`, `transcript (B, S)`, `n_segments (B,)`,
            `segment_of_frame (B, T)`, `fractions (B, S)`.
        config: which terms, and how.
    """
    terms = _frame_terms(encoded.logits, targets, config)
    if decoded is not None:
        terms |= _decoder_terms(decoded, targets, config, n_classes=encoded.logits.shape[-1])
    return Losses(terms)


def _frame_terms(logits: Tensor, targets: Targets, config: LossConfig) -> dict[str, Tensor]:
    terms: dict[str, Tensor] = {}
    if config.frame:
        terms["frame"] = cross_entropy(logits, targets.frame_labels)
    if config.group_frame != "off":
        terms["group_frame"] = group_loss(
            logits, targets.frame_labels, form=config.group_frame, n_classes=logits.shape[-1]
        )
    if config.smoothing:
        terms["smoothing"] = config.smoothing * smoothing_loss(
            logits, targets.labels != PADDING, clip=config.smoothing_clip
        )
    return terms


def _decoder_terms(
    decoded: Decoded, targets: Targets, config: LossConfig, *, n_classes: int
) -> dict[str, Tensor]:
    """Terms of the decoder, averaged over its layers."""
    n_layers, n_videos, _, _ = decoded.logits.shape
    # A layer's outputs are a batch of their own: the mean over N * B is the mean over layers.
    logits = decoded.logits.flatten(0, 1)
    tokens = segment_targets(targets.transcript, targets.n_segments, eos=n_classes)
    tokens = tokens.repeat(n_layers, 1)
    terms: dict[str, Tensor] = {}
    if config.segment:
        terms["segment"] = cross_entropy(logits, tokens)
    if config.group_segment != "off":
        terms["group_segment"] = group_loss(
            logits, tokens, form=config.group_segment, n_classes=n_classes
        )
    if config.cross_attention:
        assert decoded.cross_attention is not None, "the objective asks the decoder for them"
        terms["cross_attention"] = cross_attention_loss(
            decoded.cross_attention,
            targets.segment_of_frame,
            targets.n_segments,
            temperature=config.temperature,
        )
    if decoded.fractions is not None:
        fractions = targets.fractions
        predicted = decoded.fractions[..., : fractions.shape[1]]
        terms["durations"] = duration_loss(
            predicted.reshape(n_layers * n_videos, -1),
            fractions.repeat(n_layers, 1),
            targets.n_segments.repeat(n_layers),
        )
    return terms


def framewise_losses(
    stage_logits: Sequence[Tensor], targets: Targets, config: LossConfig
) -> Losses:
    """The objective of MS-TCN and ASFormer: cross-entropy and smoothing, summed over stages.

    The logits of each stage are `(B, T, C)`, the targets' labels `(B, T)`.
    """
    labels, valid = targets.frame_labels, targets.labels != PADDING
    frame = [cross_entropy(logits, labels) for logits in stage_logits]
    smoothing = [
        smoothing_loss(logits, valid, clip=config.smoothing_clip) for logits in stage_logits
    ]
    return Losses(
        {
            "frame": torch.stack(frame).sum(),
            "smoothing": config.smoothing * torch.stack(smoothing).sum(),
        }
    )
