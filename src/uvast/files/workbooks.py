"""Rows of XLSX workbooks as text, as they would stand in a CSV file."""

from __future__ import annotations

import re
import warnings
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

MOST_ROWS = 2**20
"""The limit of Excel and LibreOffice; a row numbered a billion would bring a billion empty ones."""

_HOURS_AND_MINUTES = re.compile(r"(\[\$[^]]*\])?h{1,2}:mm(;@)?", re.IGNORECASE)
"""What spreadsheet programs make of 1:30; `$` begins a language."""


def can_read_workbooks() -> bool:
    """Whether openpyxl (the extra `tables`) is installed."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        return False
    return True


def workbook_rows(file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    """Number, from 1, and cells of each row of the first sheet that is not empty.

    The caller has checked the size of what the archive holds. A damaged workbook raises whatever
    openpyxl runs into.
    """
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions not needed here
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # some programs declare fewer rows than they write
    for number, cells in enumerate(sheet.iter_rows(max_row=MOST_ROWS), start=1):
        texts = [_text(cell) for cell in cells]
        if any(texts):
            yield number, texts


def _text(cell: Any) -> str:
    """A cell as text; times of day and durations become seconds.

    Who types 1:30 means mm:ss, as in a CSV file, and sees 1:30; the program keeps half past one.
    """
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, time):
        seconds = value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
        return repr(seconds / 60 if _HOURS_AND_MINUTES.fullmatch(cell.number_format) else seconds)
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    if isinstance(value, datetime):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value).strip()
