"""All feature files of a dataset: one time axis, one width."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

from uvast.data.faults import raise_fault
from uvast.data.features_files import (
    FeatureHeader,
    axis_by_shapes,
    check_finite,
    find_axis,
    map_features,
    read_header,
)
from uvast.errors import CorruptFileError, DataError, FeatureError
from uvast.files import missing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from uvast.data.faults import OnFault
    from uvast.data.spec import DatasetSpec, FeatureAxis

# so many videos, spread over the dataset, tell the feature axis and width
_N_PROBED = 16


class FeatureFolder:
    """The files `VIDEO.npy` in a folder.

    Args:
        path: the folder; it need not exist.
        spec: the dataset's settings.
        n_labels: a video's number of labels, None if unknown; asked only if the shapes of the
            files do not tell the time axis, then for up to 16 videos.
        on_fault: takes the faults of file names.

    Attributes:
        names: videos that have a file.
    """

    def __init__(
        self,
        path: Path,
        spec: DatasetSpec,
        n_labels: Callable[[str], int | None],
        on_fault: OnFault = raise_fault,
    ) -> None:
        self.names = stems(path, ".npy", on_fault)
        self._path = path
        self._spec = spec
        self._n_labels = n_labels
        self._finite: set[str] = set()

    def file(self, name: str) -> Path:
        """The file of a video's features."""
        return self._path / f"{name}.npy"

    @cached_property
    def axis(self) -> FeatureAxis:
        """Which axis of the files is time: as the spec says, else found out."""
        if self._spec.feature_axis is not None:
            return self._spec.feature_axis
        headers = list(self._probed.values())
        axis = axis_by_shapes(headers)
        if axis is None:
            counts = [self._n_labels(name) for name in self._probed]
            axis = find_axis(headers, counts, self._spec.tolerance)
        if axis is None:
            raise FeatureError(
                f"{'x'.join(map(str, headers[0].shape))} features do not tell which axis is time",
                where=self.file(next(iter(self._probed))),
                remedy='set feature_axis to "time-first" or "features-first" in dataset.toml',
            )
        return axis

    @cached_property
    def n_features(self) -> int:
        """F, the width that most videos have."""
        widths = [header.n_features(self.axis) for header in self._probed.values()]
        return max(widths, key=widths.count)

    def n_frames(self, name: str) -> int:
        """The length of a video's features at the source rate."""
        return read_header(self.file(name)).n_frames(self.axis)

    def read(self, name: str) -> NDArray[np.float32]:
        """A video's features `(T, F)` at the source rate, a view of the file where possible.

        Values are looked at once a video, when it is first read.
        """
        path = self.file(name)
        features = map_features(path, self.axis)
        if features.shape[1] != self.n_features:
            raise FeatureError(
                f"features {features.shape[1]} wide, other videos have {self.n_features}",
                where=path,
                remedy="extract the features of this video again",
            )
        if name not in self._finite:
            check_finite(features, path)
            self._finite.add(name)
        return features

    @cached_property
    def _probed(self) -> dict[str, FeatureHeader]:
        """Headers of some videos spread over the dataset; unreadable ones are passed over."""
        candidates = sorted(self.names)
        if not candidates:
            raise missing(self._path, remedy="this dataset has no features, add them")
        step = max(1, len(candidates) // _N_PROBED)
        headers = {name: self._readable_header(name) for name in candidates[::step][:_N_PROBED]}
        found = {name: header for name, header in headers.items() if header is not None}
        return found or {candidates[0]: read_header(self.file(candidates[0]))}

    def _readable_header(self, name: str) -> FeatureHeader | None:
        try:
            return read_header(self.file(name))
        except DataError:
            return None


def stems(folder: Path, suffix: str, on_fault: OnFault = raise_fault) -> frozenset[str]:
    """Names of the files in a folder that end with `suffix`, without it; hidden ones left out.

    A name that is no UTF-8 is a fault: no text file could name such a video.
    """
    if not folder.is_dir():
        return frozenset()
    names = [
        path.name
        for path in folder.iterdir()
        if path.name.endswith(suffix) and not path.name.startswith(".")
    ]
    undecodable = {name for name in names if not _is_text(name)}
    for name in sorted(undecodable):
        what = f"the file name {os.fsencode(name)!r} is no UTF-8"
        on_fault(CorruptFileError(what, where=folder, remedy="rename the file"))
    return frozenset(name.removesuffix(suffix) for name in names if name not in undecodable)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
