"""From boundaries, the log-odds that a segment starts at a frame, to cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.durations.result import FloatArray, checked_log_probabilities
from uvast.errors import InputError
from uvast.segments import IntArray, Segmentation, run_starts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LARGEST_LOG_ODDS = 5.0
"""Boundaries are clipped here: a network is far too sure of them, and a single frame must not
decide whether there is a segment."""


def boundary_scores(boundaries: ArrayLike, weight: float) -> FloatArray:
    """Scores of cuts `(T,)` for the exact searches, from log-odds `(T,)`.

    They are 0 where a start is as likely as anywhere, because training weighs starts by one over
    their share. So they move cuts, but on average neither add nor remove any.
    """
    return weight * np.clip(_checked(boundaries), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def cut_at_boundaries(log_probabilities: ArrayLike, boundaries: ArrayLike) -> Segmentation:
    """Cuts a video at its boundaries and labels the pieces by their frames (ASRF).

    A cut lies where the log-odds `(T,)` are above 0 and above those on either side (at the first
    frame of a plateau). A piece gets the class that is likeliest, by the frame scores `(T, C)`, in
    most of its frames; ties go to the lowest class. Neighbours of one class are joined.
    """
    frames = checked_log_probabilities(log_probabilities, -np.inf)
    n_frames, n_classes = frames.shape
    values = _checked(boundaries)
    if len(values) != n_frames:
        raise InputError(f"boundaries of {len(values)} frames for {n_frames} frames")
    starts = np.concatenate(([0], _peaks(values)))
    votes = np.zeros((len(starts), n_classes), dtype=np.int64)
    durations = np.diff(starts, append=n_frames)
    pieces = np.repeat(np.arange(len(starts)), durations)
    np.add.at(votes, (pieces, frames.argmax(axis=1)), 1)
    return Segmentation(votes.argmax(axis=1), durations).merged()


def _peaks(values: FloatArray) -> IntArray:
    """First frames of the inner runs of equal values that are above 0 and above both neighbours."""
    starts = run_starts(values)
    heights = values[starts]
    inner = heights[1:-1]
    is_peak = (inner > 0) & (inner > heights[:-2]) & (inner > heights[2:])
    peaks: IntArray = starts[1:-1][is_peak]
    return peaks


def _checked(boundaries: ArrayLike) -> FloatArray:
    values = np.asarray(boundaries, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any():
        raise InputError(f"boundaries of shape {values.shape} or with NaN, not numbers (T,)")
    return values
