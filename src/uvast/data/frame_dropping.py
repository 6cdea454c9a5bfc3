"""Frames dropped at random in training (docs/method.md, "Augmentation")."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import InputError
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from uvast.data.video import Video

LEAST, MOST = 10, 200
"""How many frames are dropped from a video."""


def drop_frames(
    video: Video,
    segmentation: Segmentation,
    generator: np.random.Generator,
    *,
    probability: float = 0.5,
) -> tuple[Video, Segmentation]:
    """With `probability`, drops `LEAST` to `min(MOST, T / 2)` frames, never a whole segment.

    Annotated frames are never dropped. A video too short to lose `LEAST` frames stays as it is.
    Pure: the arguments do not change.
    """
    if segmentation.n_frames != video.n_frames:
        raise InputError(
            f"a segmentation of {segmentation.n_frames} frames", where=f"video {video.name}"
        )
    largest = min(MOST, video.n_frames // 2)
    if generator.random() >= probability or largest < LEAST:
        return video, segmentation
    n_dropped = int(generator.integers(LEAST, largest + 1))
    # one frame of every segment is safe, so that no segment and no class is lost
    droppable = np.ones(video.n_frames, dtype=bool)
    droppable[segmentation.sampled_timestamps(generator)] = False
    timestamps = video.timestamps
    if timestamps is not None:
        droppable[timestamps] = False
    candidates = np.flatnonzero(droppable)
    dropped = generator.choice(candidates, min(n_dropped, len(candidates)), replace=False)
    kept = np.delete(np.arange(video.n_frames), dropped)
    durations = np.bincount(segmentation.segment_of_frame[kept], minlength=len(segmentation))
    shorter = replace(
        video,
        features=video.features[kept],
        labels=None if video.labels is None else video.labels[kept],
        source_frames=len(kept) * video.sampling_rate,
        timestamps=None if timestamps is None else np.searchsorted(kept, timestamps),
    )
    return shorter, Segmentation(segmentation.transcript, durations)
