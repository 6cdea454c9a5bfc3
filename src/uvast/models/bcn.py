"""BCN: a cascade of wide stages for harder and harder frames, fused, and smoothed up to barriers.

Wang, Gao, Wang, Li and Wu, "Boundary-Aware Cascade Networks for Temporal Action Segmentation",
ECCV 2020. Every stage of the cascade sees the input and the features of the stages before it. In a
stage's cross-entropy, a frame whose class has probability p in the stage before has the weight
exp(-p) if p is above 0.8, else exp(p). The stages' probabilities are averaged by the same weights
(of the likeliest class), smoothed, refined by a narrow stage and smoothed again. Smoothing averages
neighbours up to barriers, which are the probabilities that a segment starts.

Where this differs from the paper: barriers are learned with the rest from the first epoch on, by
the boundary loss (theirs are trained first, and then with the cascade), so that every decoding can
use them as boundaries. They stand between frames, where theirs are frames. The stages' average uses
the weight of the likeliest class in training, too, where theirs uses that of the label. There is no
second barrier network on resized videos, which smooths the output four more times: it has 3.9 M of
the 16.7 M parameters quoted, and on GTEA theirs does without it, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from uvast.errors import ConfigError
from uvast.models.barrier import barrier_smooth
from uvast.models.dimensions import StagedDimensions
from uvast.models.encoded import Encoded
from uvast.models.encoder import checked_mask, clear_padding
from uvast.models.layers import InputProjection
from uvast.models.ms_tcn import DilatedResidualLayer, Stage, residual_layers

if TYPE_CHECKING:
    from collections.abc import Sequence


SURE = 0.8
"""Probability above which a frame is easy."""
FUSION_WIDTH = 64
FUSION_WINDOW = 7
"""Frames over which the stages' average is smoothed."""
BARRIER_DILATIONS = (4, 8, 16)


@dataclass(frozen=True)
class BcnDimensions(StagedDimensions):
    """Everything a BCN is built from.

    Args:
        width: D, the width of the cascade and of the barriers' layers.
        n_stages: stages of the cascade, plus the one that fuses them.
        barrier_window: frames over which the output is smoothed; odd.
    """

    width: int = 256
    barrier_window: int = 99

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_stages < 2:
            raise ConfigError(f"n_stages is {self.n_stages}", remedy="bcn needs at least 2")
        if self.barrier_window % 2 == 0:
            raise ConfigError(f"barrier_window is {self.barrier_window}", remedy="it must be odd")


class CascadeStage(nn.Module):
    """Layers on the input and the features of the stages before, and a frame classifier."""

    def __init__(self, dimensions: BcnDimensions, n_before: int) -> None:
        super().__init__()
        width = dimensions.width
        self.before = nn.Linear(n_before * width, width, bias=False) if n_before else None
        self.layers = nn.ModuleList(residual_layers(width, dimensions.n_layers, dimensions.dropout))
        self.classify = nn.Linear(width, dimensions.n_classes)

    def forward(self, x: Tensor, before: Sequence[Encoded], mask: Tensor | None) -> Encoded:
        """Embedded input `(B, T, D)`, stages before, valid frames `(B, T)` -> this stage."""
        if self.before is not None:
            x = x + self.before(torch.cat([one.features for one in before], dim=2))
        for layer in self.layers:
            x = layer(x, mask)
        weights = frame_weights(before[-1].logits) if before else None
        return Encoded(x, self.classify(x), frame_weights=weights)


class Bcn(nn.Module):
    """Cascade, barriers, and the stage that fuses them.

    Padding has no effect: a video's outputs are the same alone and in a batch.
    """

    gives_boundaries = True

    def __init__(self, dimensions: BcnDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        width, n_classes = dimensions.width, dimensions.n_classes
        n_layers, rate = dimensions.n_layers, dimensions.dropout
        n_cascaded = dimensions.n_stages - 1
        # The input layers of all stages and of the barriers are one product.
        n_inputs = (n_cascaded + 1) * width
        self.embed = InputProjection(dimensions.n_features, n_inputs, dimensions.channel_dropout)
        self.cascade = nn.ModuleList(CascadeStage(dimensions, n) for n in range(n_cascaded))
        self.barrier_layers = nn.ModuleList(
            DilatedResidualLayer(width, dilation, rate) for dilation in BARRIER_DILATIONS
        )
        self.boundary = nn.Linear(width, 1)
        self.fusion = Stage(
            nn.Linear(n_classes, FUSION_WIDTH),
            residual_layers(FUSION_WIDTH, n_layers, rate),
            width=FUSION_WIDTH,
            n_classes=n_classes,
        )

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Features `(B, T, F)`, valid frames `(B, T)` -> the fused stage, with boundaries.

        Its features are those of the cascade's last stage.
        """
        mask = checked_mask(features, mask, self.dimensions.n_features)
        embedded = clear_padding(self.embed(features), mask)
        *inputs, hidden = embedded.chunk(self.dimensions.n_stages, dim=2)
        stages: list[Encoded] = []
        for stage, x in zip(self.cascade, inputs, strict=True):
            stages.append(stage(x, stages, mask))
        for layer in self.barrier_layers:
            hidden = layer(hidden, mask)
        boundaries = self.boundary(hidden).squeeze(2)
        barriers = boundaries.sigmoid()
        average = barrier_smooth(weighted_average(stages), barriers, mask, FUSION_WINDOW)
        _, logits = self.fusion(average, mask)
        logits = barrier_smooth(logits, barriers, mask, self.dimensions.barrier_window)
        return Encoded(stages[-1].features, logits, boundaries, earlier=tuple(stages))


def frame_weights(logits: Tensor) -> Tensor:
    """Logits `(B, T, C)` -> a frame's weight in the next stage, for each class it may be of.

    `exp(-p)` where this stage gives the class a probability p above `SURE`, else `exp(p)`.
    """
    probabilities = logits.detach().softmax(2)
    return torch.where(probabilities > SURE, -probabilities, probabilities).exp()


def weighted_average(stages: Sequence[Encoded]) -> Tensor:
    """The stages' probabilities, averaged by each frame's weight in them `(B, T, C)`.

    It is the weight for the class that is likeliest in the stage before.
    """
    weights = [torch.ones_like(stages[0].logits[..., :1])]
    for before, stage in pairwise(stages):
        assert stage.frame_weights is not None, "of all stages but the first"
        likeliest = before.logits.argmax(2, keepdim=True)
        weights.append(stage.frame_weights.take_along_dim(likeliest, 2))
    shares = torch.stack(weights)  # (K, B, T, 1)
    probabilities = torch.stack([stage.logits.softmax(2) for stage in stages])
    return (probabilities * (shares / shares.sum(0))).sum(0)
