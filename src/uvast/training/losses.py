"""Every loss, as a pure function of logits and targets.

Shapes: B videos, T frames, S segments, L = S + 1 decoder positions (position i predicts segment i,
the one after a video's last segment predicts EOS), C classes, K outputs (C, or C + 1 with EOS),
N decoder layers. Integer targets are -1 at padding; logits at padding are finite and play no part.

A batch's loss is the mean over its videos of each video's own loss: a video counts the same alone
as in a padded batch, and a batch of one has the paper's loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from uvast.data.batching import PADDING
from uvast.models.layers import video_mean

if TYPE_CHECKING:
    from torch import Tensor

    from uvast.config import GroupMean


def cross_entropy(
    logits: Tensor,
    targets: Tensor,
    class_weights: Tensor | None = None,
    frame_weights: Tensor | None = None,
) -> Tensor:
    """Mean over a video's frames (or segments): logits `(B, N, K)`, classes `(B, N)`.

    With weights per class `(K,)`, or per frame and class `(B, N, K)`, all above 0, it is the
    weighted mean.
    """
    losses, valid = _negative_log_probability(logits, targets), targets != PADDING
    if class_weights is None and frame_weights is None:
        return video_mean(losses, valid)
    own, weights = targets.clamp(min=0), valid.to(losses)
    if class_weights is not None:
        weights = weights * class_weights.to(losses)[own]
    if frame_weights is not None:
        weights = weights * frame_weights.take_along_dim(own.unsqueeze(2), 2).squeeze(2)
    return ((losses * weights).sum(1) / weights.sum(1).where(valid.any(1), 1.0)).mean()


def group_loss(logits: Tensor, targets: Tensor, *, form: GroupMean, n_classes: int) -> Tensor:
    """One term for each class that occurs in a video, mean over them, then mean over videos.

    A class's group is its frames (or segments) by ground truth. EOS and anything else that is not
    a class forms no group, but the softmax runs over all K outputs.

    Args:
        logits: `(B, N, K)`, K at least C.
        targets: classes `(B, N)`.
        form: what is averaged inside a group: the class's probability (the paper's equations for
            the two group losses), the whole logit vector (supplement), or the log-probability.
        n_classes: C.
    """
    # A video has C + 1 groups: the last one collects what forms none, and is dropped again.
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
    return -video_mean(scores, counts.view(n_videos, width)[:, :n_classes] > 0)


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
    logits: Tensor, segment_of_frame: Tensor, n_segments: Tensor, *, temperature: float = 1.0
) -> Tensor:
    """Cross-entropy of the segment that holds each frame, from the alignment decoder (stage 2).

    Logits are `(B, T, S)`, `segment_of_frame (B, T)`, `n_segments (B,)`.
    """
    return _assignment_loss(logits.transpose(1, 2), segment_of_frame, n_segments, temperature)


def duration_loss(predicted: Tensor, fractions: Tensor, n_segments: Tensor) -> Tensor:
    """Squared error of explicit durations: predicted and true `(B, S)`, `n_segments (B,)`."""
    valid = _positions(predicted.shape[1], predicted) < n_segments.unsqueeze(1)
    return video_mean((predicted - fractions).square(), valid)


def smoothing_loss(
    logits: Tensor, valid: Tensor, *, clip: float = 4.0, likeness: Tensor | None = None
) -> Tensor:
    """Truncated squared change of log-probabilities from frame to frame (MS-TCN), 0 for one frame.

    Logits are `(B, T, C)`, valid frames `(B, T)`. The gradient flows into the later frame only; a
    change above `clip` counts as `clip` and has no gradient. `likeness (B, T - 1)`, if given,
    scales each change by how much a frame is like the one before (ASRF).
    """
    log_probabilities = logits.log_softmax(2)
    change = log_probabilities[:, 1:] - log_probabilities[:, :-1].detach()
    # Clamped before the square: the same value, and no overflow.
    losses = change.clamp(-clip, clip).square().mean(2)
    if likeness is not None:
        losses = losses * likeness
    return video_mean(losses, valid[:, 1:] & valid[:, :-1])


def confidence_loss(logits: Tensor, labels: Tensor, is_timestamp: Tensor) -> Tensor:
    """How much the class of a timestamp gets likelier away from it (Li et al. 2021).

    On the way from a timestamp to its neighbours, a rise of its class's log-probability from one
    frame to the next costs as much as it is large. A video's loss is the mean over all such steps:
    two for each frame between its first and its last timestamp, one for either neighbour's class.
    Nothing is asked between timestamps of one class.

    Args:
        logits: `(B, T, C)`.
        labels: classes `(B, T)`; only those of timestamps matter.
        is_timestamp: which frames are annotated `(B, T)`.
    """
    n_frames = labels.shape[1]
    places = _positions(n_frames, labels).expand_as(labels)
    # for the step from frame t to t + 1: the last timestamp up to t, the first from t + 1 on
    left = places.where(is_timestamp, PADDING).cummax(1).values[:, :-1]
    right = places.where(is_timestamp, n_frames).flip(1).cummin(1).values.flip(1)[:, 1:]
    between = (left != PADDING) & (right != n_frames)
    both = torch.stack((left, right), 2).clamp(0, n_frames - 1)  # (B, T - 1, 2)
    classes = labels.gather(1, both.flatten(1)).view_as(both)
    asked = between & (classes[..., 0] != classes[..., 1])
    classes = classes.clamp(min=0)
    log_probabilities = logits.log_softmax(2)
    before = log_probabilities[:, :-1].gather(2, classes)
    after = log_probabilities[:, 1:].gather(2, classes)
    rises = (after - before) * logits.new_tensor((1.0, -1.0))
    return video_mean(rises.relu().mean(2), asked)


def likeness_of_neighbours(features: Tensor, distance: float) -> Tensor:
    """`exp(-d / distance)` of frames whose features are d apart: `(B, T, F)` -> `(B, T - 1)`."""
    apart: Tensor = torch.linalg.vector_norm(features[:, 1:] - features[:, :-1], dim=2)
    return (apart / -distance).exp()


def boundary_targets(labels: Tensor, width: float) -> Tensor:
    """How much each frame is the start of a segment: labels `(B, T)` -> `(B, T)` in [0, 1].

    1 where the label changes, and around it a Gaussian of the distance to the nearest change, with
    a standard deviation of `width` frames. Chunks of a segment share its label, so there is no
    target between them. A video's first frame is not a change.
    """
    changes = (labels[:, 1:] != labels[:, :-1]) & (labels[:, 1:] != PADDING)
    cuts = functional.pad(changes, (1, 0))
    if not width:
        return cuts.float()
    far = labels.shape[1] + 40 * width  # so far from a cut that the target is 0
    frames = _positions(labels.shape[1], labels).float()
    before = frames.where(cuts, -far).cummax(1).values
    after = frames.where(cuts, frames + far).flip(1).cummin(1).values.flip(1)
    distance = torch.minimum(frames - before, after - frames)
    return (distance.square() / (-2 * width**2)).exp()


def boundary_loss(
    logits: Tensor, labels: Tensor, *, width: float, positive_weight: float
) -> Tensor:
    """Binary cross-entropy of segment starts: log-odds `(B, T)`, labels `(B, T)`.

    A video's first frame, which may start only a labelled stretch, plays no part. Starts are rare
    and weigh `positive_weight`; if that is 1 over their share, log-odds of 0 mean that a start is
    as likely here as anywhere.
    """
    losses = functional.binary_cross_entropy_with_logits(
        logits,
        boundary_targets(labels, width).to(logits),
        pos_weight=logits.new_tensor(positive_weight),
        reduction="none",
    )
    return video_mean(losses[:, 1:], labels[:, 1:] != PADDING)


def segment_targets(transcript: Tensor, n_segments: Tensor, *, eos: int) -> Tensor:
    """What the decoder should write: transcript `(B, S)`, EOS, then padding `(B, S + 1)`."""
    tokens = functional.pad(transcript, (0, 1), value=PADDING)
    end = n_segments.unsqueeze(1)
    positions = _positions(tokens.shape[1], tokens)
    return tokens.masked_fill(positions == end, eos).masked_fill(positions > end, PADDING)


def decoder_inputs(transcript: Tensor, n_segments: Tensor, *, sos: int, padding: int) -> Tensor:
    """What the decoder reads (teacher forcing): SOS, transcript, `padding` `(B, S + 1)`."""
    tokens = functional.pad(transcript, (1, 0), value=sos)
    positions = _positions(tokens.shape[1], tokens)
    return tokens.masked_fill(positions > n_segments.unsqueeze(1), padding)


def _assignment_loss(
    scores: Tensor, segment_of_frame: Tensor, n_segments: Tensor, temperature: float
) -> Tensor:
    """Equation `L_CA` of the paper, for scores `(B, S, T)`."""
    absent = _positions(scores.shape[1], scores) >= n_segments.unsqueeze(1)  # (B, S)
    # The lowest float, not -inf, which would make the gradient NaN for a video without segments.
    bias = scores.new_zeros(absent.shape).masked_fill(absent, torch.finfo(scores.dtype).min)
    scores = torch.add(bias.unsqueeze(2), scores, alpha=1 / temperature)
    losses = functional.cross_entropy(
        scores, segment_of_frame, ignore_index=PADDING, reduction="none"
    )
    return video_mean(losses, segment_of_frame != PADDING)


def _negative_log_probability(logits: Tensor, targets: Tensor) -> Tensor:
    """That of each target class, 0 at padding: `(B, N, K)`, `(B, N)` -> `(B, N)`."""
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


def _positions(n_positions: int, like: Tensor) -> Tensor:
    """0, 1, … on the device of `like`."""
    return torch.arange(n_positions, device=like.device)
