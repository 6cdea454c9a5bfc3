"""`pixels`: small pictures and how they change, block by block; no weights, only NumPy.

A picture of 64 x 48 pixels has 8 x 6 blocks. Each gives its mean colour, how much it changes, and
where it moves: the motion that best explains the change (Lucas and Kanade 1981).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.features.extractor import Picture, View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uvast.features.extractor import Features, Pictures, Request

_HEIGHT, _WIDTH, _BLOCK = 48, 64, 8
_STILL = 4.0
"""Squared grey levels: what noise does to a still picture; keeps its motion at zero."""


@dataclass(frozen=True)
class Pixels:
    """Colour, change and motion of 48 blocks."""

    view: View
    name: str = "pixels"
    version: str = "1"
    width: int = (_HEIGHT // _BLOCK) * (_WIDTH // _BLOCK) * 6
    stride: int = 1
    window: int = 256
    context: int = 1
    centre: float = 0.0

    def __call__(self, frames: Pictures) -> Features:
        """Frames `(N, 48, 64, 3)` to `(N, 288)`."""
        colours = frames.astype(np.float32)
        grey = colours.mean(-1)
        around = np.concatenate((grey[:1], grey, grey[-1:]))
        change = (around[2:] - around[:-2]) / 2
        down, right = np.gradient(grey, axis=(1, 2))
        motion = _motion(down, right, change)
        parts = (_by_block(colours) / 255, _by_block(np.abs(change))[..., None] / 255, motion)
        return np.concatenate(parts, -1).reshape(len(frames), -1).astype(np.float32)


def make(request: Request) -> Pixels:
    """The extractor; it needs no weights."""
    return Pixels(View(Picture(_HEIGHT, _WIDTH), request.rate))


def _motion(
    down: NDArray[np.float32], right: NDArray[np.float32], change: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Pixels per frame to the right and down, by block `(N, 6, 8, 2)`."""
    across, along, mixed = map(_by_block, (right * right, down * down, right * down))
    moved = [_by_block(-gradient * change) for gradient in (right, down)]
    across, along = across + _STILL, along + _STILL
    determinant = across * along - mixed**2
    rightward = (along * moved[0] - mixed * moved[1]) / determinant
    downward = (across * moved[1] - mixed * moved[0]) / determinant
    return np.stack((rightward, downward), -1)


def _by_block(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Means over blocks, `(N, 48, 64, …)` to `(N, 6, 8, …)`."""
    n_frames, height, width = values.shape[:3]
    blocks = values.reshape(
        n_frames, height // _BLOCK, _BLOCK, width // _BLOCK, _BLOCK, *values.shape[3:]
    )
    means: NDArray[np.float32] = blocks.mean((2, 4))
    return means
