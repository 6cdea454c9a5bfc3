"""The network of Li et al.: MS-TCN whose first stage is two towers of different kernels.

Li, Abu Farha and Gall, "Temporal Action Segmentation from Timestamp Supervision", CVPR 2021. How it
learns from timestamps is not part of the network: see `uvast.supervision.energy` and
`uvast.training.losses.confidence_loss`, which any model can use.

Each tower is a whole stage, with its own input layer and classifier; their features and their
logits are summed. Summing both is our choice, and so is cutting pseudo-labels by the features of
the last stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from uvast.models.ms_tcn import (
    MsTcnDimensions,
    MultiStageNetwork,
    first_stage,
    refinements,
    residual_layers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

KERNELS = (3, 5)
"""Kernel sizes of the two towers."""


@dataclass(frozen=True)
class LiDimensions(MsTcnDimensions):
    """As in `MsTcnDimensions`; both towers have the layers and dilations of the first stage."""


class Towers(nn.Module):
    """One stage per kernel size on the input features, summed."""

    def __init__(self, dimensions: LiDimensions, dilations: Sequence[int]) -> None:
        super().__init__()
        width, n_layers, rate = dimensions.width, dimensions.n_layers, dimensions.dropout
        self.towers = nn.ModuleList(
            first_stage(
                dimensions, residual_layers(width, n_layers, rate, dilations, kernel=kernel)
            )
            for kernel in KERNELS
        )

    def forward(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Features `(B, T, F)`, valid frames `(B, T)` -> `(B, T, D)` and logits `(B, T, C)`."""
        narrow, wide = (tower(x, mask) for tower in self.towers)
        return narrow[0] + wide[0], narrow[1] + wide[1]


def li(dimensions: LiDimensions) -> MultiStageNetwork:
    """The towers, refined by the stages of MS-TCN."""
    first, *others = dimensions.dilations_of_stages
    prediction = Towers(dimensions, first)
    return MultiStageNetwork(dimensions, prediction, refinements(dimensions, others))
