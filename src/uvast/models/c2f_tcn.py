"""C2F-TCN: a U-Net over time whose output is an ensemble of its finer resolutions.

Singhania, Rahaman and Yao, "Coarse to Fine Multi-Resolution Temporal Convolutional Network", 2021.
As published: the input is max-pooled in chunks, of random sizes in training and of several sizes at
test time; seven blocks of two convolutions (kernel 5), batch norms and ReLUs, with six max-pools
between them; maxima over 2, 3, 5 and 6 of the coarsest frames, beside these frames; six steps of
linear upsampling, each joined with the block of its resolution; the mean softmax of the four finest
resolutions.

What is ours, where the facts we build on are silent:

- A pool's last run may be shorter than 2, so that a video of any length works.
- The maxima over 2, 3, 5 and 6 frames share one linear layer down to one channel each.
- Coarse logits are interpolated before the softmax. The two coarsest up-steps have no classifier:
  neither the loss nor the output would use it.
- Every video of a batch draws its own chunk size.
- Frames get the output of their chunk, and losses count frames. Neighbours within a chunk are
  alike, so a smoothing of 0.15 from chunk to chunk is one of 0.15 x chunk from frame to frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from uvast.errors import ConfigError
from uvast.models.convolution import DilatedConvolution
from uvast.models.dimensions import Dimensions
from uvast.models.encoded import Encoded
from uvast.models.encoder import checked_mask, clear_padding
from uvast.models.normalisation import BatchNorm
from uvast.models.packing import Packing
from uvast.models.resampling import Rate, max_pool, pool_chunks, repeat_chunks, stretch

KERNEL = 5
ENCODER_WIDTHS = (2, 2, 2, 1, 1, 1, 1)
"""Widths of the blocks on the way down, in decoder widths; max-pools lie between the blocks."""
PYRAMID = (2, 3, 5, 6)
N_ANSWERS = 4
"""Finest resolutions that are averaged."""


@dataclass(frozen=True)
class C2fTcnDimensions(Dimensions):
    """Everything a C2F-TCN is built from.

    Args:
        width: D, the width of the decoder; the encoder's three finest blocks are twice as wide.
        chunk: frames that are pooled into one in training, half of the time.
        test_chunk_least: the smallest of the chunks that are averaged at test time.
        test_chunk_most: the largest one.
    """

    width: int = 128
    chunk: int = 4
    test_chunk_least: int = 3
    test_chunk_most: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.test_chunk_least > self.test_chunk_most:
            raise ConfigError(
                f"test_chunk_least is {self.test_chunk_least}, above test_chunk_most, which is "
                f"{self.test_chunk_most}",
                remedy="set both to one size, or swap them",
            )


class ConvolutionBlock(nn.Module):
    """Convolution, batch norm and ReLU, twice."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            DilatedConvolution(n_in, 1, width_out=width, kernel=KERNEL)
            for n_in in (width_in, width)
        )
        self.norms = nn.ModuleList(BatchNorm(width) for _ in self.convolutions)

    def forward(self, x: Tensor, rate: Rate) -> Tensor:
        """Frames `(B, T, D)`, zero on padding -> `(B, T, D')`, zero on padding as well."""
        if rate.mask is None:
            return self._convolved(x, None)
        packing = Packing(rate.lengths, gap=KERNEL // 2)
        return packing.unpack(self._convolved(packing.pack(x), packing.mask(x.device)))

    def _convolved(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Frames `(B, T, D)`, zero on padding, valid ones `(B, T)` or None -> `(B, T, D')`."""
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            x = torch.relu(norm(convolution(x), mask))
        return x


class PyramidPooling(nn.Module):
    """Frames, and beside them maxima over 2, 3, 5 and 6 of them, in one channel each."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(width, 1)

    def forward(self, x: Tensor, rate: Rate) -> Tensor:
        """Frames `(B, T, D)`, zero on padding and never negative -> `(B, T, D + 4)`."""
        channels = [x]
        for factor in PYRAMID:
            squeezed = self.squeeze(max_pool(x, factor))
            mask = rate.lower(factor).mask
            channels.append(stretch(squeezed, mask, factor, x.shape[1]))
        return clear_padding(torch.cat(channels, 2), rate.mask)


class C2fTcn(nn.Module):
    """Encoder, pyramid pooling and decoder; one output from several resolutions.

    Padding has no effect: in eval mode a video's outputs are the same alone and in a batch.
    """

    def __init__(self, dimensions: C2fTcnDimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        width = dimensions.width
        widths = [width * share for share in ENCODER_WIDTHS]
        inputs = (dimensions.n_features, *widths)
        self.down = nn.ModuleList(
            ConvolutionBlock(n_in, n_out) for n_in, n_out in zip(inputs, widths, strict=False)
        )
        self.pyramid = PyramidPooling(widths[-1])
        below = [widths[-1] + len(PYRAMID)] + [width] * (len(widths) - 2)
        self.up = nn.ModuleList(
            ConvolutionBlock(skip + coarse, width)
            for skip, coarse in zip(widths[-2::-1], below, strict=True)
        )
        self.classifiers = nn.ModuleList(
            nn.Linear(width, dimensions.n_classes) for _ in range(N_ANSWERS)
        )

    def encode(self, features: Tensor, mask: Tensor | None) -> Encoded:
        """Features `(B, T, F)`, valid frames `(B, T)` -> features and log-probabilities."""
        mask = checked_mask(features, mask, self.dimensions.n_features)
        n_videos, n_frames, _ = features.shape
        lengths = [n_frames] * n_videos if mask is None else mask.sum(1).tolist()
        rate = Rate.of(lengths, features.device)
        found = []
        for sizes in self._chunk_sizes(n_videos):
            chunks = pool_chunks(features, rate, sizes)
            answer = self._answer(chunks, rate.lower(sizes))
            found.append([repeat_chunks(one, sizes, n_frames) for one in answer])
        hidden, answers = (torch.stack(part) for part in zip(*found, strict=True))
        return Encoded(clear_padding(hidden.mean(0), mask), _log_mean(answers))

    def _chunk_sizes(self, n_videos: int) -> list[list[int]]:
        """The chunk size of each video: drawn at random in training, every one in turn at test."""
        least, most = self.dimensions.test_chunk_least, self.dimensions.test_chunk_most
        if self.training:
            return [drawn_chunks(self.dimensions.chunk, n_videos)]
        return [[size] * n_videos for size in range(least, most + 1)]

    def _answer(self, x: Tensor, rate: Rate) -> tuple[Tensor, Tensor]:
        """Chunks `(B, t, F)` -> features `(B, t, D)` and log-probabilities `(B, t, C)`."""
        skips: list[Tensor] = []
        rates = [rate]
        for block in self.down:
            if skips:
                x = max_pool(x, 2)
                rates.append(rates[-1].lower(2))
            x = block(x, rates[-1])
            skips.append(x)
        x = self.pyramid(skips.pop(), rates[-1])
        logits = []
        for level, block in zip(reversed(range(len(skips))), self.up, strict=True):
            skip, rate = skips[level], rates[level]
            x = stretch(x, rates[level + 1].mask, 2, skip.shape[1])
            x = block(torch.cat((skip, clear_padding(x, rate.mask)), 2), rate)
            if level < N_ANSWERS:
                coarse = self.classifiers[level](x)
                logits.append(stretch(coarse, rate.mask, 2**level, skips[0].shape[1]))
        return x, _log_mean(torch.stack(logits).log_softmax(-1))


def drawn_chunks(base: int, n_videos: int) -> list[int]:
    """Chunk sizes for training: `base` half of the time, else log-uniform from its half to double.

    They come from torch's global generator, which is seeded again every epoch.
    """
    coins, powers = torch.rand(2, n_videos).tolist()
    return [
        base if coin < 0.5 else max(1, round(base * 2 ** (2 * power - 1)))
        for coin, power in zip(coins, powers, strict=True)
    ]


def _log_mean(log_probabilities: Tensor) -> Tensor:
    """Logarithm of the mean probability over the first axis: `(N, …)` -> `(…)`."""
    return log_probabilities.logsumexp(0) - math.log(len(log_probabilities))
