"""From one frame rate to a lower one and back, each video of a padded batch as if it were alone.

Maxima over runs of frames lower the rate, linear interpolation raises it. The last run of a video
may be shorter, so that no frame is lost and a video of one frame stays one.
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
        """The rate at which videos have these lengths; the longest is T."""
        longest = max(lengths)
        if min(lengths) == longest:
            return cls(tuple(lengths), None, device)
        mask = torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)
        return cls(tuple(lengths), mask.to(device), device)

    def lower(self, factors: int | Sequence[int]) -> Rate:
        """The rate of maxima over `factors` frames: one number for all videos, or one for each."""
        each = [factors] * len(self.lengths) if isinstance(factors, int) else factors
        pairs = zip(self.lengths, each, strict=True)
        return Rate.of([-(-length // factor) for length, factor in pairs], self.device)


def max_pool(x: Tensor, factor: int) -> Tensor:
    """Maxima of `x (B, T, D)` over every `factor` frames: `(B, ceil(T / factor), D)`.

    No value may be below 0, and padding must be 0, so that it is never above a valid frame.
    """
    missing = -x.shape[1] % factor
    if missing:
        x = functional.pad(x, (0, 0, 0, missing))
    n_videos, n_frames, width = x.shape
    return x.view(n_videos, n_frames // factor, factor, width).amax(2)


def pool_pairs(x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Maxima of pairs of valid frames; a frame without a second one stays as it is.

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
    valid one (`mask (B, t)`), values are constant. Padding may hold anything.
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

    Padding of the features has no effect, whatever it holds.
    """
    pooled = [
        _chunk_maxima(video[:length], size)
        for video, length, size in zip(features, rate.lengths, sizes, strict=True)
    ]
    return pooled[0].unsqueeze(0) if len(pooled) == 1 else pad_sequence(pooled, batch_first=True)


def repeat_chunks(x: Tensor, sizes: Sequence[int], n_frames: int) -> Tensor:
    """Repeats the values of each chunk for its frames: `(B, t, D)` -> `(B, T, D)`.

    Padding gets the values of its own chunk, or of the last one.
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
