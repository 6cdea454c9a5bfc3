"""Features in `.npy` files: memory-mapped, brought to `(T, F)` without a copy.

The header of each file is read once, and its values are checked once.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib import format as npy_format

from uvast.data.recognition import no_features, not_features
from uvast.errors import DataError, FeatureError
from uvast.files import is_present, missing, open_file, shown, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO, Literal

    from numpy.typing import NDArray

    from uvast.data.spec import DatasetSpec, FeatureAxis

_N_PROBED = 16
"""How many videos, spread over the dataset, decide the feature axis and width."""

_LONGEST_AXIS = 2**40
_AGAIN = "extract the features of this video again"
_TRANSPOSED = "transpose this file: its axes are the other way round"


@dataclass(frozen=True)
class FeatureHeader:
    """What the first bytes of a `.npy` file say about its array, all as stored.

    In `fortran_order` the first axis varies fastest; the values start at byte `offset`.
    """

    path: Path
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

    def features(self, axis: FeatureAxis) -> NDArray[np.float32]:
        """The features `(T, F)` as float32: a view of the file, or a copy if its type differs.

        The mapping is copy-on-write: torch takes it without a copy, and no write reaches the file.
        """
        order: Literal["F", "C"] = "F" if self.fortran_order else "C"
        try:
            mapped = np.memmap(
                self.path, self.dtype, "c", offset=self.offset, shape=self.shape, order=order
            )
        except (OSError, ValueError) as error:
            raise _corrupt(self.path, error) from error
        with np.errstate(over="ignore"):  # overflow gives inf, which `check_finite` finds
            stored = np.asarray(mapped).astype(np.float32, order="K", copy=False)
        return stored if axis == "time-first" else stored.T


class FeatureFolder:
    """The features of a dataset's videos: one time axis, one width.

    Args:
        path: the folder; it need not exist.
        stems: the stem of each video's file.
        spec: the dataset's settings.
        n_labels: gives a video's number of labels, None if unknown; called only if the shapes of
            the files do not show the time axis, and then for up to 16 videos.
    """

    def __init__(
        self,
        path: Path,
        stems: Mapping[str, str],
        spec: DatasetSpec,
        n_labels: Callable[[str], int | None],
    ) -> None:
        self._path = path
        self._stems = stems
        self._spec = spec
        self._n_labels = n_labels
        self._headers: dict[str, FeatureHeader] = {}
        self._finite: set[str] = set()

    def file(self, name: str) -> Path:
        """The file of a video's features."""
        return self._path / f"{self._stems.get(name, name)}.npy"

    def header(self, name: str) -> FeatureHeader:
        """The header of a video's file."""
        if name not in self._headers:
            self._headers[name] = read_header(self.file(name))
        return self._headers[name]

    @cached_property
    def axis(self) -> FeatureAxis:
        """Which axis of the files is time: from the spec, else detected by shapes and labels."""
        if self._spec.feature_axis is not None:
            return self._spec.feature_axis
        headers = list(self._probed.values())
        axis = axis_by_shapes(headers)
        if axis is None:
            counts = [self._n_labels(name) for name in self._probed]
            axis = find_axis(headers, counts, self._spec.tolerance)
        if axis is None:
            shape = "x".join(map(str, headers[0].shape))
            raise FeatureError(
                f"features of shape {shape} do not show which axis is time",
                where=headers[0].path,
                remedy='set feature_axis to "time-first" or "features-first" in dataset.toml',
            )
        return axis

    @cached_property
    def n_features(self) -> int:
        """F, the width that most videos have."""
        widths = Counter(header.n_features(self.axis) for header in self._probed.values())
        return widths.most_common(1)[0][0]

    def n_frames(self, name: str) -> int:
        """The length of a video's features at the source rate."""
        return self.header(name).n_frames(self.axis)

    def width(self, name: str) -> int:
        """The width of a video's own features, which should be F."""
        return self.header(name).n_features(self.axis)

    def read(self, name: str) -> NDArray[np.float32]:
        """A video's features `(T, F)` at the source rate, a view of the file where possible."""
        header = self.header(name)
        width = self.width(name)
        if width != self.n_features:
            is_transposed = self.n_frames(name) == self.n_features
            raise FeatureError(
                f"has features of width {width}, but other videos have {self.n_features}",
                where=header.path,
                remedy=_TRANSPOSED if is_transposed else _AGAIN,
            )
        features = header.features(self.axis)
        if name not in self._finite:
            check_finite(features, header.path)
            self._finite.add(name)
        return features

    @cached_property
    def _probed(self) -> dict[str, FeatureHeader]:
        """Headers of some videos spread over the dataset; unreadable ones are skipped."""
        candidates = sorted(self._stems)
        if not candidates:
            raise missing(self._path, remedy="this dataset has no features, add them")
        step = max(1, len(candidates) // _N_PROBED)
        found = {}
        for name in candidates[::step][:_N_PROBED]:
            with suppress(DataError):  # reported when the video is used
                found[name] = self.header(name)
        return found or {candidates[0]: self.header(candidates[0])}


def read_header(path: Path) -> FeatureHeader:
    """Reads and checks the header of a feature file, and nothing else."""
    if not is_present(path):
        raise no_features(path, remedy="extract the features of this video")
    with open_file(path) as file:
        try:
            shape, fortran_order, dtype = _parse_header(file)
            offset = file.tell()
            n_bytes = file.seek(0, os.SEEK_END) - offset
        except Exception as error:  # a damaged header may raise anything
            raise _corrupt(path, error) from error
    if dtype.kind not in "fiu":
        raise FeatureError(
            f"holds features of type {dtype}", where=path, remedy="save them as float32 numbers"
        )
    if len(shape) != 2 or any(type(n) is not int or n > _LONGEST_AXIS for n in shape):
        raise FeatureError(
            f"holds features of shape {shown(shape)}",
            where=path,
            remedy="save them as [T x F] or [F x T]",
        )
    if min(shape) < 1:
        raise FeatureError(
            f"is empty: it holds features of shape {shape}", where=path, remedy="remove this video"
        )
    promised = shape[0] * shape[1] * dtype.itemsize
    if n_bytes < promised:
        raise _corrupt(path, EOFError(f"{n_bytes} of {promised} bytes are there"))
    return FeatureHeader(path, (shape[0], shape[1]), dtype, fortran_order, offset)


def map_features(path: Path, axis: FeatureAxis) -> NDArray[np.float32]:
    """One file's features `(T, F)`, a view of the file where possible."""
    return read_header(path).features(axis)


def check_finite(features: NDArray[np.float32], path: Path) -> None:
    """Raises if features `(T, F)` have NaN or infinite values.

    A sum is not finite if any term is not, and costs far less than checking each value.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.add.reduce(features.ravel(order="K"))
    if np.isfinite(total):
        return
    bad = ~np.isfinite(features)
    if bad.any():
        first = int(np.flatnonzero(bad.any(axis=1))[0])
        raise FeatureError(
            f"holds {int(bad.sum())} NaN or infinite values, first in frame {first}",
            where=path,
            remedy=_AGAIN,
        )


def axis_by_shapes(headers: Sequence[FeatureHeader]) -> FeatureAxis | None:
    """Which axis is time, if the shapes of several videos' features leave no doubt.

    The width is the same in all videos and the length is not. A video of a wrong width casts
    doubt, and so do many videos of the same length.
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
    """Which axis is time, by the label counts (None where unknown), else by most shapes.

    None if neither decides.
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
    """The most videos that have the same number of rows, and of columns."""
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
    remedy = "write it again with numpy.save"
    damaged = unreadable(path, error, kind="a NumPy array", remedy=remedy)
    return damaged if isinstance(error, OSError) else not_features(path) or damaged
