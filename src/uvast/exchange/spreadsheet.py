"""XLSX tables with the columns of `tables`, via openpyxl (the extra `tables`) after a zip check.

A library does it: the format is large, and openpyxl reads row by row without running anything.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from uvast.errors import ConfigError
from uvast.exchange import observer
from uvast.exchange.archive import check_zip, member_names, refuse_declarations
from uvast.exchange.csv_rows import Row
from uvast.exchange.source import Written
from uvast.exchange.tables import read_rows, table_of
from uvast.files.workbooks import workbook_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.exchange.records import VideoAnnotations
    from uvast.exchange.source import Reading, Source, Target

_NUMBERS = ("start", "end", "time", "confidence")


def recognise(source: Source) -> bool:
    """Whether the file is a zip file with a workbook inside."""
    return "xl/workbook.xml" in member_names(source)


def read(source: Source) -> Reading:
    """Reads the first sheet, a table or an event log of The Observer."""
    check_zip(source)
    refuse_declarations(source)
    rows = [*_rows(source)]
    reader = observer.read_rows if observer.has_header(rows) else read_rows
    return reader(source, rows)


def _rows(source: Source) -> Iterator[Row]:
    _openpyxl()
    try:
        for number, cells in workbook_rows(io.BytesIO(source.content)):
            yield Row(f"row {number}", cells)
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, SyntaxError) as error:
        raise source.fault(
            f"cannot be read as a workbook ({type(error).__name__})",
            None,
            "save it again as .xlsx, or as CSV",
        ) from None


def write(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes one sheet; numbers stay numbers, and text never becomes a formula."""
    library = _openpyxl()
    book = library.Workbook(write_only=True)
    sheet = book.create_sheet("annotations")
    header, *rows = table_of(videos)
    sheet.append(header)
    for row in rows:
        cells = []
        for name, text in zip(header, row, strict=True):
            is_number = name in _NUMBERS and text
            cell = library.cell.WriteOnlyCell(sheet, float(text) if is_number else text or None)
            if not is_number and text:
                cell.data_type = "s"
            cells.append(cell)
        sheet.append(cells)
    out = io.BytesIO()
    book.save(out)
    return Written(out.getvalue())


def _openpyxl() -> Any:
    try:
        import openpyxl
        import openpyxl.cell
    except ModuleNotFoundError:
        raise ConfigError(
            "XLSX needs openpyxl, which is not installed",
            remedy="pip install '.[tables]' in uvast's folder, or save the table as CSV",
        ) from None
    return openpyxl
