"""One video's features in a `.npy` file: memory-mapped, brought to `(T, F)` without a copy."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib import format as npy_format

from uvast.errors import FeatureError
from uvast.files import missing, unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import BinaryIO, Literal

    from numpy.typing import NDArray

    from uvast.data.spec import FeatureAxis
    from uvast.errors import DataError


@dataclass(frozen=True)
class FeatureHeader:
    """What the first bytes of a `.npy` file say about its array.

    Args:
        shape: the two axes as stored.
        dtype: the stored type.
        fortran_order: whether the first axis is the one that varies fastest.
        offset: where the values start, in bytes.
    """

    shape: tuple[int, int]
    dtype: np.dtype[np.generic]
    fortran_order: bool
    offset: int

    def n_frames(self, axis: FeatureAxis) -> int:
        """Source frames T."""
        return self.shape[0] if axis == "time-first" else self.shape[1]

    def n_features(self, axis: FeatureAxis) -> int:
        """Feature width F."""
        return self.shape[1] if axis == "time-first" else self.shape[0]


def read_header(path: Path) -> FeatureHeader:
    """Reads and checks the header of a feature file, and nothing else of it."""
    try:
        with path.open("rb") as file:
            shape, fortran_order, dtype = _parse_header(file)
            offset = file.tell()
            n_bytes = file.seek(0, os.SEEK_END) - offset
    except FileNotFoundError:
        raise missing(path, remedy="extract the features of this video") from None
    except Exception as error:  # a damaged header may raise anything
        raise _corrupt(path, error) from error
    if dtype.kind not in "fiu":
        raise FeatureError(
            f"features of type {dtype}", where=path, remedy="save them as float32 numbers"
        )
    if len(shape) != 2:
        raise FeatureError(
            f"features of shape {shape}", where=path, remedy="save them as [T x F] or [F x T]"
        )
    if min(shape) < 1:
        raise FeatureError(
            f"an empty video, features of shape {shape}", where=path, remedy="remove this video"
        )
    promised = shape[0] * shape[1] * dtype.itemsize
    if n_bytes < promised:
        raise _corrupt(path, EOFError(f"{n_bytes} of {promised} bytes are there"))
    return FeatureHeader((shape[0], shape[1]), dtype, fortran_order, offset)


def map_features(path: Path, axis: FeatureAxis) -> NDArray[np.float32]:
    """A video's features as `(T, F)` float32: a view of the file, or a copy of another type.

    The mapping is copy-on-write: torch takes it without a copy, and nothing reaches the file.
    """
    header = read_header(path)
    order: Literal["F", "C"] = "F" if header.fortran_order else "C"
    try:
        mapped = np.memmap(
            path, header.dtype, "c", offset=header.offset, shape=header.shape, order=order
        )
    except (OSError, ValueError) as error:
        raise _corrupt(path, error) from error
    with np.errstate(over="ignore"):  # what overflows is infinite and found by `check_finite`
        stored = np.asarray(mapped).astype(np.float32, order="K", copy=False)
    return stored if axis == "time-first" else stored.T


def check_finite(features: NDArray[np.float32], path: Path) -> None:
    """Raises if features `(T, F)` have NaN or infinite values.

    A sum is not finite if one of its terms is not, and costs a fraction of looking at each value.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(features.ravel(order="K"))
    if np.isfinite(total):
        return
    bad = ~np.isfinite(features)
    if bad.any():
        first = int(np.flatnonzero(bad.any(axis=1))[0])
        raise FeatureError(
            f"{int(bad.sum())} NaN or infinite values, first in frame {first}",
            where=path,
            remedy="extract the features of this video again",
        )


def axis_by_shapes(headers: Sequence[FeatureHeader]) -> FeatureAxis | None:
    """Which axis is time, if the shapes of several videos' features tell beyond doubt.

    The width is the same in all videos and the length is not. A video of a wrong width casts
    doubt, and so do many videos of one length.
    """
    n_alike_rows, n_alike_columns = _alike(headers)
    if n_alike_rows == len(headers) and 2 * n_alike_columns <= len(headers):
        return "features-first"
    if n_alike_columns == len(headers) and 2 * n_alike_rows <= len(headers):
        return "time-first"
    return None


def find_axis(
    headers: Sequence[FeatureHeader], label_counts: Sequence[int | None], tolerance: float
) -> FeatureAxis | None:
    """Which axis is time by the label counts (None where unknown), else by most shapes.

    None if nothing tells.
    """
    votes: Counter[FeatureAxis] = Counter()
    for header, count in zip(headers, label_counts, strict=True):
        if count is None:
            continue
        rows, columns = (lengths_agree(n, count, tolerance) for n in header.shape)
        votes["time-first"] += rows and not columns
        votes["features-first"] += columns and not rows
    if votes["time-first"] == votes["features-first"]:
        n_alike_rows, n_alike_columns = _alike(headers)
        votes["features-first"] += n_alike_rows
        votes["time-first"] += n_alike_columns
    if votes["time-first"] == votes["features-first"]:
        return None
    return votes.most_common(1)[0][0]


def _alike(headers: Sequence[FeatureHeader]) -> tuple[int, int]:
    """In how many videos at most the two axes are equal."""
    rows, columns = (Counter(header.shape[axis] for header in headers) for axis in (0, 1))
    return max(rows.values()), max(columns.values())


def lengths_agree(first: int, second: int, tolerance: float) -> bool:
    """Whether two lengths differ by at most a fraction `tolerance` of the longer one."""
    return abs(first - second) <= tolerance * max(first, second)


def _parse_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    version = npy_format.read_magic(file)
    if version == (1, 0):
        return npy_format.read_array_header_1_0(file)
    if version == (2, 0):
        return npy_format.read_array_header_2_0(file)
    raise ValueError(f"npy version {version}")


def _corrupt(path: Path, error: Exception) -> DataError:
    return unreadable(path, error, kind="a NumPy array", remedy="write it again with numpy.save")
