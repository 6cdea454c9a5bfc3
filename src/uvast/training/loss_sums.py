"""The sums of losses that models are trained with: which terms they have, and how these enter.

Shapes as in `losses`: N decoder layers, B videos, T frames, S segments, L = S + 1 positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from uvast.data.batching import PADDING
from uvast.training.losses import (
    boundary_loss,
    confidence_loss,
    cross_attention_loss,
    cross_entropy,
    duration_loss,
    group_loss,
    likeness_of_neighbours,
    segment_targets,
    smoothing_loss,
)
from uvast.training.target_weights import TargetWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

    from uvast.config import LossConfig
    from uvast.data import Targets
    from uvast.models import Decoded, Encoded


EQUAL = TargetWeights()


@dataclass(frozen=True, eq=False)
class Losses:
    """The terms of an objective, scalars by name, already weighted as they enter its sum."""

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
    encoded: Encoded,
    decoded: Decoded | None,
    targets: Targets,
    config: LossConfig,
    weights: TargetWeights = EQUAL,
    *,
    features: Tensor | None = None,
) -> Losses:
    """The objective of encoder and transcript decoder.

    Args:
        encoded: `logits (B, T, C)` and, if the model has them, `boundaries (B, T)`; also those of
            earlier stages.
        decoded: under teacher forcing, `logits (N, B, L, C + 1)`; `cross_attention (N, B, L, T)`
            if its term is on; explicit durations `fractions (N, B, L)`, if there are any, always
            have a term; None if no term needs the decoder.
        targets: `labels (B, T)`, `transcript (B, S)`, `n_segments (B,)`,
            `segment_of_frame (B, T)`, `fractions (B, S)`.
        config: which terms, and how.
        weights: of rare targets.
        features: the model's input `(B, T, F)`, for smoothing that depends on distances in it.
    """
    likeness = _likeness(features, config)
    terms = {}
    if config.frame:
        terms["frame"] = _frame_term(encoded, targets, weights)
    if config.group_frame != "off":
        form, n_classes = config.group_frame, encoded.logits.shape[-1]
        terms["group_frame"] = _over_stages(
            encoded,
            lambda one: group_loss(
                one.logits, targets.frame_labels, form=form, n_classes=n_classes
            ),
        )
    if config.smoothing:
        terms["smoothing"] = _smoothing_term(encoded, targets, config, likeness)
    terms |= _confidence_term(encoded, targets, config)
    terms |= _boundary_term(encoded, targets, config, weights)
    if decoded is not None:
        terms |= _decoder_terms(decoded, targets, config, n_classes=encoded.logits.shape[-1])
    return Losses(terms)


def _decoder_terms(
    decoded: Decoded, targets: Targets, config: LossConfig, *, n_classes: int
) -> dict[str, Tensor]:
    """Terms of the decoder, averaged over its layers."""
    n_layers, n_videos, _, _ = decoded.logits.shape
    # Each layer's outputs count as a batch: the mean over N * B is the mean over layers.
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
    encoded: Encoded,
    targets: Targets,
    config: LossConfig,
    weights: TargetWeights = EQUAL,
    *,
    features: Tensor | None = None,
) -> Losses:
    """The objective of a frame-wise model: terms of frames, boundaries and timestamps.

    The arguments are those of `stage_one_losses`.
    """
    likeness = _likeness(features, config)
    return Losses(
        {
            "frame": _frame_term(encoded, targets, weights),
            "smoothing": _smoothing_term(encoded, targets, config, likeness),
            **_confidence_term(encoded, targets, config),
            **_boundary_term(encoded, targets, config, weights),
        }
    )


def _frame_term(encoded: Encoded, targets: Targets, weights: TargetWeights) -> Tensor:
    return _over_stages(
        encoded,
        lambda one: cross_entropy(
            one.logits, targets.frame_labels, weights.classes, one.frame_weights
        ),
    )


def _smoothing_term(
    encoded: Encoded, targets: Targets, config: LossConfig, likeness: Tensor | None
) -> Tensor:
    valid, clip = targets.labels != PADDING, config.smoothing_clip
    return config.smoothing * _over_stages(
        encoded, lambda one: smoothing_loss(one.logits, valid, clip=clip, likeness=likeness)
    )


def _confidence_term(encoded: Encoded, targets: Targets, config: LossConfig) -> dict[str, Tensor]:
    """The term of all stages; none without timestamps."""
    if not config.confidence or targets.is_timestamp is None:
        return {}
    labels, is_timestamp = targets.labels, targets.is_timestamp
    total = _over_stages(encoded, lambda one: confidence_loss(one.logits, labels, is_timestamp))
    return {"confidence": config.confidence * total}


def _boundary_term(
    encoded: Encoded, targets: Targets, config: LossConfig, weights: TargetWeights
) -> dict[str, Tensor]:
    """The term of all stages that have boundaries; none if no stage has."""
    found = [
        boundary_loss(
            one.boundaries,
            targets.labels,
            width=config.boundary_width,
            positive_weight=weights.boundary,
        )
        for one in encoded.stages
        if one.boundaries is not None
    ]
    return {"boundary": config.boundary * torch.stack(found).sum()} if found else {}


def _likeness(features: Tensor | None, config: LossConfig) -> Tensor | None:
    """The likeness of neighbouring frames `(B, T - 1)`; None if smoothing does not need it."""
    if not config.smoothing or not config.smoothing_distance:
        return None
    assert features is not None, "the objective hands them over"
    return likeness_of_neighbours(features, config.smoothing_distance)


def _over_stages(encoded: Encoded, loss: Callable[[Encoded], Tensor]) -> Tensor:
    """The sum of every stage's loss `()`."""
    return torch.stack([loss(one) for one in encoded.stages]).sum()
