"""I3D RGB: clips to 1024 features every eighth frame; norms folded into the convolutions.

Carreira and Zisserman 2017, "Quo vadis, action recognition?". Its sizes are read from the shapes
of its weights. Shapes: T frames of H x W pixels, channels last in memory throughout.

Clips have a multiple of 8 frames and sizes that are multiples of 32. Then TensorFlow's uneven
SAME padding is the same at every call, and a piece of a video is seen as it is in the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    Arrays = Mapping[str, NDArray[np.float32]]

_EPSILON = 1e-3
_PIECE = 16


class _Mix(nn.Module):
    """A 1x1x1 convolution as a matrix product, then ReLU: `(T, H, W, C)` to the same."""

    kernel: Tensor
    bias: Tensor

    def __init__(self, kernel: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.register_buffer("kernel", kernel[0, 0, 0].T.contiguous())
        self.register_buffer("bias", bias)

    def forward(self, clip: Tensor) -> Tensor:
        return functional.linear(clip, self.kernel, self.bias).relu_()


class _Look(nn.Module):
    """A convolution over space and time, then ReLU: `(T, H, W, C)` to the same."""

    kernel: Tensor
    bias: Tensor

    def __init__(self, kernel: Tensor, bias: Tensor, *, stride: int = 1) -> None:
        super().__init__()
        self.register_buffer(
            "kernel",
            kernel.permute(4, 3, 0, 1, 2).contiguous(memory_format=torch.channels_last_3d),
        )
        self.register_buffer("bias", bias)
        self.stride = stride
        self.size = kernel.shape[0]
        self.before = (self.size - stride) // 2
        self.after = self.size - stride - self.before

    def forward(self, clip: Tensor) -> Tensor:
        return self._convolved(clip, self.size // 2)

    def pooled(self, clip: Tensor) -> Tensor:
        """Convolved, then the largest values over 3 x 3 places, at every second one.

        Works piece by piece: the maps of a long clip before pooling are too large to keep.
        """
        pieces = []
        n_frames, n_found = len(clip), len(clip) // self.stride
        for start in range(0, n_found, _PIECE):
            end = min(start + _PIECE, n_found)
            first = start * self.stride - self.before
            last = (end - 1) * self.stride - self.before + self.size
            around = (max(0, -first), max(0, last - n_frames))
            part = functional.pad(
                clip[max(0, first) : last], (0, 0, *(self.before, self.after) * 2, *around)
            )
            pieces.append(_pool(self._convolved(part, 0), (1, 3, 3), 2))
        return torch.cat(pieces)

    def _convolved(self, clip: Tensor, padding: int) -> Tensor:
        found = functional.conv3d(
            _channels_second(clip), self.kernel, self.bias, self.stride, padding
        )
        return _channels_last(found.relu_())


class _Mixed(nn.Module):
    """Four views of a clip side by side; their 1x1x1 convolutions are one product."""

    def __init__(self, folded: Mapping[str, tuple[Tensor, Tensor]], name: str) -> None:
        super().__init__()
        first = [folded[f"{name}/Branch_{branch}/Conv3d_0a_1x1"] for branch in range(3)]
        self.sizes = [len(bias) for _, bias in first]
        self.mix = _Mix(torch.cat([k for k, _ in first], -1), torch.cat([b for _, b in first]))
        self.look_1 = _Look(*folded[f"{name}/Branch_1/Conv3d_0b_3x3"])
        self.look_2 = _Look(*folded[f"{name}/Branch_2/Conv3d_0b_3x3"])
        self.mix_3 = _Mix(*folded[f"{name}/Branch_3/Conv3d_0b_1x1"])

    def forward(self, clip: Tensor) -> Tensor:
        plain, first, second = self.mix(clip).split(self.sizes, -1)
        pooled = self.mix_3(_pool(clip, (3, 3, 3), 1))
        return torch.cat((plain, self.look_1(first), self.look_2(second), pooled), -1)


class I3D(nn.Module):
    """Clips `(T, H, W, 3)` in [-1, 1] to features `(T / 8, 1024)`."""

    class_kernel: Tensor
    class_bias: Tensor

    def __init__(self, arrays: Arrays) -> None:
        super().__init__()
        folded = {name: _folded(arrays, name) for name in _units(arrays)}
        self.stem = _Look(*folded["Conv3d_1a_7x7"], stride=2)
        self.mix = _Mix(*folded["Conv3d_2b_1x1"])
        self.look = _Look(*folded["Conv3d_2c_3x3"])
        self.mixed_3 = _stage(folded, "Mixed_3b", "Mixed_3c")
        self.mixed_4 = _stage(folded, *(f"Mixed_4{letter}" for letter in "bcdef"))
        self.mixed_5 = _stage(folded, "Mixed_5b", "Mixed_5c")
        self.register_buffer("class_kernel", _tensor(arrays[_CLASSES + "kernel"])[0, 0, 0])
        self.register_buffer("class_bias", _tensor(arrays[_CLASSES + "bias"]))

    @property
    def width(self) -> int:
        """Features per row."""
        return len(self.class_kernel)

    def forward(self, clip: Tensor) -> Tensor:
        """Features, the mean over all places."""
        return self.places(clip).mean((1, 2))

    def places(self, clip: Tensor) -> Tensor:
        """The features of every place `(T / 8, H / 32, W / 32, 1024)`."""
        found = self.look.pooled(self.mix(self.stem.pooled(clip)))
        found = _pool(self.mixed_3(found), (3, 3, 3), 2)
        found = _pool(self.mixed_4(found), (2, 2, 2), 2)
        places: Tensor = self.mixed_5(found)
        return places

    def classes(self, clip: Tensor) -> Tensor:
        """Scores of Kinetics' 400 classes `(400,)`; a check that clips are scaled correctly.

        The published head averages two neighbours in time: over a clip, the ends count half.
        """
        features = self(clip)
        pairs = (features[1:] + features[:-1]) / 2 if len(features) > 1 else features
        scores: Tensor = pairs.mean(0) @ self.class_kernel + self.class_bias
        return scores


def normalised(frames: Tensor) -> Tensor:
    """Bytes to the network's input, both `(T, H, W, 3)`."""
    return frames.to(torch.float32).div_(127.5).sub_(1.0)


_CLASSES = "params/Logits/Conv3d_0c_1x1/Conv_0/"


def _units(arrays: Arrays) -> list[str]:
    """Names of the convolutions that are followed by a norm."""
    end = "/BatchNorm_0/bias"
    return [name.removeprefix("params/").removesuffix(end) for name in arrays if name.endswith(end)]


def _folded(arrays: Arrays, name: str) -> tuple[Tensor, Tensor]:
    """`norm(convolve(x))` as one convolution: kernel `(t, h, w, in, out)` and bias `(out,)`."""
    statistics = f"batch_stats/{name}/BatchNorm_0/"
    mean = _tensor(arrays[statistics + "mean"]).flatten()
    scale = torch.rsqrt(_tensor(arrays[statistics + "var"]).flatten() + _EPSILON)
    kernel = _tensor(arrays[f"params/{name}/Conv_0/kernel"]) * scale
    return kernel, _tensor(arrays[f"params/{name}/BatchNorm_0/bias"]) - mean * scale


def _stage(folded: Mapping[str, tuple[Tensor, Tensor]], *names: str) -> nn.Sequential:
    return nn.Sequential(*(_Mixed(folded, name) for name in names))


def _pool(clip: Tensor, sizes: tuple[int, int, int], stride: int) -> Tensor:
    """Largest values over time, height and width, one axis after the other.

    Places past the end do not count, as in TensorFlow. Several times faster on a CPU than torch's
    pooling over all three axes at once.
    """
    for axis, size in enumerate(sizes):
        if size > 1:
            clip = _pool_axis(clip, axis, size) if stride == 2 else _largest_of_three(clip, axis)
    return clip


def _pool_axis(clip: Tensor, axis: int, size: int) -> Tensor:
    """The largest of 2 or 3 neighbours, at every second place."""
    steps = clip.view(*clip.shape[:axis], -1, 2, *clip.shape[axis + 1 :])
    even, odd = steps.select(axis + 1, 0), steps.select(axis + 1, 1)
    found = torch.maximum(even, odd)
    if size == 3:
        length = clip.shape[axis] // 2 - 1
        inner = found.narrow(axis, 0, length)
        torch.maximum(inner, even.narrow(axis, 1, length), out=inner)
    return found


def _largest_of_three(clip: Tensor, axis: int) -> Tensor:
    """The largest of each place and its two neighbours."""
    length = clip.shape[axis] - 1
    found = clip.clone()
    for target, source in ((0, 1), (1, 0)):
        part = found.narrow(axis, target, length)
        torch.maximum(part, clip.narrow(axis, source, length), out=part)
    return found


def _channels_second(clip: Tensor) -> Tensor:
    """`(T, H, W, C)` to `(1, C, T, H, W)`, a view."""
    return clip.permute(3, 0, 1, 2)[None]


def _channels_last(clip: Tensor) -> Tensor:
    """`(1, C, T, H, W)` to `(T, H, W, C)`, a view."""
    return clip[0].permute(1, 2, 3, 0)


def _tensor(array: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(array.copy())
