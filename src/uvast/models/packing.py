"""A padded batch without its padding: videos one after the other, a few zero frames between them.

A convolution whose kernel is no wider than the gap sees the same zeros beyond a video's ends as if
the video were alone. Where lengths differ by a factor of two, half of a padded batch is padding:
packed, it costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, eq=False)
class Packing:
    """Where each video of a batch lies in the packed sequence of N frames.

    Args:
        lengths: frames of each video.
        gap: zero frames after each video.
    """

    lengths: tuple[int, ...]
    gap: int

    @cached_property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """Start and end of each video."""
        ends = accumulate(length + self.gap for length in self.lengths)
        return tuple(
            (end - self.gap - length, end - self.gap)
            for length, end in zip(self.lengths, ends, strict=True)
        )

    @property
    def n_frames(self) -> int:
        """N, gaps included."""
        return sum(self.lengths) + self.gap * len(self.lengths)

    def mask(self, device: torch.device) -> Tensor:
        """The frames that belong to a video `(1, N)`."""
        found = torch.zeros((1, self.n_frames), dtype=torch.bool)
        for start, end in self.spans:
            found[0, start:end] = True
        return found.to(device)

    def pack(self, x: Tensor) -> Tensor:
        """Videos `(B, T, D)` -> one sequence `(1, N, D)`, zero in the gaps."""
        return _Pack.apply(x, self)  # type: ignore[no-any-return, no-untyped-call]

    def unpack(self, packed: Tensor) -> Tensor:
        """One sequence `(1, N, D)` -> videos `(B, T, D)`, zero on padding; T is the longest."""
        return _Unpack.apply(packed, self)  # type: ignore[no-any-return, no-untyped-call]

    def packed(self, x: Tensor) -> Tensor:
        """`pack` without a gradient."""
        found = x.new_zeros((1, self.n_frames, x.shape[2]))
        for video, (start, end) in zip(x, self.spans, strict=True):
            found[0, start:end] = video[: end - start]
        return found

    def unpacked(self, packed: Tensor) -> Tensor:
        """`unpack` without a gradient."""
        found = packed.new_zeros((len(self.lengths), max(self.lengths), packed.shape[2]))
        for video, (start, end) in zip(found, self.spans, strict=True):
            video[: end - start] = packed[0, start:end]
        return found


class _Pack(torch.autograd.Function):
    """Packing only moves values, so its gradient is that of the packed frames, unpacked."""

    @staticmethod
    def forward(ctx, x: Tensor, packing: Packing) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.packing = packing
        return packing.packed(x)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        return ctx.packing.unpacked(gradient), None


class _Unpack(torch.autograd.Function):
    """The reverse of `_Pack`."""

    @staticmethod
    def forward(ctx, packed: Tensor, packing: Packing) -> Tensor:  # type: ignore[no-untyped-def]
        ctx.packing = packing
        return packing.unpacked(packed)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[no-untyped-def]
        return ctx.packing.packed(gradient), None
