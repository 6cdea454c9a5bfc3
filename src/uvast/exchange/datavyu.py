"""Datavyu .opf: a zip whose `db` has columns of cells; only `db` and the video's name are read.

Parsed by hand, and without YAML: only one line of the `project` file is needed. In texts, a
backslash stands before commas, hyphens, backslashes and line ends.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uvast.exchange.archive import check_zip, member_names, read_member
from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, Source, counted
from uvast.exchange.video_paths import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.exchange.records import Event

_COLUMN = re.compile(r"(?P<name>.+?) \((?P<kind>[A-Z_]+),(?:true|false),.*?\)(?:-(?P<codes>.*))?")
_CELL = re.compile(r"(\d{1,9}):(\d\d):(\d\d):(\d{3}),(\d{1,9}):(\d\d):(\d\d):(\d{3}),(.*)", re.S)
_MEDIA = re.compile(r"^\s*-?\s*(?:feed|dataViewer|path|currentPath):\s*['\"]?(.+?)['\"]?\s*$", re.M)
_CODE = re.compile(r"(?:^|,)((?:\\.|[^,])*)", re.S)
_ESCAPED = re.compile(r"\\(.)", re.S)


def recognise(source: Source) -> bool:
    """Whether the file is a zip file with Datavyu's members."""
    return {"db", "project"} <= set(member_names(source))


def read(source: Source) -> Reading:
    """Reads the cells of all columns; the first code is the label, the others are modifiers."""
    check_zip(source)
    project = Source(read_member(source, "project"), f"{source.place} (project)").text
    paths = [match[1] for match in _MEDIA.finditer(project)]
    path = next((path for path in paths if "." in file_name(path)), "")
    video = source.name_of(path) if path else source.video
    cells = Source(read_member(source, "db"), f"{source.place} (db)")
    tier = ""
    events: list[Event] = []
    warnings: list[str] = []
    for number, line in _lines(cells):
        cell, column = _CELL.fullmatch(line), _COLUMN.fullmatch(line)
        if cell is not None:
            event = _event(cells, number, tier, cell, warnings)
            events += [] if event is None else [event]
        elif column is not None:
            tier = _plain(column["name"])
        elif line.strip() and not line.startswith("#"):
            raise cells.fault(
                f"{line[:60]!r} is neither a column nor a cell",
                f"line {number}",
                "save it again with Datavyu",
            )
    return Reading((VideoAnnotations(video, tuple(events)),), counted(warnings))


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    """The lines and their numbers; one that ends with a backslash goes on in the next line."""
    first, text = 1, ""
    for number, line in source.lines():
        first = first if text else number
        text += line
        if (len(line) - len(line.rstrip("\\"))) % 2:
            text += "\n"
            continue
        yield first, text
        text = ""
    if text:
        yield first, text


def _plain(text: str) -> str:
    """A text without the backslashes that Datavyu adds."""
    return _ESCAPED.sub(r"\1", text).strip()


def _event(
    source: Source, number: int, tier: str, cell: re.Match[str], warnings: list[str]
) -> Event | None:
    hours, minutes, seconds, milliseconds = map(int, cell.groups()[:4])
    start = hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    hours, minutes, seconds, milliseconds = map(int, cell.groups()[4:8])
    end = hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    text = cell[9]
    if text.startswith("(") and text.endswith(")"):
        codes = [_plain(code[1]) for code in _CODE.finditer(text[1:-1])]
    else:
        codes = [_plain(text)]
    named = [code for code in codes if code]
    if not named:
        warnings.append(f"column {tier}: a cell without a code is left out")
        return None
    if end == 0 and start > 0:
        end = start  # how Datavyu leaves an offset out
        warnings.append(f"column {tier}: a cell without an offset is a point")
    spot = f"line {number}"
    return source.event(spot, named[0], start, end, tier=tier, modifiers=named[1:])
