"""Plain tables: `video,start,end,label` or `video,time,label`, as CSV or TSV (XLSX: spreadsheet).

Parsed by hand: columns are found by name in any order and case, and times come in many forms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from uvast.exchange.clock import format_seconds, read_signed_time, read_time
from uvast.exchange.csv_rows import Row, csv_text, find_header, rows_of
from uvast.exchange.frame_times import middles
from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, Written, counted
from uvast.exchange.video_paths import file_name
from uvast.exchange.whole_numbers import whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from uvast.exchange.records import Event
    from uvast.exchange.source import Source, Target

_NAMES = {
    "video": ("video", "video_name", "file", "filename", "file_name", "media", "video_id"),
    "label": ("label", "action", "behavior", "behaviour", "class", "activity", "event"),
    "start": ("start_seconds", "start_time", "start", "begin", "onset", "from"),
    "end": ("end_seconds", "end_time", "stop_time", "end", "stop", "offset", "to"),
    "duration": ("duration_seconds", "duration"),
    "time": ("time", "seconds", "timestamp"),
    "start_frame": ("start_frame", "first_frame", "frame_start", "startframe"),
    "end_frame": ("end_frame", "stop_frame", "frame_end", "endframe"),
    "frame": ("frame", "frame_index", "frame_number"),
    "tier": ("tier", "subject", "track"),
    "modifiers": ("modifiers", "modifier"),
    "annotator": ("annotator", "observer", "coder", "rater"),
    "confidence": ("confidence", "score", "probability"),
    "comment": ("comment", "comments", "notes", "note"),
    "fps": ("fps", "frame_rate"),
}
"""Names of each column, in lower case with `_` for blanks; earlier names win."""
for _what in ("start", "end", "duration", "time"):
    _NAMES[_what] += tuple(f"{name}_ms" for name in _NAMES[_what])

_UNIT = re.compile(r"(?:_?[(\[](m|milli)?s(?:ecs?|econds)?[)\]]|_(m?)s(?:ec)?)$")
"""A unit at the end of a column's name: seconds, or milliseconds if a group is not empty."""

_NUMBERS = frozenset(_NAMES) - {"video", "label", "tier", "modifiers", "annotator", "comment"}
_MISSING = {"na", "n/a", "#n/a", "nan", "none", "null"}
"""What R, pandas and spreadsheets write where a number is missing."""

_EXTRAS = ("tier", "modifiers", "annotator", "confidence", "comment")
_REMEDY = "name its columns video, start, end and label, or video, time and label"


def recognise_csv(source: Source) -> bool:
    """Whether the file has a header with a label and times, split by commas or semicolons."""
    return "\t" not in source.head.partition("\n")[0] and _has_header(source)


def recognise_tsv(source: Source) -> bool:
    """Whether the file has a header with a label and times, split by tabs."""
    return "\t" in source.head.partition("\n")[0] and _has_header(source)


def _has_header(source: Source) -> bool:
    head = source.head.lower()
    if not any(name in head for name in _NAMES["label"]):
        return False
    return find_header(map(_plain, rows_of(source)), _header_sets()) is not None


def read(source: Source) -> Reading:
    """Reads a table of events; a row without an end is a point."""
    return read_rows(source, rows_of(source), is_text=True)


def read_rows(source: Source, rows: Iterable[Row], *, is_text: bool = False) -> Reading:
    """Like `read`, from rows of any origin; in text, no row has more cells than the header."""
    rows = iter(rows)
    header = find_header((_plain(row) for row in rows), _header_sets())
    if header is None:
        raise source.fault("has no header that names a label and times", None, _REMEDY)
    columns = _Columns.of(header.cells)
    events: dict[str, list[Event]] = {}
    rates: dict[str, float] = {}
    rows = list(rows)
    if is_text:
        _check_widths(source, len(header.cells), rows)
    names = source.names_of({columns.path(row, source) for row in rows})
    for row in rows:
        video = names[columns.path(row, source)]
        rate = _number(source, row, columns.cell(row, "fps"), "a frame rate")
        if rate:
            rates[video] = rate
        events.setdefault(video, []).append(_event(source, columns, row, video, rate))
    warnings = [f"column {name!r} is not used" for name in columns.unused]
    if "duration" in columns.places:
        warnings.append("there is no column 'end'; 'duration' is how long each event lasts")
    if rows and not columns.places.keys() & {"end", "end_frame", "duration"}:
        warnings += _points(source, columns, rows)
    videos = tuple(
        VideoAnnotations(video, tuple(found), frame_rate=rates.get(video))
        for video, found in events.items()
    )
    return Reading(videos, counted(warnings))


@dataclass(frozen=True)
class _Columns:
    """Places in a row: of what is read, and by name of the columns that are not.

    Args:
        milliseconds: what is read in milliseconds.
    """

    places: dict[str, int]
    unused: dict[str, int]
    milliseconds: frozenset[str]

    @classmethod
    def of(cls, header: Sequence[str]) -> _Columns:
        places = {
            what: header.index(name)
            for what, names in _NAMES.items()
            for name in reversed(names)
            if name in header
        }
        # as in uvast's predictions, frames beside seconds
        if "start" in places and "end" in places:
            places.pop("start_frame", None)
        by_frames = "start_frame" in places or not places.keys() & {"start", "time"}
        places.pop("end" if by_frames else "end_frame", None)
        # unless there is only a start, it may be the video's length
        if "start" not in places or places.keys() & {"end", "start_frame"}:
            places.pop("duration", None)
        used = {header[place] for place in places.values()}
        if places.keys() >= {"start", "end"}:
            used |= {"start", "end", "start_frame", "end_frame"}
        unused = {name: place for place, name in enumerate(header) if name and name not in used}
        milliseconds = {what for what, place in places.items() if header[place].endswith("_ms")}
        return cls(places, unused, frozenset(milliseconds))

    def cell(self, row: Row, what: str) -> str:
        """The text of what is read; empty if there is none, or no number where one belongs."""
        place = self.places.get(what)
        text = row.cells[place] if place is not None and place < len(row.cells) else ""
        return "" if what in _NUMBERS and text.lower() in _MISSING else text

    def path(self, row: Row, source: Source) -> str:
        """The row's video, with its folders if given; without one, the file's own name."""
        path = self.cell(row, "video")
        return path if file_name(path) else source.video


def _event(source: Source, columns: _Columns, row: Row, video: str, rate: float | None) -> Event:
    label = columns.cell(row, "label")
    if not label:
        raise source.fault("has no label", row.spot, "name it or remove the row")
    start, end = _times(source, columns, row, video, rate)
    confidence = _number(source, row, columns.cell(row, "confidence"), "a confidence")
    return source.event(
        row.spot,
        label,
        start,
        end,
        tier=columns.cell(row, "tier"),
        modifiers=columns.cell(row, "modifiers").split("|"),
        annotator=columns.cell(row, "annotator"),
        confidence=confidence,
        comment=columns.cell(row, "comment"),
    )


def _times(
    source: Source, columns: _Columns, row: Row, video: str, rate: float | None
) -> tuple[float, float | None]:
    """Start and end in seconds; frames count from 0 and their ends are exclusive."""
    places = columns.places
    if "start_frame" in places or not places.keys() & {"start", "time"}:
        name = "start_frame" if "start_frame" in places else "frame"
        start_frame = _frame(source, row, columns.cell(row, name))
        end_text = columns.cell(row, "end_frame")
        times = source.times(video, rate)
        if not end_text:
            return float(middles(times, start_frame)), None
        start, end = times.edges([start_frame, _frame(source, row, end_text)]).tolist()
        return start, end
    start = _seconds(source, columns, row, "start" if columns.cell(row, "start") else "time")
    if columns.cell(row, "duration"):
        return start, round(start + _seconds(source, columns, row, "duration"), 9)
    return start, _seconds(source, columns, row, "end") if columns.cell(row, "end") else None


def _seconds(source: Source, columns: _Columns, row: Row, what: str) -> float:
    text = columns.cell(row, what)
    seconds = read_signed_time(text)
    if seconds is None:
        problem = f"{text[:60]!r} is not a time" if text else "has no time"
        raise source.fault(problem, row.spot, "write seconds, mm:ss or hh:mm:ss.mmm")
    is_clock = ":" in text
    return seconds / 1000 if what in columns.milliseconds and not is_clock else seconds


def _frame(source: Source, row: Row, text: str) -> int:
    frame = whole_number(text.removesuffix(".0"))
    if frame is None:
        raise source.fault(f"{text[:60]!r} is not a frame number", row.spot, "count frames from 0")
    return frame


def _number(source: Source, row: Row, text: str, what: str) -> float | None:
    value = read_time(text) if text else None
    if text and value is None:
        raise source.fault(f"{text[:60]!r} is not {what}", row.spot)
    return value


def write_csv(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes a CSV table with the columns that are needed."""
    return Written(csv_text(table_of(videos)))


def write_tsv(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Like `write_csv`, split by tabs."""
    return Written(csv_text(table_of(videos), delimiter="\t"))


def table_of(videos: Sequence[VideoAnnotations]) -> Iterator[list[str]]:
    """A header, then a row per event; points have no end."""
    events = [event for video in videos for event in video.events]
    only_points = bool(events) and all(event.is_point for event in events)
    times = ["time"] if only_points else ["start", "end"]
    extras = [
        name
        for name in _EXTRAS
        if any(getattr(event, name) not in ("", (), None) for event in events)
    ]
    yield ["video", *times, "label", *extras]
    for video in videos:
        for event in video.events:
            end = "" if event.end is None else format_seconds(event.end)
            cells = [video.video, format_seconds(event.start), *([] if only_points else [end])]
            yield [*cells, event.label, *(_extra(event, name) for name in extras)]


def _extra(event: Event, name: str) -> str:
    value = getattr(event, name)
    if isinstance(value, tuple):
        return "|".join(value)
    return "" if value is None else str(value)


def _check_widths(source: Source, width: int, rows: Sequence[Row]) -> None:
    for row in rows:
        if any(row.cells[width:]):
            n_cells = max(place for place, cell in enumerate(row.cells, start=1) if cell)
            raise source.fault(
                f"has {n_cells} cells, but the header has {width}",
                row.spot,
                "put quotes around cells that hold separators, such as a decimal comma",
            )


def _points(source: Source, columns: _Columns, rows: Sequence[Row]) -> Iterator[str]:
    """Notes on a table without ends, where each row is a point; errors if it cannot mean that."""
    for name, place in columns.unused.items():
        cells = (row.cells[place].lower() for row in rows if place < len(row.cells))
        words = {cell.rpartition(" ")[2] for cell in cells}  # `State start`, too
        if "start" in words and words & {"stop", "end"}:
            raise source.fault(
                f"has rows for starts and rows for ends (column {name!r})",
                None,
                "write one row per event, with its start and end; or name the columns as BORIS "
                "does: Time, Behavior and Behavior type",
            )
    if not columns.places.keys() & {"start", "time", "start_frame"}:
        _check_clicks(source, columns, rows)
    if "time" not in columns.places and columns.places.keys() & {"start", "start_frame"}:
        yield "there is no column for the ends or durations, so each row is a point"
    elif "duration" in columns.unused:
        yield "each row is a point; if it lasts for its 'duration', name the column 'time' 'start'"


def _check_clicks(source: Source, columns: _Columns, rows: Sequence[Row]) -> None:
    """Refuses a row for every frame, which would be as many clicks."""
    frames = [_frame(source, row, columns.cell(row, "frame")) for row in rows]
    labels = [(columns.path(row, source), columns.cell(row, "label")) for row in rows]
    pairs = zip(pairwise(frames), pairwise(labels), strict=True)
    n_next = sum(after == frame + 1 and one == two for (frame, after), (one, two) in pairs)
    if n_next * 2 > len(rows):
        raise source.fault(
            "has a row for every frame, but a row is one event",
            None,
            "write the labels alone, one line per frame, into VIDEO.txt; or a row per event, with "
            "start_frame and end_frame",
        )


def _plain(row: Row) -> Row:
    return Row(row.spot, [_plain_name(cell.lower().replace(" ", "_")) for cell in row.cells])


def _plain_name(name: str) -> str:
    """The name without seconds as its unit, and with `_ms` for milliseconds."""
    return _UNIT.sub(lambda unit: "_ms" if unit[1] or unit[2] else "", name)


def _header_sets() -> list[set[str]]:
    """Every pair of a label column's name and a time column's name."""
    times = [name for what in ("start", "time", "start_frame", "frame") for name in _NAMES[what]]
    return [{label, time} for label in _NAMES["label"] for time in times]
