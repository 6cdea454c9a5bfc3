"""MS-TCN++: MS-TCN whose first stage sees near and far frames in every layer.

Li, Abu Farha, Liu, Cheng and Gall, "MS-TCN++: Multi-Stage Temporal Convolutional Network for Action
Segmentation", TPAMI 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from uvast.models.convolution import DilatedConvolution
from uvast.models.dimensions import stage_dilations
from uvast.models.encoder import clear_padding
from uvast.models.layers import dropout
from uvast.models.ms_tcn import MsTcnDimensions, MultiStageNetwork, refined

if TYPE_CHECKING:
    from typing_extensions import Self

    from uvast.config import ModelConfig


@dataclass(frozen=True)
class MsTcnPlusPlusDimensions(MsTcnDimensions):
    """The dilations are those of the stages after the first.

    Args:
        n_prediction_layers: dual dilated layers of the first stage.
    """

    n_prediction_layers: int = 11

    @property
    def dilations_of_stages(self) -> tuple[tuple[int, ...], ...]:
        """The dilations of the layers of each stage after the first."""
        return stage_dilations(self.dilations, self.n_layers, self.n_stages - 1)

    @classmethod
    def from_config(
        cls, config: ModelConfig, n_features: int, n_classes: int, **others: object
    ) -> Self:
        """The first stage has one more layer."""
        own = {"n_prediction_layers": config.n_encoder_layers + 1, **others}
        return super().from_config(config, n_features, n_classes, **own)


class DualDilatedLayer(nn.Module):
    """Two dilated convolutions side by side, fused by a 1x1 convolution; added to the input."""

    def __init__(self, width: int, dilations: tuple[int, int], rate: float) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(DilatedConvolution(width, one) for one in dilations)
        self.fuse = nn.Linear(2 * width, width)
        self.rate = rate

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Frames `(B, T, D)`, zero on padding, valid ones `(B, T)` or None -> `(B, T, D)`."""
        both = torch.cat([convolution(x) for convolution in self.convolutions], dim=-1)
        hidden = torch.relu(self.fuse(both))
        return clear_padding(x + dropout(hidden, self.rate, self.training), mask)


def ms_tcn_plus_plus(dimensions: MsTcnPlusPlusDimensions) -> MultiStageNetwork:
    """The network of the paper: in the first stage one dilation grows as the other shrinks."""
    last = dimensions.n_prediction_layers - 1
    layers = [
        DualDilatedLayer(dimensions.width, (2 ** (last - index), 2**index), dimensions.dropout)
        for index in range(last + 1)
    ]
    return refined(dimensions, layers, dimensions.dilations_of_stages)
