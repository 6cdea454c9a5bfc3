"""Plain tables: `video,start,end,label` or `video,time,label`, as CSV or TSV (XLSX: spreadsheet).

Parsed by hand: columns are found by name in any order and case, and times come in many forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.exchange.clock import format_seconds, read_time
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
    return read_rows(source, rows_of(source))


def read_rows(source: Source, rows: Iterable[Row]) -> Reading:
    """Like `read`, from rows of any origin."""
    rows = iter(rows)
    header = find_header((_plain(row) for row in rows), _header_sets())
    if header is None:
        raise source.fault("has no header that names a label and times", None, _REMEDY)
    columns = _Columns.of(header.cells)
    events: dict[str, list[Event]] = {}
    rates: dict[str, float] = {}
    rows = list(rows)
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
    videos = tuple(
        VideoAnnotations(video, tuple(found), frame_rate=rates.get(video))
        for video, found in events.items()
    )
    return Reading(videos, counted(warnings))


@dataclass(frozen=True)
class _Columns:
    places: dict[str, int]
    unused: tuple[str, ...]

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
        # unless there is only a start, it may be the video's length
        if "start" not in places or places.keys() & {"end", "start_frame"}:
            places.pop("duration", None)
        used = {header[place] for place in places.values()}
        beside = {"start", "end", "start_frame", "end_frame"}
        unused = [name for name in header if name and name not in used | beside]
        return cls(places, tuple(unused))

    def cell(self, row: Row, what: str) -> str:
        place = self.places.get(what)
        return row.cells[place] if place is not None and place < len(row.cells) else ""

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
    if "start_frame" in columns.places:
        frames = [
            _frame(source, row, columns.cell(row, name)) for name in ("start_frame", "end_frame")
        ]
        start, end = source.times(video, rate).edges(frames).tolist()
        return start, end
    if "start" in columns.places or "time" in columns.places:
        start_text = columns.cell(row, "start") or columns.cell(row, "time")
        end_text = columns.cell(row, "end")
        end = _seconds(source, row, end_text) if end_text else None
        start = _seconds(source, row, start_text)
        lasts = columns.cell(row, "duration")
        return start, round(start + _seconds(source, row, lasts), 9) if lasts else end
    frame = _frame(source, row, columns.cell(row, "frame"))
    return float(middles(source.times(video, rate), frame)), None


def _seconds(source: Source, row: Row, text: str) -> float:
    seconds = read_time(text)
    if seconds is None:
        raise source.fault(
            f"{text[:60]!r} is not a time", row.spot, "write seconds, mm:ss or hh:mm:ss.mmm"
        )
    return seconds


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


def _plain(row: Row) -> Row:
    cells = [cell.lower().replace(" ", "_").removesuffix("_(s)") for cell in row.cells]
    return Row(row.spot, cells)


def _header_sets() -> list[set[str]]:
    """Every pair of a label column's name and a time column's name."""
    times = [name for what in ("start", "time", "start_frame", "frame") for name in _NAMES[what]]
    return [{label, time} for label in _NAMES["label"] for time in times]
