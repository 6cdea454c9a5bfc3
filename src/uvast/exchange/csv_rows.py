"""Rows of CSV and TSV text, as spreadsheets in any country write them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from uvast.exchange.source import Source

_PREAMBLE = 100
"""How many rows are searched for a header."""


class Row(NamedTuple):
    """A row's cells, and its place in the file."""

    spot: str
    cells: list[str]


@dataclass(frozen=True)
class Table:
    """Finds a row's cells by the names in the header, in lower case."""

    columns: dict[str, int]

    @classmethod
    def of(cls, header: Row) -> Table:
        """Of columns with the same name, the first one counts."""
        return cls({name.lower(): n for n, name in reversed([*enumerate(header.cells)])})

    def get(self, row: Row, *names: str) -> str:
        """The cell of the first of these columns that the row has."""
        for name in names:
            place = self.columns.get(name)
            if place is not None and place < len(row.cells):
                return row.cells[place]
        return ""

    def modifiers(self, row: Row) -> tuple[str, ...]:
        """Those in the columns `modifier…`, in their order; a cell may join several with bars."""
        names = sorted(self.columns, key=self.columns.__getitem__)
        cells = [self.get(row, name) for name in names if name.startswith("modifier")]
        return tuple(part for cell in cells for part in cell.split("|") if part)


def rows_of(source: Source) -> Iterator[Row]:
    """The rows that are not empty."""
    reader = csv.reader(
        (f"{line}\n" for _, line in source.lines()), delimiter=_delimiter(source), strict=True
    )
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield Row(f"line {reader.line_num}", [cell.strip() for cell in cells])
    except csv.Error as error:
        spot = f"line {reader.line_num}"
        remedy = "save it again as CSV, with quotes around cells that hold separators"
        raise source.fault(f"cannot be read as CSV ({error})", spot, remedy) from None


def find_header(rows: Iterable[Row], wanted: Sequence[set[str]]) -> Row | None:
    """The first row that holds all column names of one of the sets, which are in lower case."""
    for number, row in enumerate(rows):
        names = {cell.lower() for cell in row.cells}
        if any(one <= names for one in wanted):
            return row
        if number == _PREAMBLE:
            return None
    return None


def csv_text(rows: Iterable[Sequence[object]], delimiter: str = ",") -> bytes:
    """Rows as CSV in UTF-8."""
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


def _delimiter(source: Source) -> str:
    """The separator that gives most of the first lines equally many cells."""
    lines = [line for line in source.head.split("\n", 60)[:60] if line.strip()]
    return max("\t;,", key=lambda mark: _alike(lines, mark))


def _alike(lines: Sequence[str], mark: str) -> tuple[int, int]:
    """How many lines have the most frequent number of cells above 1; then, how many have most."""
    widths = Counter(len(cells) for cells in csv.reader(lines, delimiter=mark))
    del widths[1]
    n_most = sum(line.count(mark) >= max(map(line.count, ",;\t")) > 0 for line in lines)
    return max(widths.values(), default=0), n_most
