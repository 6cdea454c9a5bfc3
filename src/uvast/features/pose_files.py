"""Tracked points: DeepLabCut CSV and H5, SLEAP analysis H5, tables with `NAME_x` and `NAME_y`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import CorruptFileError
from uvast.features.extras import extra
from uvast.features.tables import read_table
from uvast.files import missing, unreadable

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.features.tables import FloatArray, Table

LEAST_CONFIDENCE = 0.5
"""A point that its tracker is less sure of counts as missing."""

_COLUMN = re.compile(r"(.+)[_. ](x|y|likelihood|score|confidence|visibility)", flags=re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Poses:
    """Where tracked points are.

    Args:
        bodies: the body of each point `(P,)`.
        points: x and y, NaN where a point is missing `(T, P, 2)`.
    """

    bodies: tuple[str, ...]
    points: FloatArray


def read_poses(path: Path) -> Poses:
    """Reads tracked points, whichever of the formats the file has."""
    if not path.is_file():
        raise missing(path)
    if path.suffix.lower() in (".h5", ".hdf5"):
        poses = _read_sleap(path)
        if poses is not None:
            return poses
    return poses_of(read_table(path), path)


def poses_of(table: Table, path: Path) -> Poses:
    """The points among a table's columns."""
    found: dict[tuple[str, str], dict[str, FloatArray]] = {}
    for column, values in zip(table.columns, table.values.T, strict=True):
        if len(column) >= 3:  # scorer, (individuals,) bodyparts, coords
            body, point, kind = ("", *column)[-3:] if len(column) > 3 else ("", *column[-2:])
        else:
            match = _COLUMN.fullmatch(".".join(column))
            if match is None:
                continue
            body, point, kind = "", match[1], match[2].lower()
        found.setdefault((body, point), {})[kind] = values
    whole = {name: part for name, part in found.items() if {"x", "y"} <= set(part)}
    if not whole:
        raise CorruptFileError(
            "has no columns such as nose_x and nose_y",
            where=path,
            remedy="pass --model table to take its columns as they are",
        )
    points = [_point(part) for part in whole.values()]
    return Poses(tuple(body for body, _ in whole), np.stack(points, 1))


def _point(part: dict[str, FloatArray]) -> FloatArray:
    """A point's x and y `(T, 2)`, NaN where one of them is missing or the tracker is unsure."""
    point = np.stack((part["x"], part["y"]), 1)
    sure = next((values for kind, values in part.items() if kind not in ("x", "y")), None)
    lost = np.isnan(point).any(1)
    if sure is not None:
        lost |= ~(sure >= LEAST_CONFIDENCE)
    point[lost] = np.nan
    return point


def _read_sleap(path: Path) -> Poses | None:
    """SLEAP's `tracks` (bodies, 2, points, T); None if the file is not SLEAP's."""
    h5py = extra("h5py")
    try:
        with h5py.File(path, "r") as file:
            if "tracks" not in file:
                return None
            tracks = np.asarray(file["tracks"], np.float64)
    except OSError as error:
        raise unreadable(path, error, kind="HDF5", remedy="export it again") from error
    if tracks.ndim != 4 or tracks.shape[1] != 2 or not tracks.size:
        raise CorruptFileError(
            f"has tracks of shape {tracks.shape}, not (bodies, 2, points, frames)",
            where=path,
            remedy="export it again as analysis HDF5",
        )
    n_bodies, _, n_points, n_frames = tracks.shape
    bodies = tuple(f"track_{index}" for index in range(n_bodies) for _ in range(n_points))
    points = tracks.transpose(3, 0, 2, 1).reshape(n_frames, n_bodies * n_points, 2)
    points[np.isnan(points).any(2)] = np.nan
    return Poses(bodies, points)
