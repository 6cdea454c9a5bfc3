"""DTGRM: a stage of MS-TCN, refined by stages of graph layers over three dilated frames.

Wang, Hu, Li and Dou, "Temporal Relational Modeling with Self-Supervision for Action Segmentation",
AAAI 2021. A layer has two graphs around each frame, one whose links are the cosines of its frames
and one whose links are learned, each with its own weights. In training, every video goes through
the network once more with a fifth of its frames swapped in pairs: each stage has to find the
swapped frames and, from the frames around them, still name the class that belongs at each place
(the label of the place, not of the frame that is there now).

Where the paper leaves a choice: links are normalised by a softmax over the existing pairs of a
graph, so that padding and frames outside the video have no effect; a frame's bias counts once, not
once per graph; swapped videos have no smoothing loss. They share the input layer's result, which
does not depend on the order of the frames.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from uvast.data.batching import PADDING
from uvast.models.convolution import dilated_convolution
from uvast.models.dilated_graph import N_PAIRS, cosines, missing_pairs, spread
from uvast.models.dimensions import StagedDimensions
from uvast.models.encoded import Encoded
from uvast.models.encoder import checked_mask, clear_padding
from uvast.models.layers import dropout, video_mean
from uvast.models.ms_tcn import first_stage, residual_layers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.data import Targets

SWAPPED_SHARE = 0.2
DETECTION = 2.0
"""Weight of finding the swapped frames."""
CORRECTION = 0.5
"""Weight of classifying the frames of a video with swapped frames."""


@dataclass(frozen=True)
class DtgrmDimensions(StagedDimensions):
    """Everything a DTGRM is built from; all stages but the first have graph layers."""


@dataclass(frozen=True, kw_only=True)
class SwappedEncoded(Encoded):
    """In training: the videos as they are, and each stage's view of them with frames swapped.

    Args:
        is_swapped: the frames that changed places `(B, T)`.
        swapped_logits: class scores of each stage, `(B, T, C)`.
        swapped_odds: log-odds of each stage that a frame was swapped, `(B, T)`.
    """

    is_swapped: Tensor
    swapped_logits: tuple[Tensor, ...]
    swapped_odds: tuple[Tensor, ...]


class GraphLayer(nn.Module):
    """Two graph convolutions side by side, ReLU, 1x1 convolution, dropout; added to the input."""

    def __init__(self, width: int, dilation: int, rate: float) -> None:
        super().__init__()
        bound, link_bound = 1 / math.sqrt(width), 1 / math.sqrt(3 * width)
        self.weight = nn.Parameter(torch.empty(2, width, width).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(2, 1, width).uniform_(-bound, bound))
        links = torch.empty(3, width, N_PAIRS).uniform_(-link_bound, link_bound)
        self.link_weight = nn.Parameter(links)
        self.link_bias = nn.Parameter(torch.empty(N_PAIRS).uniform_(-link_bound, link_bound))
        self.mix = nn.Linear(width, width)
        self.dilation, self.rate = dilation, rate

    def forward(self, x: Tensor, mask: Tensor | None, missing: Tensor) -> Tensor:
        """Frames to frames.

        Args:
            x: frames `(B, T, D)`, zero on padding.
            mask: valid ones `(B, T)`, or None if all are.
            missing: the `missing_pairs` of the graphs `(B or 1, T, 9)`.
        """
        learned = dilated_convolution(x, self.link_weight, self.link_bias, self.dilation)
        links = torch.stack((cosines(x, self.dilation), learned))  # (2, B, T, 9)
        adjacency = links.masked_fill(missing, -torch.inf).softmax(3)
        received = spread(x, adjacency, self.dilation).flatten(1, 2)  # (2, B * T, D)
        hidden = torch.baddbmm(self.bias, received, self.weight).relu().sum(0).view_as(x)
        return clear_padding(x + dropout(self.mix(hidden), self.rate, self.training), mask)


class GraphStage(nn.Module):
    """Graph layers on the class probabilities of the stage before, and a frame classifier."""

    def __init__(self, dimensions: DtgrmDimensions) -> None:
        super().__init__()
        width, n_classes = dimensions.width, dimensions.n_classes
        self.embed = nn.Linear(n_classes, width)
        self.layers = nn.ModuleList(
            GraphLayer(width, 2**index, dimensions.dropout) for index in range(dimensions.n_layers)
        )
        self.classify = nn.Linear(width, n_classes)

    def forward(self, before: Encoded, mask: Tensor | None, missing: Sequence[Tensor]) -> Encoded:
        """The stage before, valid frames `(B, T)`, missing pairs of each layer -> this stage."""
        hidden = clear_padding(self.embed(before.logits.softmax(2)), mask)
        for layer, absent in zip(self.layers, missing, strict=True):
            hidden = layer(hidden, mask, absent)
        return Encoded(hidden, self.classify(hidden))


class Dtgrm(nn.Module):
    """A stage of residual layers, stages of graph layers, and a detector of swaps for each.

    Padding has no effect: a video's outputs are the same alone and in a batch.
    """

    def __init__(self, dimensions: DtgrmDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        width = dimensions.width
        layers = residual_layers(width, dimensions.n_layers, dimensions.dropout)
        self.prediction = first_stage(dimensions, layers)
        self.refinements = nn.ModuleList(
            GraphStage(dimensions) for _ in range(dimensions.n_stages - 1)
        )
        self.detectors = nn.ModuleList(nn.Linear(width, 1) for _ in range(dimensions.n_stages))

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Features `(B, T, F)`, valid frames `(B, T)` -> the last stage.

        In training it is a `SwappedEncoded`.
        """
        mask = checked_mask(features, mask, self.dimensions.n_features)
        embedded = clear_padding(self.prediction.embed(features), mask)
        if not self.training:
            return Encoded.chained(self._stages(embedded, mask))
        n_videos, n_frames = features.shape[:2]
        lengths = [n_frames] * n_videos if mask is None else mask.sum(1).tolist()
        places = swapped_places(lengths, n_frames).to(features.device)
        # One batch: few large operations instead of many small ones.
        both = torch.cat((embedded, embedded.take_along_dim(places.unsqueeze(2), 1)))
        stages = self._stages(both, None if mask is None else mask.repeat(2, 1))
        own = [Encoded(one.features[:n_videos], one.logits[:n_videos]) for one in stages]
        last = Encoded.chained(own)
        swapped = [one.features[n_videos:] for one in stages]
        return SwappedEncoded(
            last.features,
            last.logits,
            earlier=last.earlier,
            is_swapped=places != torch.arange(n_frames, device=places.device),
            swapped_logits=tuple(one.logits[n_videos:] for one in stages),
            swapped_odds=tuple(
                detect(one).squeeze(2) for detect, one in zip(self.detectors, swapped, strict=True)
            ),
        )

    def own_terms(
        self, encoded: Encoded, features: Tensor, mask: Tensor, targets: Targets
    ) -> Mapping[str, Tensor]:
        """Losses of finding the swapped frames, and the classes that belong in their places."""
        assert isinstance(encoded, SwappedEncoded), "encoded in training"
        truth = encoded.is_swapped.to(features.dtype)
        labels = targets.frame_labels
        detection, correction = features.new_zeros(()), features.new_zeros(())
        for odds, logits in zip(encoded.swapped_odds, encoded.swapped_logits, strict=True):
            missed = functional.binary_cross_entropy_with_logits(odds, truth, reduction="none")
            detection = detection + video_mean(missed, mask)
            wrong = functional.cross_entropy(
                logits.transpose(1, 2), labels, ignore_index=PADDING, reduction="none"
            )
            correction = correction + video_mean(wrong, labels != PADDING)
        return {"swap_detection": DETECTION * detection, "swap_correction": CORRECTION * correction}

    def _stages(self, embedded: Tensor, mask: Tensor | None) -> list[Encoded]:
        """Embedded frames `(B, T, D)`, valid ones `(B, T)` -> every stage."""
        hidden = embedded
        for layer in self.prediction.layers:
            hidden = layer(hidden, mask)
        stages = [Encoded(hidden, self.prediction.classify(hidden))]
        dilations = [2**index for index in range(self.dimensions.n_layers)]
        missing = [missing_pairs(mask, hidden.shape[1], one, hidden) for one in dilations]
        for stage in self.refinements:
            stages.append(stage(stages[-1], mask, missing))
        return stages


def swapped_places(lengths: Sequence[int], n_frames: int) -> Tensor:
    """Where the frame at each place comes from `(B, T)`: pairs of a video's frames change places.

    They are a fifth of each video's frames, drawn from torch's generator; padding stays.
    """
    places = torch.arange(n_frames).repeat(len(lengths), 1)
    for row, length in zip(places, lengths, strict=True):
        n_pairs = int(length * SWAPPED_SHARE / 2)
        first, second = torch.randperm(length)[: 2 * n_pairs].view(2, n_pairs)
        row[first], row[second] = second, first
    return places
