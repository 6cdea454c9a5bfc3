"""MS-TCN: stages of dilated residual layers, each refining the frame logits of the one before.

Abu Farha and Gall, "MS-TCN: Multi-Stage Temporal Convolutional Network for Action Segmentation",
CVPR 2019. The network that chains stages also serves MS-TCN++ and ASFormer, and its stages serve
ASRF and UVAST.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from uvast.models.convolution import DilatedConvolution
from uvast.models.dimensions import StagedDimensions, stage_dilations
from uvast.models.encoded import Encoded
from uvast.models.encoder import checked_mask, clear_padding, padding_only
from uvast.models.layers import InputProjection, dropout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True)
class MsTcnDimensions(StagedDimensions):
    """Everything an MS-TCN is built from.

    Args:
        dilations: of the layers, see `stage_dilations`; if empty, layer i has 2**i.
    """

    dilations: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "dilations", tuple(self.dilations))
        _ = self.dilations_of_stages  # refuses those that do not fit

    @property
    def dilations_of_stages(self) -> tuple[tuple[int, ...], ...]:
        """The dilations of each stage's layers."""
        return stage_dilations(self.dilations, self.n_layers, self.n_stages)


class DilatedResidualLayer(nn.Module):
    """Dilated convolution, ReLU, 1x1 convolution, dropout; added to the input."""

    def __init__(self, width: int, dilation: int, rate: float, kernel: int = 3) -> None:
        super().__init__()
        self.convolution = DilatedConvolution(width, dilation, kernel=kernel)
        self.mix = nn.Linear(width, width)
        self.rate = rate

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Frames `(B, T, D)`, zero on padding, valid ones `(B, T)` or None -> `(B, T, D)`."""
        hidden = self.mix(torch.relu(self.convolution(x)))
        return clear_padding(x + dropout(hidden, self.rate, self.training), mask)


class Stage(nn.Module):
    """A 1x1 convolution to the model's width, layers, and a frame classifier.

    Layers take `(x, mask)` and keep the shape of `x`.
    """

    def __init__(
        self, embed: nn.Module, layers: Iterable[nn.Module], *, width: int, n_classes: int
    ) -> None:
        super().__init__()
        self.embed = embed
        self.layers = nn.ModuleList(layers)
        self.classify = nn.Linear(width, n_classes)

    def forward(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Features or probabilities `(B, T, …)` -> features `(B, T, D)` and logits `(B, T, C)`."""
        return self.embedded(self.embed(x), mask)

    def embedded(self, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same from the 1x1 convolution's output `(B, T, D)` on."""
        x = clear_padding(x, mask)
        for layer in self.layers:
            x = layer(x, mask)
        return x, self.classify(x)


class Refinement(nn.Module):
    """A stage after the first: sees only the class probabilities of the stage before."""

    def __init__(
        self,
        *,
        width: int,
        n_classes: int,
        n_layers: int,
        dropout: float,
        dilations: Sequence[int] = (),
    ) -> None:
        super().__init__()
        embed = nn.Linear(n_classes, width)
        layers = residual_layers(width, n_layers, dropout, dilations)
        self.stage = Stage(embed, layers, width=width, n_classes=n_classes)

    def forward(self, before: Encoded, mask: Tensor | None) -> Encoded:
        """The stage before -> this stage."""
        return Encoded(*self.stage(before.logits.softmax(-1), mask))


class MultiStageNetwork(nn.Module):
    """A stage that predicts frame logits, then stages that refine them.

    Padding has no effect: a video's outputs are the same alone and in a batch.

    Args:
        dimensions: what the network was built from.
        prediction: `(features, mask)` -> frame features and logits: a `Stage` or `FrameEncoder`.
        refinements: each takes the `Encoded` of the stage before and the mask, and returns its own.
    """

    def __init__(
        self, dimensions: Any, prediction: nn.Module, refinements: Iterable[nn.Module]
    ) -> None:
        super().__init__()
        self.dimensions = dimensions
        self.prediction = prediction
        self.refinements = nn.ModuleList(refinements)

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Features `(B, T, F)`, valid frames `(B, T)` -> the last stage's features and logits."""
        mask = checked_mask(features, mask, self.dimensions.n_features)
        return self._refined(Encoded(*self.prediction(features, mask)), mask)

    @property
    def input_layer(self) -> nn.Module:
        """See `uvast.models.protocols.HasInputLayer`."""
        return self.prediction.embed  # type: ignore[return-value]

    def encode_embedded(self, x: Tensor, mask: Tensor | None) -> Encoded:
        """See `uvast.models.protocols.HasInputLayer`."""
        mask = padding_only(mask)
        return self._refined(Encoded(*self.prediction.embedded(x, mask)), mask)  # type: ignore[operator]

    def _refined(self, first: Encoded, mask: Tensor | None) -> Encoded:
        stages = [first]
        for refinement in self.refinements:
            stages.append(refinement(stages[-1], mask))
        return Encoded.chained(stages)


def ms_tcn(dimensions: MsTcnDimensions) -> MultiStageNetwork:
    """The network of the paper: the first stage is built like the others, on the input features."""
    first, *others = dimensions.dilations_of_stages
    layers = residual_layers(dimensions.width, dimensions.n_layers, dimensions.dropout, first)
    return refined(dimensions, layers, others)


def refined(
    dimensions: Any, layers: Iterable[nn.Module], dilations: Sequence[Sequence[int]]
) -> MultiStageNetwork:
    """A first stage of `layers` on the input features, refined by stages of these dilations."""
    prediction = first_stage(dimensions, layers)
    return MultiStageNetwork(dimensions, prediction, refinements(dimensions, dilations))


def first_stage(dimensions: Any, layers: Iterable[nn.Module]) -> Stage:
    """A stage of `layers` on the input features."""
    width = dimensions.width
    embed = InputProjection(dimensions.n_features, width, dimensions.channel_dropout)
    return Stage(embed, layers, width=width, n_classes=dimensions.n_classes)


def refinements(dimensions: Any, dilations: Sequence[Sequence[int]]) -> Iterator[Refinement]:
    """A stage of residual layers for each list of dilations, one for each layer."""
    for one in dilations:
        yield Refinement(
            width=dimensions.width,
            n_classes=dimensions.n_classes,
            n_layers=dimensions.n_layers,
            dropout=dimensions.dropout,
            dilations=one,
        )


def residual_layers(
    width: int, n_layers: int, rate: float, dilations: Sequence[int] = (), *, kernel: int = 3
) -> Iterator[nn.Module]:
    """Layers with the given dilations, one each, else doubling ones, and dropout at `rate`."""
    for dilation in dilations or [2**index for index in range(n_layers)]:
        yield DilatedResidualLayer(width, dilation, rate, kernel)
