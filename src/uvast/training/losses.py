"""Every loss, as a pure function of logits and targets.

Shapes: B videos, T frames, S segments, L = S + 1 decoder positions (position i predicts segment i,
the one after a video's last segment predicts EOS), C classes, K outputs (C, or C + 1 with EOS),
N decoder layers. Integer targets are -1 at padding; logits at padding are finite and play no part.

A batch's loss is the mean over its videos of each video's own loss: a video counts the same alone
and in a padded batch, and a batch of one is the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch.nn import functional

from uvast.errors import ConfigError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from uvast.data import Targets
    from uvast.models import Decoded, Encoded

GroupForm = Literal["mean-probability", "mean-logit", "mean-log-probability"]

PADDING = -1


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
        predicted = _present(decoded.durations, "durations")[..., : fractions.shape[1]]
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


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy of a video's frames (or segments), then mean over videos.

    Args:
        logits: `(B, N, K)`.
        targets: classes `(B, N)`.
    """
    return _video_mean(_negative_log_probability(logits, targets), targets != PADDING)


def group_loss(logits: Tensor, targets: Tensor, *, form: GroupForm, n_classes: int) -> Tensor:
    """One term for each class that occurs in a video, mean over them, then mean over videos.

    A class's group is its frames (or segments) by ground truth. EOS and whatever else is not a
    class forms no group, while the softmax runs over all K outputs.

    Args:
        logits: `(B, N, K)`, K at least C.
        targets: classes `(B, N)`.
        form: what is averaged inside a group: the class's probability (the paper's equations for
            the two group losses), the whole logit vector (supplement), or the log-probability.
        n_classes: C.
    """
    if form not in get_args(GroupForm):
        raise InputError(
            f"unknown group loss {form!r}", remedy=f"choose from {', '.join(get_args(GroupForm))}"
        )
    # A video has C + 1 groups: the last one takes in what forms none, and is left out again.
    n_videos, width = len(targets), n_classes + 1
    n_groups = n_videos * width
    group = targets.where((targets >= 0) & (targets < n_classes), n_classes)
    group = (group + width * _positions(n_videos, targets).unsqueeze(1)).flatten()  # (B * N,)
    counts = _group_sum(torch.ones_like(group), group, n_groups)
    sizes = counts.clamp(min=1).to(logits.dtype)
    if form == "mean-logit":
        mean_logits = _group_sum(logits.flatten(0, 1), group, n_groups) / sizes.unsqueeze(1)
        log_probabilities = mean_logits.log_softmax(1).view(n_videos, width, -1)
        scores = log_probabilities[:, :n_classes].diagonal(dim1=1, dim2=2)  # (B, C)
    else:
        own = -_negative_log_probability(logits, targets).flatten()  # (B * N,)
        if form == "mean-log-probability":
            scores = _group_sum(own, group, n_groups) / sizes
        else:
            scores = _group_log_sum_exp(own, group, n_groups) - sizes.log()
        scores = scores.view(n_videos, width)[:, :n_classes]
    return -_video_mean(scores, counts.view(n_videos, width)[:, :n_classes] > 0)


def cross_attention_loss(
    weights: Tensor, segment_of_frame: Tensor, n_segments: Tensor, *, temperature: float = 0.001
) -> Tensor:
    """Cross-entropy of the segment that holds each frame, from the decoder's cross-attention.

    The weights (softmax over frames, about 1/T each) are divided by the temperature; the softmax
    over a video's segments then assigns each frame to them.

    Args:
        weights: `(B, L, T)`, or `(N, B, L, T)` to average over layers; positions from a video's
            `n_segments` on are ignored.
        segment_of_frame: `(B, T)`.
        n_segments: `(B,)`.
        temperature: see above.
    """
    n_layers = weights.shape[0] if weights.ndim == 4 else 1
    return _assignment_loss(
        weights.flatten(0, -3),
        segment_of_frame.repeat(n_layers, 1),
        n_segments.repeat(n_layers),
        temperature,
    )


def alignment_loss(
    logits: Tensor, segment_of_frame: Tensor, n_segments: Tensor, *, tau: float = 1.0
) -> Tensor:
    """Cross-entropy of the segment that holds each frame, from the alignment decoder (stage 2).

    Args:
        logits: frames against segments `(B, T, S)`.
        segment_of_frame: `(B, T)`.
        n_segments: `(B,)`.
        tau: temperature of the softmax over segments.
    """
    return _assignment_loss(logits.transpose(1, 2), segment_of_frame, n_segments, tau)


def duration_loss(predicted: Tensor, fractions: Tensor, n_segments: Tensor) -> Tensor:
    """Mean squared error of a video's explicit durations, then mean over videos.

    Args:
        predicted: relative durations `(B, S)`.
        fractions: the true ones `(B, S)`.
        n_segments: `(B,)`.
    """
    valid = _positions(predicted.shape[1], predicted) < n_segments.unsqueeze(1)
    return _video_mean((predicted - fractions).square(), valid)


def smoothing_loss(logits: Tensor, valid: Tensor, *, clip: float = 4.0) -> Tensor:
    """Truncated squared change of log-probabilities from frame to frame (MS-TCN), 0 for one frame.

    The gradient flows into the later frame only.

    Args:
        logits: `(B, T, C)`.
        valid: the frames that are no padding `(B, T)`.
        clip: a larger change counts as this one and has no gradient.
    """
    log_probabilities = logits.log_softmax(2)
    change = log_probabilities[:, 1:] - log_probabilities[:, :-1].detach()
    # Clamped before the square: the same value, and no overflow.
    return _video_mean(change.clamp(-clip, clip).square().mean(2), valid[:, 1:] & valid[:, :-1])


def segment_targets(transcript: Tensor, n_segments: Tensor, *, eos: int) -> Tensor:
    """What the decoder is to say: transcript `(B, S)`, EOS, then padding `(B, S + 1)`."""
    tokens = functional.pad(transcript, (0, 1), value=PADDING)
    end = n_segments.unsqueeze(1)
    positions = _positions(tokens.shape[1], tokens)
    return tokens.masked_fill(positions == end, eos).masked_fill(positions > end, PADDING)


def decoder_inputs(transcript: Tensor, n_segments: Tensor, *, sos: int, padding: int) -> Tensor:
    """What the decoder is told (teacher forcing): SOS, transcript, `padding` `(B, S + 1)`."""
    tokens = functional.pad(transcript, (1, 0), value=sos)
    positions = _positions(tokens.shape[1], tokens)
    return tokens.masked_fill(positions > n_segments.unsqueeze(1), padding)


def _assignment_loss(
    scores: Tensor, segment_of_frame: Tensor, n_segments: Tensor, temperature: float
) -> Tensor:
    """Equation `L_CA` of the paper, for scores `(B, S, T)`."""
    absent = _positions(scores.shape[1], scores) >= n_segments.unsqueeze(1)  # (B, S)
    # The least float, not -inf: a video without segments has no NaN in its gradient.
    bias = scores.new_zeros(absent.shape).masked_fill(absent, torch.finfo(scores.dtype).min)
    scores = torch.add(bias.unsqueeze(2), scores, alpha=1 / temperature)
    losses = functional.cross_entropy(
        scores, segment_of_frame, ignore_index=PADDING, reduction="none"
    )
    return _video_mean(losses, segment_of_frame != PADDING)


def _negative_log_probability(logits: Tensor, targets: Tensor) -> Tensor:
    """Of each target class, 0 at padding: `(B, N, K)`, `(B, N)` -> `(B, N)`."""
    return functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=PADDING, reduction="none"
    ).view_as(targets)


def _group_sum(values: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """Sums of values `(M, …)` over the groups `(M,)` they are in: `(n_groups, …)`."""
    return values.new_zeros(n_groups, *values.shape[1:]).index_add(0, group, values)


def _group_log_sum_exp(values: Tensor, group: Tensor, n_groups: int) -> Tensor:
    """The same for log-sum-exp, 0 for an empty group; safe where every `exp` underflows."""
    peaks = values.new_zeros(n_groups).scatter_reduce(
        0, group, values.detach(), "amax", include_self=False
    )
    sums = _group_sum((values - peaks[group]).exp(), group, n_groups)
    return sums.where(sums > 0, 1.0).log() + peaks


def _video_mean(values: Tensor, valid: Tensor) -> Tensor:
    """Mean over a video's valid entries `(B, N)`, 0 if there are none, then over videos `()`."""
    return (values.where(valid, 0.0).sum(1) / valid.sum(1).clamp(min=1)).mean()


def _positions(n_positions: int, like: Tensor) -> Tensor:
    """0, 1, … on the device of `like`."""
    return torch.arange(n_positions, device=like.device)


def _present(output: Tensor | None, name: str) -> Tensor:
    if output is None:
        raise InputError(
            f"the decoder gave no {name} for the loss of that name",
            remedy="switch the loss off, or the output on",
        )
    return output
