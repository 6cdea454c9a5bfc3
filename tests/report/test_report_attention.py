"""Columns of attention maps: means over frames, as if every frame had been drawn."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from uvast.report.attention import MAX_COLUMNS, _columns, _target
from uvast.sampling import source_bounds
from uvast.segments import Segmentation


def segmentation(n_segments: int, n_frames: int) -> Segmentation:
    ends = np.arange(1, n_segments + 1) * n_frames // n_segments
    return Segmentation(np.arange(n_segments) % 3, np.diff(ends, prepend=0))


@pytest.mark.parametrize("n_frames", [7, MAX_COLUMNS, MAX_COLUMNS + 1, 3 * MAX_COLUMNS + 50])
def test_the_target_is_the_mean_over_the_frames_of_each_column(n_frames: int) -> None:
    rows = segmentation(7, n_frames)
    frames = rows.segment_of_frame == np.arange(len(rows))[:, None]
    columns = np.array_split(np.arange(n_frames), min(n_frames, MAX_COLUMNS))
    target = _target(rows)
    assert target.shape == (7, len(columns))
    np.testing.assert_array_equal(
        target, _columns(frames.astype(np.float32), np.arange(n_frames + 1))
    )
    np.testing.assert_allclose(target.sum(0), 1)
    np.testing.assert_allclose((target > 0) @ np.ones(len(columns)), n_of(frames), atol=2)


@pytest.mark.parametrize("n_source", [30, 3 * MAX_COLUMNS + 50])
def test_columns_are_of_source_frames_so_that_maps_end_where_segments_do(n_source: int) -> None:
    bounds = source_bounds(n_source, 7)
    rows = segmentation(3, len(bounds) - 1)
    frames = rows.segment_of_frame == np.arange(len(rows))[:, None]
    found = _columns(frames.astype(np.float32), bounds)
    np.testing.assert_allclose(found, _target(rows.upsampled(7, n_source)), atol=1e-9)


def n_of(frames: np.ndarray) -> np.ndarray:
    """How many columns each segment covers, roughly."""
    return frames.sum(1) * min(frames.shape[1], MAX_COLUMNS) / frames.shape[1]


def test_the_target_of_a_long_video_needs_little_memory() -> None:
    rows = segmentation(200, 50_000)
    tracemalloc.start()
    _target(rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50_000 * 200  # a byte for each frame of each segment would be as much
