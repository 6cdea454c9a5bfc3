"""Long videos in stretches: what is computed at a time is bounded, and the results are the same.

It is for inference. Training keeps what it computes for the backward pass anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch

from uvast.models.protocols import as_frame_model, as_layered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor, nn

    from uvast.models.encoded import Encoded

STRETCH = 2**14
"""Frames computed at a time: nine minutes at 30 per second. Shorter videos are taken whole."""


@dataclass(frozen=True)
class Stretch:
    """Frames to compute, and those they depend on.

    Args:
        own: the frames to compute; those of all stretches tile the video.
        seen: these and their surroundings.
        inner: where its own frames are among the seen ones.
    """

    own: slice
    seen: slice
    inner: slice


def stretches(n_frames: int, *, tile: int = 1, halo: int = 0) -> Iterator[Stretch]:
    """Cuts `n_frames` into stretches of about `STRETCH` frames.

    Args:
        n_frames: T.
        tile: what is seen starts at a multiple of it, as do the frames of a stretch.
        halo: a frame depends on so many frames before its tile and after it.
    """
    size = tile * max(1, STRETCH // tile)
    before = tile * -(-halo // tile)
    for start in range(0, n_frames, size):
        stop = min(start + size, n_frames)
        first, last = max(0, start - before), min(stop + halo, n_frames)
        yield Stretch(slice(start, stop), slice(first, last), slice(start - first, stop - first))


def encode_scaled(
    model: nn.Module, n_frames: int, mask: Tensor | None, scaled: Callable[[slice], Tensor]
) -> Encoded:
    """Encodes features that exist only in stretches, if the model has an input layer.

    Args:
        model: any model.
        n_frames: T.
        mask: valid frames `(B, T)`; None means that all are.
        scaled: the features of some of the frames `(B, t, F)`.
    """
    layered = as_layered(model)
    if layered is None or n_frames <= STRETCH:
        # the protocol asks for a mask, but all models take None for one without padding
        return as_frame_model(model).encode(scaled(slice(0, n_frames)), cast("Tensor", mask))
    parts = (layered.input_layer(scaled(part.own)) for part in stretches(n_frames))
    return layered.encode_embedded(torch.cat(list(parts), dim=1), mask)
