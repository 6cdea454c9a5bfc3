"""ASRF: a trunk with two branches, one for the frames' classes and one for segment boundaries.

Ishikawa, Kasai, Aoki and Kataoka, "Alleviating Over-segmentation Errors by Detecting Action
Boundaries", WACV 2021. Each branch is refined by its own stages, built like those of MS-TCN: one
branch's stages see only class probabilities, the other's only boundary probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch import nn

from uvast.models.encoded import Encoded
from uvast.models.encoder import checked_mask
from uvast.models.ms_tcn import (
    MsTcnDimensions,
    Stage,
    first_stage,
    refinements,
    residual_layers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


@dataclass(frozen=True)
class AsrfDimensions(MsTcnDimensions):
    """As in `MsTcnDimensions`; the stages are the trunk and those that refine each branch.

    Both branches have the same dilations.
    """


class BoundaryRefinement(nn.Module):
    """A stage that sees only the boundary probabilities of the stage before."""

    def __init__(self, dimensions: AsrfDimensions, dilations: Sequence[int]) -> None:
        super().__init__()
        width = dimensions.width
        layers = residual_layers(width, dimensions.n_layers, dimensions.dropout, dilations)
        self.stage = Stage(nn.Linear(1, width), layers, width=width, n_classes=1)

    def forward(self, before: Tensor, mask: Tensor | None) -> Tensor:
        """Log-odds of the stage before `(B, T)`, valid frames `(B, T)` -> this stage's `(B, T)`."""
        _, scores = self.stage(before.sigmoid().unsqueeze(2), mask)
        refined: Tensor = scores.squeeze(2)
        return refined


class Asrf(nn.Module):
    """Trunk, class branch and boundary branch.

    Padding has no effect: a video's outputs are the same alone and in a batch.
    """

    gives_boundaries = True

    def __init__(self, dimensions: AsrfDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        width = dimensions.width
        first, *others = dimensions.dilations_of_stages
        layers = residual_layers(width, dimensions.n_layers, dimensions.dropout, first)
        self.trunk = first_stage(dimensions, layers)
        self.boundary = nn.Linear(width, 1)
        self.refinements = nn.ModuleList(refinements(dimensions, others))
        self.boundary_refinements = nn.ModuleList(
            BoundaryRefinement(dimensions, one) for one in others
        )

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Features `(B, T, F)`, valid frames `(B, T)` -> the last stage of both branches."""
        mask = checked_mask(features, mask, self.dimensions.n_features)
        hidden, logits = self.trunk(features, mask)
        stages = [Encoded(hidden, logits, self.boundary(hidden).squeeze(2))]
        for classes, boundaries in zip(self.refinements, self.boundary_refinements, strict=True):
            before = stages[-1]
            refined = replace(classes(before, mask), boundaries=boundaries(before.boundaries, mask))
            stages.append(refined)
        return Encoded.chained(stages)
