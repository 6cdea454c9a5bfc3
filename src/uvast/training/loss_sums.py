"""The sums of losses that are trained: which terms, and how they enter.

Shapes as in `losses`: N decoder layers, B videos, T frames, S segments, L = S + 1 positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import torch

from uvast.data.batching import PADDING
from uvast.errors import ConfigError, InputError
from uvast.training.losses import (
    GroupForm,
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

    from uvast.data import Targets
    from uvast.models import Decoded, Encoded


@dataclass(frozen=True)
class LossOptions:
    """The terms of stage 1, each on its own switch; the defaults are the paper's objective.

    Args:
        frame: cross-entropy of the frame logits.
        segment: cross-entropy of the decoder logits, EOS included.
        group_frame: the form of the group term over frames, None for no such term.
        group_segment: the form of the group term over segments, None for no such term.
        cross_attention: cross-entropy of the decoder's cross-attention.
        durations: squared error of the decoder's explicit durations.
        temperature: the cross-attention weights are divided by it.
        smoothing: the weight of the smoothing term over frames, 0 for no such term.
        smoothing_clip: where the smoothing term stops growing.
    """

    frame: bool = True
    segment: bool = True
    group_frame: GroupForm | None = "mean-logit"
    group_segment: GroupForm | None = "mean-probability"
    cross_attention: bool = True
    durations: bool = False
    temperature: float = 0.001
    smoothing: float = 0.0
    smoothing_clip: float = 4.0

    def __post_init__(self) -> None:
        """Refuses an objective that cannot be trained."""
        switches = (self.frame, self.segment, self.group_frame, self.group_segment)
        if not any((*switches, self.cross_attention, self.durations, self.smoothing)):
            raise ConfigError("every loss is switched off", remedy="switch on at least one")
        for form in (self.group_frame, self.group_segment):
            if form is not None and form not in get_args(GroupForm):
                raise ConfigError(
                    f"unknown group loss {form!r}",
                    remedy=f"choose from {', '.join(get_args(GroupForm))}",
                )
        if not self.temperature > 0:
            raise ConfigError(f"a loss temperature of {self.temperature}, it has to be positive")
        if not self.smoothing >= 0:
            raise ConfigError(f"a smoothing weight of {self.smoothing}, it cannot be negative")
        if not self.smoothing_clip > 0:
            raise ConfigError(f"a smoothing clip of {self.smoothing_clip}, it has to be positive")

    @property
    def needs_decoder(self) -> bool:
        """Whether any term looks at the transcript decoder."""
        return self.segment or bool(self.group_segment) or self.cross_attention or self.durations


@dataclass(frozen=True, eq=False)
class Losses:
    """The terms of an objective, named, as they enter its sum.

    Args:
        terms: name -> scalar tensor, weight included.
    """

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
    encoded: Encoded, decoded: Decoded | None, targets: Targets, options: LossOptions
) -> Losses:
    """The objective of encoder and transcript decoder.

    Args:
        encoded: `logits (B, T, C)`.
        decoded: under teacher forcing, `logits (N, B, L, C + 1)`; `cross_attention (N, B, L, T)`
            and `durations (N, B, L)` where their terms are on; None if no term needs the decoder.
        targets: `labels (B, T)`, `transcript (B, S)`, `n_segments (B,)`,
            `segment_of_frame (B, T)`, `fractions (B, S)`.
        options: which terms, and how.
    """
    terms = _frame_terms(encoded.logits, targets, options)
    if options.needs_decoder:
        if decoded is None:
            raise InputError("these losses need the decoder's outputs")
        terms |= _decoder_terms(decoded, targets, options, n_classes=encoded.logits.shape[-1])
    return Losses(terms)


def _frame_terms(logits: Tensor, targets: Targets, options: LossOptions) -> dict[str, Tensor]:
    terms: dict[str, Tensor] = {}
    if options.frame:
        terms["frame"] = cross_entropy(logits, targets.labels)
    if options.group_frame is not None:
        terms["group_frame"] = group_loss(
            logits, targets.labels, form=options.group_frame, n_classes=logits.shape[-1]
        )
    if options.smoothing:
        terms["smoothing"] = options.smoothing * smoothing_loss(
            logits, targets.labels != PADDING, clip=options.smoothing_clip
        )
    return terms


def _decoder_terms(
    decoded: Decoded, targets: Targets, options: LossOptions, *, n_classes: int
) -> dict[str, Tensor]:
    """Terms of the decoder, averaged over its layers."""
    n_layers, n_videos, _, _ = decoded.logits.shape
    # A layer's outputs are a batch of their own: the mean over N * B is the mean over layers.
    logits = decoded.logits.flatten(0, 1)
    tokens = segment_targets(targets.transcript, targets.n_segments, eos=n_classes)
    tokens = tokens.repeat(n_layers, 1)
    terms: dict[str, Tensor] = {}
    if options.segment:
        terms["segment"] = cross_entropy(logits, tokens)
    if options.group_segment is not None:
        terms["group_segment"] = group_loss(
            logits, tokens, form=options.group_segment, n_classes=n_classes
        )
    if options.cross_attention:
        terms["cross_attention"] = cross_attention_loss(
            _present(decoded.cross_attention, "cross_attention"),
            targets.segment_of_frame,
            targets.n_segments,
            temperature=options.temperature,
        )
    if options.durations:
        fractions = targets.fractions
        predicted = _present(decoded.fractions, "fractions")[..., : fractions.shape[1]]
        terms["durations"] = duration_loss(
            predicted.reshape(n_layers * n_videos, -1),
            fractions.repeat(n_layers, 1),
            targets.n_segments.repeat(n_layers),
        )
    return terms


def framewise_losses(
    stage_logits: Sequence[Tensor],
    targets: Targets,
    *,
    smoothing_weight: float = 0.15,
    clip: float = 4.0,
) -> Losses:
    """The objective of MS-TCN and ASFormer: cross-entropy and smoothing, summed over stages.

    Args:
        stage_logits: `(B, T, C)` of each stage.
        targets: `labels (B, T)`.
        smoothing_weight: weight of the smoothing term.
        clip: where the smoothing term stops growing.
    """
    labels, valid = targets.labels, targets.labels != PADDING
    frame = [cross_entropy(logits, labels) for logits in stage_logits]
    smoothing = [smoothing_loss(logits, valid, clip=clip) for logits in stage_logits]
    return Losses(
        {
            "frame": torch.stack(frame).sum(),
            "smoothing": smoothing_weight * torch.stack(smoothing).sum(),
        }
    )


def _present(output: Tensor | None, name: str) -> Tensor:
    if output is None:
        raise InputError(
            f"the decoder gave no {name} for the loss of that name",
            remedy="switch the loss off, or the output on",
        )
    return output
