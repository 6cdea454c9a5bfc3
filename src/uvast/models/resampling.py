"""From a rate of frames to a lower one and back, each video of a padded batch as if it were alone.

Maxima over runs of frames lead down, linear interpolation leads up. The last run of a video may be
shorter, so that no frame is lost and a video of one frame stays one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, eq=False)
class Rate:
    """The frames of a batch at one rate.

    Args:
        lengths: frames of each video.
        mask: valid frames `(B, T)`, None if all are.
        device: of the mask.
    """

    lengths: tuple[int, ...]
    mask: Tensor | None
    device: torch.device

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device) -> Rate:
        """Of videos of these lengths; the longest is T."""
        longest = max(lengths)
        if min(lengths) == longest:
            return cls(tuple(lengths), None, device)
        mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)
        return cls(tuple(lengths), mask.to(device), device)

    def lower(self, factors: int | Sequence[int]) -> Rate:
        """That of the maxima over so many frames, the same for all videos or each its own."""
        each = [factors] * len(self.lengths) if isinstance(factors, int) else factors
        pairs = zip(self.lengths, each, strict=True)
        return Rate.of([-(-length // factor) for length, factor in pairs], self.device)


def max_pool(x: Tensor, factor: int) -> Tensor:
    """Maxima of `x (B, T, D)` over every `factor` frames: `(B, ceil(T / factor), D)`.

    No value is below 0, and padding is 0: it is never above a valid frame.
    """
    missing = -x.shape[1] % factor
    if missing:
        x = functional.pad(x, (0, 0, 0, missing))
    n_videos, n_frames, width = x.shape
    return x.view(n_videos, n_frames // factor, factor, width).amax(2)


def pool_pairs(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The larger of each two valid frames; one that has no second stays as it is.

    Frames `(B, T, D)`, valid ones `(B, T)` -> `(B, ceil(T / 2), D)` and its valid ones.
    """
    first, second = x[:, ::2], x[:, 1::2]
    if x.shape[1] % 2:
        second = torch.cat((second, first[:, -1:]), 1)
    if mask is None:
        return torch.maximum(first, second), None
    has_second = functional.pad(mask[:, 1::2], (0, x.shape[1] % 2))
    second = second.where(has_second.unsqueeze(2), first)
    return torch.maximum(first, second), mask[:, ::2]


def stretch(x: Tensor, mask: Tensor | None, factor: int, n_frames: int) -> Tensor:
    """Linear interpolation at `factor` times the rate: `(B, t, D)` -> `(B, T, D)`.

    A frame stands in the middle of those it becomes; before the first and after a video's last
    valid one (`mask (B, t)`) values stay as they are. Padding holds anything.
    """
    if factor == 1:
        return x[:, :n_frames]
    before = torch.cat((x[:, :1], x[:, :-1]), 1)
    after = torch.cat((x[:, 1:], x[:, -1:]), 1)
    if mask is not None:
        has_next = functional.pad(mask[:, 1:], (0, 1)).unsqueeze(2)
        after = after.where(has_next, x)
    offset = (torch.arange(factor, dtype=x.dtype, device=x.device) + 0.5) / factor - 0.5
    offset = offset.unsqueeze(1)  # (factor, 1), from -1/2 to 1/2
    y = x.unsqueeze(2) * (1 - offset.abs())  # (B, t, factor, D)
    y = y + before.unsqueeze(2) * (-offset).clamp(min=0) + after.unsqueeze(2) * offset.clamp(min=0)
    return y.flatten(1, 2)[:, :n_frames]


def pool_chunks(features: Tensor, rate: Rate, sizes: Sequence[int]) -> Tensor:
    """Maxima of each video over chunks of its own size: `(B, T, F)` -> `(B, t, F)`, padded with 0.

    Padding of the features plays no part, whatever it holds.
    """
    pooled = [
        _chunk_maxima(video[:length], size)
        for video, length, size in zip(features, rate.lengths, sizes, strict=True)
    ]
    return pooled[0].unsqueeze(0) if len(pooled) == 1 else pad_sequence(pooled, batch_first=True)


def repeat_chunks(x: Tensor, sizes: Sequence[int], n_frames: int) -> Tensor:
    """What is said of a chunk, said of its frames: `(B, t, D)` -> `(B, T, D)`.

    Padding gets what the batch's last chunk holds.
    """
    n_videos, n_chunks, width = x.shape
    frames = torch.arange(n_frames, device=x.device)
    size = torch.tensor(sizes, device=x.device).unsqueeze(1)
    first = n_chunks * torch.arange(n_videos, device=x.device).unsqueeze(1)
    rows = first + (frames // size).clamp(max=n_chunks - 1)  # (B, T)
    return x.flatten(0, 1).index_select(0, rows.flatten()).view(n_videos, n_frames, width)


def _chunk_maxima(frames: Tensor, size: int) -> Tensor:
    """`(T, F)` -> `(ceil(T / size), F)`."""
    n_whole = len(frames) // size
    whole, rest = frames[: n_whole * size], frames[n_whole * size :]
    pooled = whole.view(n_whole, size, frames.shape[1]).amax(1)
    return torch.cat((pooled, rest.amax(0, keepdim=True))) if len(rest) else pooled
