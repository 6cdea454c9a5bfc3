"""Leaves frames near guessed cuts out of the frame losses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from uvast.data import Batch


def without_margins(batch: Batch, margin: float) -> Batch:
    """A batch whose targets say which frames are certain, see `far_from_cuts`."""
    if batch.targets is None:
        return batch
    targets = batch.targets
    is_certain = far_from_cuts(targets.segment_of_frame, targets.n_segments, margin)
    return replace(batch, targets=replace(targets, is_certain=is_certain))


def far_from_cuts(segment_of_frame: Tensor, n_segments: Tensor, margin: float) -> Tensor:
    """Which frames are outside the margins of all cuts `(B, T)`; False at padding.

    A segment has a margin at each end where it meets another one, not where the video begins or
    ends. At least one frame of every segment is outside its margins.

    Args:
        segment_of_frame: the index of the segment that holds each frame `(B, T)`, -1 at padding.
        n_segments: `(B,)`.
        margin: share of a segment's frames, below a half.
    """
    is_frame = segment_of_frame >= 0
    place = segment_of_frame.clamp(min=0)
    counts = torch.zeros_like(segment_of_frame).scatter_add(1, place, is_frame.long())
    starts = counts.cumsum(1) - counts
    lengths = counts.gather(1, place)
    frames = torch.arange(segment_of_frame.shape[1], device=segment_of_frame.device)
    before = frames - starts.gather(1, place)
    after = lengths - 1 - before
    reach = (margin * lengths.double()).floor()
    near_start = (before < reach) & (place > 0)
    near_end = (after < reach) & (place < n_segments.unsqueeze(1) - 1)
    return is_frame & ~near_start & ~near_end
