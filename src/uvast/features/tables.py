"""Tables of numbers, one row per frame: CSV, Parquet, and the HDF5 files that pandas writes."""

from __future__ import annotations

import csv
import io
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.errors import CorruptFileError
from uvast.features.extras import extra
from uvast.features.weights import read_array_pickle
from uvast.files import missing, read_text, unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".h5", ".hdf5")
_MISSING = ("", "nan", "NaN", "NA", "None", "null")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of numbers.

    Args:
        columns: the name of each column, in several parts if the header has several levels.
        values: NaN where a cell is empty `(T, n_columns)`.
    """

    columns: tuple[tuple[str, ...], ...]
    values: FloatArray


def read_table(path: Path) -> Table:
    """Reads a table in the format of its suffix."""
    if not path.is_file():
        raise missing(path)
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        table = _read_parquet(path)
    elif suffix in (".h5", ".hdf5"):
        table = _read_pandas(path)
    else:
        table = _read_csv(path)
    if not len(table.values) or not table.columns:
        raise CorruptFileError("holds no numbers", where=path, remedy="write one row per frame")
    if np.isinf(table.values).any():
        raise CorruptFileError(
            "holds infinite numbers", where=path, remedy="leave cells without a value empty"
        )
    return table


def _read_csv(path: Path) -> Table:
    text = read_text(path)
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
    except csv.Error as error:  # a quote that is never closed makes a cell without end
        remedy = "remove stray quotes, or write it again"
        raise unreadable(path, error, kind="CSV", remedy=remedy) from None
    if not rows:
        return Table((), np.empty((0, 0)))
    n_header = _n_header_rows(rows)
    # DeepLabCut's first column names the rows of the header, then the pictures
    first = 1 if rows[0][0] == "scorer" else 0
    header = rows[:n_header] or [[f"column_{i + 1}" for i in range(len(rows[0]))]]
    columns = tuple(zip(*(row[first:] for row in header), strict=False))
    values = array("d")
    for number, row in enumerate(rows[n_header:], n_header + 1):
        if len(row) != len(columns) + first:
            raise CorruptFileError(
                f"has {len(row)} cells, but the header has {len(columns) + first}",
                where=f"{path}, row {number}",
                remedy="write one row per frame",
            )
        for column, cell in zip(columns, row[first:], strict=True):
            values.append(_number(cell, f"{path}, row {number}, column {'.'.join(column)}"))
    return Table(columns, np.array(values).reshape(-1, len(columns)))


def _n_header_rows(rows: Sequence[Sequence[str]]) -> int:
    if rows[0][0] == "scorer":
        return next((i + 1 for i, row in enumerate(rows[:6]) if row[0] == "coords"), 1)
    return 0 if all(_is_number(cell) for cell in rows[0]) else 1


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip() in _MISSING
    return True


def _number(cell: str, where: str) -> float:
    try:
        return float(cell)
    except ValueError:
        if cell.strip() in _MISSING:
            return float("nan")
        raise CorruptFileError(
            f"{cell!r} is not a number", where=where, remedy="leave such columns out"
        ) from None


def _read_parquet(path: Path) -> Table:
    parquet = extra("pyarrow.parquet")
    try:
        table = parquet.read_table(path)
    except Exception as error:  # a damaged file may raise anything
        raise unreadable(path, error, kind="a Parquet table", remedy="write it again") from error
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    columns = []
    for name in names:
        try:
            columns.append(table[name].to_numpy().astype(np.float64))
        except (TypeError, ValueError):
            raise CorruptFileError(
                f"column {name} does not hold numbers", where=path, remedy="leave it out"
            ) from None
    values = np.stack(columns, 1) if columns else np.empty((0, 0))
    return Table(tuple((name,) for name in names), values)


def _read_pandas(path: Path) -> Table:
    """The one table in an HDF5 file that pandas wrote, in either of its two layouts."""
    h5py = extra("h5py")
    try:
        with h5py.File(path, "r") as file:
            group = next((one for one in file.values() if "pandas_type" in one.attrs), None)
            if group is None:
                raise ValueError("it holds no pandas table")
            return _appendable(group, path) if "table" in group else _fixed(group, path)
    except CorruptFileError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise unreadable(path, error, kind="a table", remedy="write it again, or as CSV") from error


def _appendable(group: Any, path: Path) -> Table:
    rows = group["table"]
    _check_one_kind(len(set(rows.dtype.names) - {"index"}), path)
    named = read_array_pickle(bytes(rows.attrs["values_block_0_kind"]), str(path))
    values = np.asarray(rows["values_block_0"], np.float64)
    return Table(tuple(_parts(name) for name in named), values)


def _fixed(group: Any, path: Path) -> Table:
    _check_one_kind(sum(name.endswith("_values") for name in group), path)
    n_levels = int(group.attrs.get("block0_items_nlevels", 1))
    levels = []
    for level in range(n_levels):
        names = [_text(name) for name in group[f"block0_items_level{level}"][...]]
        levels.append([names[place] for place in group[f"block0_items_label{level}"][...]])
    values = np.asarray(group["block0_values"], np.float64)
    return Table(tuple(zip(*levels, strict=True)), values)


def _check_one_kind(n_blocks: int, path: Path) -> None:
    """Raises if there are several blocks: only the first would be read, and columns lost."""
    if n_blocks > 1:
        raise CorruptFileError(
            f"holds columns of {n_blocks} types, such as whole numbers and decimals",
            where=path,
            remedy="write it again after astype('float64'), or as CSV",
        )


def _parts(name: object) -> tuple[str, ...]:
    return tuple(map(_text, name)) if isinstance(name, tuple) else (_text(name),)


def _text(name: object) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)
