"""Rows kept on disk while a video is read, then joined into one array at one rate.

Rows never pile up in memory: two hours of features are more than a gigabyte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib import format as npy_format

from uvast.errors import FeatureError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from uvast.features.extractor import Features

_CHUNK = 1024


class Spool:
    """Rows `(n, F)`, written as they come and read back by their numbers."""

    def __init__(self, path: Path, width: int) -> None:
        self.width = width
        self.n_rows = 0
        self._file = path.open("w+b")

    def add(self, rows: Features) -> None:
        """Appends rows."""
        self._file.write(np.ascontiguousarray(rows, dtype="<f4").data)
        self.n_rows += len(rows)

    def read(self, start: int, end: int) -> Features:
        """Rows `[start, end)`."""
        self._file.seek(4 * self.width * start)
        values = np.fromfile(self._file, "<f4", (end - start) * self.width)
        return values.reshape(-1, self.width)

    def close(self) -> None:
        """Closes the file; whoever made its folder removes it."""
        self._file.close()


@dataclass(frozen=True, eq=False)
class Column:
    """The rows of one extractor, and where each frame of the result lies between them.

    Args:
        spool: the rows.
        places: the row number of each frame; fractions lie between two rows `(T,)`.
    """

    spool: Spool
    places: NDArray[np.float64]

    def rows(self, start: int, end: int) -> Features:
        """The rows of the frames `[start, end)`, interpolated between neighbours."""
        places = np.clip(self.places[start:end], 0, self.spool.n_rows - 1)
        below = np.floor(places).astype(np.int64)
        part = (places - below).astype(np.float32)[:, None]
        first, last = int(below[0]), int(below[-1])
        rows = self.spool.read(first, min(last + 2, self.spool.n_rows))
        lower = rows[below - first]
        if not part.any():
            return lower
        upper = rows[np.minimum(below - first + 1, len(rows) - 1)]
        joined: Features = lower + part * (upper - lower)
        return joined


def write_joined(path: Path, columns: Sequence[Column]) -> None:
    """Writes the columns side by side as one `.npy` file `(T, F)`, float32."""
    n_frames = len(columns[0].places)
    shape = (n_frames, sum(column.spool.width for column in columns))
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        npy_format.write_array_header_1_0(file, header)
        for start in range(0, n_frames, _CHUNK):
            end = min(start + _CHUNK, n_frames)
            rows = np.concatenate([column.rows(start, end) for column in columns], 1)
            if not np.isfinite(rows).all():
                raise FeatureError(
                    f"a model gives NaN or infinite values after frame {start}",
                    remedy="check the settings of its input",
                )
            file.write(rows.data)
