"""Click tables: one row per annotated frame, as people keep them in spreadsheets.

The header names the columns `video`, `frame` or `time`, and usually `label`, in any order and case;
other columns and the order of the rows do not matter.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING

from uvast.data.faults import raise_fault
from uvast.data.timestamps import Annotation
from uvast.errors import InputError, TimestampError
from uvast.files import open_file, read_text, shown, unreadable
from uvast.files.reading import MEGABYTE
from uvast.files.workbooks import can_read_workbooks, workbook_rows
from uvast.times import TIME_FORMS, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from uvast.data.faults import OnFault

TABLES = (".csv", ".tsv", ".xlsx")

_FORM = "begin with a row 'video,frame,label' or 'video,time,label', then one row per click"
_FRAME = re.compile(r"(-?\d{1,15})(?:[.,]0*)?", re.ASCII)
_UNIT = re.compile(r"\s*[(\[].*")
_MILLISECONDS = re.compile(r"time(_ms|\s*[(\[]\s*(ms|msec|milli).*)", re.IGNORECASE)
_LARGEST_WORKBOOK = 256 * MEGABYTE


def read_clicks(path: Path, on_fault: OnFault = raise_fault) -> dict[str, tuple[Annotation, ...]]:
    """Reads clicks by video, in time order, from CSV (also with `;` or tabs) or XLSX.

    If `on_fault` does not raise, the clicks of a video with a faulty row are left out.
    """
    rows = _workbook_rows(path) if path.suffix.lower() == ".xlsx" else _text_rows(path)
    first = next(rows, None)
    if first is None:
        raise TimestampError("is empty", where=path, remedy=_FORM)
    columns = _column_names(first[1], path)
    found: dict[str, list[Annotation]] = {}
    faulty: set[str] = set()
    for line, cells in rows:
        row = dict(zip_longest(columns, cells, fillvalue=""))
        name = row["video"].removesuffix(".txt")
        try:
            found.setdefault(name, []).append(_click(row, f"{path}, line {line}"))
        except TimestampError as error:
            on_fault(error)
            faulty.add(name)
    return {
        name: tuple(sorted(clicks, key=_position))
        for name, clicks in found.items()
        if name not in faulty
    }


def _column_names(header: Sequence[str], path: Path) -> list[str]:
    other = [cell for cell in header if _MILLISECONDS.fullmatch(cell)]
    names = ["" if cell in other else _UNIT.sub("", cell).strip().casefold() for cell in header]
    if other and not {"frame", "time"} & set(names):
        what = f"has times in milliseconds (column {shown(other[0])})"
        raise TimestampError(what, where=path, remedy=f"write {TIME_FORMS}, in a column 'time'")
    counts = Counter(names)
    twice = next((n for n in ("video", "frame", "time", "label") if counts[n] > 1), None)
    if twice is not None:
        what = f"has more than one column {twice!r}"
        raise TimestampError(what, where=path, remedy="keep one of them")
    if "video" not in names or ("frame" in names) == ("time" in names):
        raise TimestampError(
            f"begins with the columns {shown(', '.join(header))}", where=path, remedy=_FORM
        )
    return names


def _click(row: Mapping[str, str], place: str) -> Annotation:
    if not row["video"]:
        what = "the cell in column 'video' is empty"
        raise TimestampError(what, where=place, remedy="name the video in every row")
    label = row.get("label") or None
    if "time" in row:
        try:
            return Annotation(time=parse_time(row["time"]), label=label)
        except InputError:
            what = f"{shown(row['time'])} in column 'time' is not a time"
            raise TimestampError(what, where=place, remedy=f"write {TIME_FORMS}") from None
    match = _FRAME.fullmatch(row["frame"])
    if match is None:
        what = f"{shown(row['frame'])} in column 'frame' is not a frame number"
        raise TimestampError(what, where=place, remedy="count frames from 0")
    return Annotation(frame=int(match[1]), label=label)


def _position(click: Annotation) -> float:
    return click.frame if click.frame is not None else click.time or 0.0


def _text_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The non-empty rows, each with the number of its last line."""
    text = read_text(path)
    first_line = text.partition("\n")[0]
    separator = max(",;\t", key=first_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if any(cells := [cell.strip() for cell in row]):
                yield reader.line_num, cells
    except csv.Error as error:
        raise TimestampError(f"is not a valid table ({error})", where=path, remedy=_FORM) from None


def _workbook_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The non-empty rows of a workbook's first sheet."""
    if not can_read_workbooks():
        raise TimestampError(
            "needs openpyxl to be read",
            where=path,
            remedy="pip install '.[tables]' in uvast's folder, or save the table as CSV",
        )
    with open_file(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                size = sum(member.file_size for member in archive.infolist())
            if size > _LARGEST_WORKBOOK:
                raise ValueError("it unpacks to hundreds of megabytes")
            rows = list(workbook_rows(file))
        except Exception as error:  # a damaged workbook may raise anything
            remedy = "save the table as CSV"
            raise unreadable(path, error, kind="a workbook", remedy=remedy) from error
    yield from rows
