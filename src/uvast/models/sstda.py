"""SSTDA: an MS-TCN whose middle stages cannot tell labelled videos from unlabelled ones.

Chen, Li, Bao, AlRegib and Kira, "Action Segmentation with Joint Self-Supervised Temporal Domain
Adaptation", CVPR 2020. In training, two classifiers look at the frame features of a stage: one
tells for each frame whether its video is labelled, the other tells in which order segments of a
labelled and of an unlabelled video were put together. Both learn to be right, and their gradients
are reversed on the way to the features. At inference they are not used: it is an MS-TCN.

As published: stages 2 and 3; two segments per video, pooled with weights 1 + (1 - entropy of the
frame's domain); the 6 orders of two and two segments; the ramp of the reversed gradients, a tenth
for the second classifier; the entropy of the classes, weighted by 1 + that of the domain, at 0.01.

What is ours: each stage has its own classifiers, with one hidden layer as wide as the stage and the
stage's dropout; labelled and unlabelled videos count one half each; the entropy of the domain is
just a weight, and no gradient flows through it; a shorter network adapts whichever of stages 2 and
3 it has, or its only stage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from uvast.models.layers import dropout, video_mean
from uvast.models.ms_tcn import MsTcnDimensions, ms_tcn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.models.encoded import Encoded

T = TypeVar("T")

ADAPTED = slice(1, 3)
"""Stages 2 and 3."""

N_SEGMENTS = 2
"""Segments per video."""

ORDERS = tuple(combinations(range(2 * N_SEGMENTS), N_SEGMENTS))
"""The places that the segments of a labelled video can have among those of both; the class of an
order is its index here."""

VIDEO_SHARE = 0.1
"""The reversed gradient of the orders, as a share of that of the frames."""

ENTROPY_WEIGHT = 0.01
RAMP = 10.0


@dataclass(frozen=True)
class SstdaDimensions(MsTcnDimensions):
    """As in `MsTcnDimensions`."""


class Sstda(nn.Module):
    """An MS-TCN with classifiers of the domain, which only training uses.

    Padding has no effect: a video's outputs are the same alone and in a batch.
    """

    def __init__(self, dimensions: SstdaDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.network = ms_tcn(dimensions)
        n_adapted = len(_adapted(range(dimensions.n_stages)))
        self.adversaries = nn.ModuleList(
            Adversary(dimensions.width, dimensions.dropout) for _ in range(n_adapted)
        )

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Features `(B, T, F)`, valid frames `(B, T)` -> the last stage's features and logits."""
        return self.network.encode(features, mask)

    def adaptation_terms(
        self,
        source: Encoded,
        source_mask: Tensor,
        target: Encoded,
        target_mask: Tensor,
        progress: float,
    ) -> Mapping[str, Tensor]:
        """The losses of both classifiers and the entropy of the classes, summed over stages.

        See `uvast.models.protocols.LearnsUnlabelled`.
        """
        strength = ramp(progress)
        masks = (source_mask, target_mask)
        stages = zip(_adapted(source.stages), _adapted(target.stages), strict=True)
        found = [
            adversary(pair, masks, strength)
            for adversary, pair in zip(self.adversaries, stages, strict=True)
        ]
        frames, videos, entropy = torch.stack([torch.stack(terms) for terms in found]).sum(0)
        return {
            "frame_domain": frames,
            "video_domain": videos,
            "attentive_entropy": ENTROPY_WEIGHT * entropy,
        }


class Adversary(nn.Module):
    """The two classifiers of one stage."""

    def __init__(self, width: int, rate: float) -> None:
        super().__init__()
        self.frames = Classifier(width, width, 1, rate)
        self.orders = Classifier(2 * N_SEGMENTS * width, width, len(ORDERS), rate)

    def forward(
        self, stages: tuple[Encoded, Encoded], masks: tuple[Tensor, Tensor], strength: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Takes labelled and unlabelled videos, each with their valid frames `(B, T)`.

        Returns:
            The loss of the frames' classifier, that of the orders', and the entropy of the
            classes, weighted by that of the frames' domain; all `()`.
        """
        losses, entropies, segments = [], [], []
        for domain, (stage, mask) in enumerate(zip(stages, masks, strict=True)):
            odds = self.frames(reverse_gradient(stage.features, strength)).squeeze(2)
            truth = torch.full_like(odds, domain)
            missed = functional.binary_cross_entropy_with_logits(odds, truth, reduction="none")
            losses.append(video_mean(missed, mask))
            doubt = domain_entropy(odds.detach())
            entropies.append(video_mean((1 + doubt) * class_entropy(stage.logits), mask))
            segments.append(pooled_segments(stage.features, 2 - doubt, mask))
        mixed, order = mixed_segments(*segments)
        guesses = self.orders(reverse_gradient(mixed, VIDEO_SHARE * strength))
        halves = torch.stack([torch.stack(losses), torch.stack(entropies)]).mean(1)
        return halves[0], functional.cross_entropy(guesses, order), halves[1]


class Classifier(nn.Module):
    """A classifier with one hidden layer."""

    def __init__(self, n_inputs: int, width: int, n_outputs: int, rate: float) -> None:
        super().__init__()
        self.embed = nn.Linear(n_inputs, width)
        self.classify = nn.Linear(width, n_outputs)
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """`(…, n_inputs)` -> `(…, n_outputs)`."""
        scores: Tensor = self.classify(dropout(self.embed(x).relu(), self.rate, self.training))
        return scores


class _Reverse(torch.autograd.Function):
    """The identity, whose gradient is reversed and weighted."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx, x: Tensor, weight: float
    ) -> Tensor:
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(  # type: ignore[no-untyped-def]
        ctx, gradient: Tensor
    ) -> tuple[Tensor, None]:
        return gradient * -ctx.weight, None


def reverse_gradient(x: Tensor, weight: float) -> Tensor:
    """The tensor itself; in the backward pass, its gradient times `-weight`."""
    return _Reverse.apply(x, weight)  # type: ignore[no-any-return, no-untyped-call]


def ramp(progress: float) -> float:
    """The strength of the reversed gradients, from 0 to nearly 1 over training."""
    return 2 / (1 + math.exp(-RAMP * progress)) - 1


def domain_entropy(odds: Tensor) -> Tensor:
    """The entropy of a yes or no with these log-odds, in nats."""
    return functional.softplus(odds) - odds * odds.sigmoid()


def class_entropy(logits: Tensor) -> Tensor:
    """The entropy of each frame's classes: `(B, T, C)` -> `(B, T)`, in nats."""
    logs = logits.log_softmax(2)
    return -(logs.exp() * logs).sum(2)


def pooled_segments(features: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """Each video in `N_SEGMENTS` equal parts, whose frames are weighted and averaged.

    Args:
        features: `(B, T, D)`, finite on padding.
        weights: of the frames `(B, T)`; they need not sum to 1.
        mask: the valid frames `(B, T)`.

    Returns:
        `(B, N_SEGMENTS, D)`, 0 for a part without frames.
    """
    frames = torch.arange(mask.shape[1], device=mask.device)
    part = frames * N_SEGMENTS // mask.sum(1, keepdim=True)  # (B, T)
    parts = torch.arange(N_SEGMENTS, device=mask.device)[:, None]
    inside = (part[:, None] == parts) & mask[:, None]  # (B, N_SEGMENTS, T)
    n_frames = inside.sum(2, keepdim=True).clamp(min=1)
    return (weights[:, None] * inside) @ features / n_frames


def mixed_segments(source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs of videos, one of each domain, whose segments are put together in a random order.

    Args:
        source: the segments of labelled videos `(B, N_SEGMENTS, D)`.
        target: those of unlabelled ones; if there are fewer of either, they are repeated.

    Returns:
        The segments in that order, side by side `(B, 2 * N_SEGMENTS * D)`, and which of `ORDERS`
        it is `(B,)`.
    """
    pairs = torch.arange(max(len(source), len(target)), device=source.device)
    both = torch.cat([source[pairs % len(source)], target[pairs % len(target)]], 1)
    order = torch.rand(both.shape[:2], device=both.device).argsort(1)  # (B, 2 * N_SEGMENTS)
    return both.gather(1, order[..., None].expand_as(both)).flatten(1), order_class(order)


def order_class(order: Tensor) -> Tensor:
    """Which of `ORDERS` it is: segments `(B, 2 * N_SEGMENTS)`, labelled ones first -> `(B,)`."""
    places = (order >= N_SEGMENTS).long().argsort(dim=1, stable=True)[:, :N_SEGMENTS]
    known = torch.tensor(ORDERS, device=order.device)  # (6, N_SEGMENTS)
    found: Tensor = (places[:, None] == known).all(2).long()
    return found.argmax(1)


def _adapted(stages: Sequence[T]) -> Sequence[T]:
    """The stages of a network that are adapted."""
    return stages[ADAPTED] or stages[:1]
