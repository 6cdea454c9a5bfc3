"""`poses`: points relative to the middle of their body, how they move, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from uvast.features.pose_files import Poses
    from uvast.features.tables import FloatArray

VERSION = "1"


def pose_features(poses: Poses, rows_per_second: float | None = None) -> FloatArray:
    """Features `(T, F)`, body after body.

    For P points of a body: the middle's x and y and its velocity (4), the points relative to the
    middle (2 P), their velocities relative to it (2 P), and 1 for each point that is missing (P).
    Missing points are interpolated in time.

    Args:
        poses: the points.
        rows_per_second: to give velocities in units per second; None gives units per row.
    """
    bodies = np.array(poses.bodies)
    parts = []
    for body in dict.fromkeys(poses.bodies):
        points = poses.points[:, bodies == body]
        lost = np.isnan(points[:, :, 0])
        filled = interpolated(points)
        middle = filled.mean(1, keepdims=True)
        relative = filled - middle
        rate = rows_per_second or 1.0
        moves = (_velocity(middle) * rate, relative, _velocity(relative) * rate)
        parts += [part.reshape(len(points), -1) for part in (middle, *moves)]
        parts.append(lost.astype(np.float64))
    return np.concatenate(parts, 1)


def interpolated(points: FloatArray) -> FloatArray:
    """Points `(T, P, 2)` without gaps; ends repeat, a point that is never seen sits in the middle.

    The middle is that of the points that are seen; without any it is 0.
    """
    times = np.arange(len(points))
    filled = points.copy()
    for index in range(points.shape[1]):
        seen = ~np.isnan(points[:, index, 0])
        if seen.any():
            for axis in (0, 1):
                filled[:, index, axis] = np.interp(times, times[seen], points[seen, index, axis])
    never = np.isnan(filled[0, :, 0])
    middle = filled[:, ~never].mean(1, keepdims=True) if not never.all() else 0.0
    filled[:, never] = middle
    return filled


def _velocity(points: FloatArray) -> FloatArray:
    """Units per row, from the neighbours on both sides."""
    if len(points) < 2:
        return np.zeros_like(points)
    velocity: FloatArray = np.gradient(points, axis=0)
    return velocity
