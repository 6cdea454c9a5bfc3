"""Features as a picture, which projects without video files show instead of the video."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import InputError

if TYPE_CHECKING:
    from uvast.web.app import App

N_ROWS = 48
"""Rows of a picture; if there are more features, groups of them are averaged."""

_MOST_READ = 4


def heat_map(app: App, name: str, width: int, start: float, end: float | None) -> dict[str, object]:
    """Numbers from 0 to 255: one row per group of features, one column per moment.

    Args:
        app: the project.
        name: of the video.
        width: how many moments.
        start: in seconds.
        end: in seconds; None for the end of the video.
    """
    video = app.project.video(name)
    features = app.media.features(video)
    times = app.media.frame_times(video)
    assert times is not None, "features have times"
    n_frames = len(features)
    length = float(times.edges([n_frames])[0])
    end = length if end is None else min(end, length)
    if not start < end:
        raise InputError(f"{start:g} to {end:g} s is not a stretch of time", remedy="end it later")
    first, last = times.frames_at([start, end]).tolist()
    last = min(n_frames, last + 1)
    n_columns = min(width, last - first)
    edges = np.linspace(first, last, n_columns + 1).astype(int)
    groups = np.linspace(0, features.shape[1], min(N_ROWS, features.shape[1]) + 1).astype(int)
    columns = []
    for left, right in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        step = max(1, (right - left) // _MOST_READ)
        frame = np.asarray(features[left:right:step], dtype=np.float64).mean(axis=0)
        columns.append(np.add.reduceat(frame, groups[:-1]) / np.diff(groups))
    table = np.array(columns).T
    low, high = np.percentile(table, [2, 98], axis=1, keepdims=True)
    spread = np.where(high > low, high - low, 1.0)
    shown = np.clip(255 * (table - low) / spread, 0, 255).astype(int)
    moments = times.edges(edges)
    return {"rows": shown.tolist(), "start": float(moments[0]), "end": float(moments[-1])}
