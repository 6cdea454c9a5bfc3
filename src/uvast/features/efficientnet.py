"""EfficientNet-lite0: pictures to 1280 features; norms folded into the convolutions.

Tan and Le 2019, "EfficientNet"; lite means no squeeze-and-excitation, and ReLU6 throughout.
Shapes: N pictures, H x W pixels. Sizes are multiples of 32, so that TensorFlow's uneven SAME
padding is the same at every call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch import Tensor

WIDTH = 1280
_EPSILON = 1e-3


class _Stage(NamedTuple):
    """Blocks of one kind: how often, kernel, stride of the first, expansion, output channels."""

    repeats: int
    kernel: int
    stride: int
    expansion: int
    channels: int


_STEM = 32
_STAGES = (
    _Stage(1, 3, 1, 1, 16),
    _Stage(2, 3, 2, 6, 24),
    _Stage(2, 5, 2, 6, 40),
    _Stage(3, 3, 2, 6, 80),
    _Stage(3, 5, 1, 6, 112),
    _Stage(4, 5, 2, 6, 192),
    _Stage(1, 3, 1, 6, 320),
)


class _Mix(nn.Module):
    """A 1x1 convolution as a matrix product, then ReLU6 unless it is linear."""

    def __init__(self, n_in: int, n_out: int, *, linear: bool = False) -> None:
        super().__init__()
        self.weights = nn.Linear(n_in, n_out)
        self.linear = linear

    def forward(self, pictures: Tensor) -> Tensor:
        found: Tensor = self.weights(pictures)
        return found if self.linear else functional.relu6(found, inplace=True)


class _Look(nn.Module):
    """A convolution over the neighbourhood with TensorFlow's SAME padding, then ReLU6.

    At stride 2 that padding is one less in front than behind. A row and a column of zeros in
    front of the kernel do the same and save a padded copy of the pictures.
    """

    def __init__(self, n_in: int, n_out: int, kernel: int, *, stride: int, groups: int) -> None:
        super().__init__()
        self.front = stride - 1
        self.weights = nn.Conv2d(
            n_in, n_out, kernel + self.front, stride, padding=kernel // 2, groups=groups
        )

    def forward(self, pictures: Tensor) -> Tensor:
        found: Tensor = self.weights(pictures.permute(0, 3, 1, 2))
        return functional.relu6(found, inplace=True).permute(0, 2, 3, 1)


class _Block(nn.Module):
    """Widen, look around channel by channel, narrow; added to the input where the shapes allow."""

    def __init__(self, n_in: int, n_out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = n_in * expansion
        self.expand = None if expansion == 1 else _Mix(n_in, inner)
        self.look = _Look(inner, inner, kernel, stride=stride, groups=inner)
        self.narrow = _Mix(inner, n_out, linear=True)
        self.is_residual = stride == 1 and n_in == n_out

    def forward(self, pictures: Tensor) -> Tensor:
        inner = pictures if self.expand is None else self.expand(pictures)
        found: Tensor = self.narrow(self.look(inner))
        return found.add_(pictures) if self.is_residual else found


class EfficientNetLite(nn.Module):
    """Pictures `(N, H, W, 3)`, scaled by `normalised`, to features `(N, 1280)`."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _Look(3, _STEM, 3, stride=2, groups=1)
        blocks: list[_Block] = []
        n_in = _STEM
        for stage in _STAGES:
            for index in range(stage.repeats):
                stride = stage.stride if index == 0 else 1
                blocks.append(_Block(n_in, stage.channels, stage.kernel, stride, stage.expansion))
                n_in = stage.channels
        self.blocks = nn.Sequential(*blocks)
        self.head = _Mix(n_in, WIDTH)
        self.classifier = nn.Linear(WIDTH, 1000)

    def forward(self, pictures: Tensor) -> Tensor:
        """Features, the mean over all places."""
        found: Tensor = self.head(self.blocks(self.stem(pictures)))
        return found.mean((1, 2))

    def classes(self, pictures: Tensor) -> Tensor:
        """Scores of ImageNet's classes `(N, 1000)`; a check that pictures are scaled correctly."""
        scores: Tensor = self.classifier(self(pictures))
        return scores


def normalised(pictures: Tensor) -> Tensor:
    """Bytes to the network's input, both `(N, H, W, 3)`."""
    return pictures.to(torch.float32).sub_(127.0).div_(128.0)


def load_efficientnet(weights: Mapping[str, Tensor]) -> EfficientNetLite:
    """The network with the weights of the package's state dict, ready to run."""
    network = EfficientNetLite()
    with torch.no_grad():
        for unit, convolution, norm in _units(network):
            _fold(unit, weights, convolution, norm)
        network.classifier.weight.copy_(weights["_fc.weight"])
        network.classifier.bias.copy_(weights["_fc.bias"])
    return network.eval()


def _units(network: EfficientNetLite) -> Iterator[tuple[_Mix | _Look, str, str]]:
    """Each convolution with the names of its weights and of its norm in the state dict."""
    yield network.stem, "_conv_stem", "_bn0"
    for index, block in enumerate(network.blocks):
        assert isinstance(block, _Block), "blocks are"
        place = f"_blocks.{index}."
        if block.expand is not None:
            yield block.expand, f"{place}_expand_conv", f"{place}_bn0"
        yield block.look, f"{place}_depthwise_conv", f"{place}_bn1"
        yield block.narrow, f"{place}_project_conv", f"{place}_bn2"
    yield network.head, "_conv_head", "_bn1"


def _fold(unit: _Mix | _Look, weights: Mapping[str, Tensor], convolution: str, norm: str) -> None:
    """`norm(convolve(x))` as one convolution or matrix product."""
    scale = weights[f"{norm}.weight"] / torch.sqrt(weights[f"{norm}.running_var"] + _EPSILON)
    kernel = weights[f"{convolution}.weight"] * scale[:, None, None, None]
    if isinstance(unit, _Look):
        kernel = functional.pad(kernel, (unit.front, 0, unit.front, 0))
        unit.weights.weight.data = kernel.contiguous(memory_format=torch.channels_last)
    else:
        unit.weights.weight.copy_(kernel[:, :, 0, 0])
    assert unit.weights.bias is not None, "every unit has one"
    unit.weights.bias.copy_(weights[f"{norm}.bias"] - weights[f"{norm}.running_mean"] * scale)
