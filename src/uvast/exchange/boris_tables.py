"""BORIS's exports: tabular events (START, STOP, POINT rows) and aggregated events, v7 to v9.

Parsed by hand: columns moved between versions, so they are found by name, and older files have
rows before the header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.exchange.boris_events import (
    Key,
    Observation,
    media_in_a_row,
    without_own_overlaps,
)
from uvast.exchange.clock import (
    format_seconds,
    later_by_a_millisecond,
    read_signed_time,
    read_time,
)
from uvast.exchange.csv_rows import Row, Table, csv_text, find_header, rows_of
from uvast.exchange.source import Reading, Written, counted
from uvast.exchange.video_paths import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.exchange.records import Event, VideoAnnotations
    from uvast.exchange.source import Source, Target

_TABULAR = ({"time", "behavior", "behavior type"}, {"time", "behavior", "status"})
_AGGREGATED = ({"behavior", "start (s)", "stop (s)"},)
_NONE = {"", "na", "not found"}
"""What BORIS writes for unknown values; a behaviour may well be called NA, though."""

_LONGEST = 10**8
"""In seconds: three years, far below the creation dates that BORIS can be set to count from."""

_WRITE_SECONDS = "write seconds, such as 12.5"
_ID = ("Observation id", "Observation date", "Description")
_SOURCE = ("Observation type", "Source", "Time offset (s)")


def recognise_tabular(source: Source) -> bool:
    """Whether the header is that of tabular events."""
    return _recognise(source, _TABULAR)


def recognise_aggregated(source: Source) -> bool:
    """Whether the header is that of aggregated events."""
    return _recognise(source, _AGGREGATED)


def _recognise(source: Source, wanted: Sequence[set[str]]) -> bool:
    # A cheap check before splitting rows: most files are not CSV at all.
    head = source.head.lower()
    if not any(all(name in head for name in one) for one in wanted):
        return False
    return find_header(rows_of(source), wanted) is not None


def _told(table: Table, row: Row, *names: str) -> str:
    """Like `table.get`, but empty where BORIS says it does not know."""
    text = table.get(row, *names)
    return "" if text.lower() in _NONE else text


def read_tabular(source: Source) -> Reading:
    """Reads one event per row; a state has one row for its start and one for its stop."""
    observations: dict[str, Observation] = {}
    for table, row in _rows(source, _TABULAR):
        observation = _observation(source, table, row, observations)
        key = Key(table.get(row, "subject"), table.get(row, "behavior"), table.modifiers(row))
        time = _seconds(source, row, _told(table, row, "time"), observation)
        status = table.get(row, "behavior type", "status").upper()
        comment = table.get(row, "comment", "comment start")
        if status == "START":
            observation.start(row.spot, key, time, comment)
        elif status == "STOP":
            observation.stop(row.spot, key, time, comment)
        elif status == "POINT":
            observation.point(row.spot, key, time, comment)
        else:
            raise source.fault(
                f"{status!r} is not a type of event", row.spot, "write START, STOP or POINT"
            )
    return _reading(source, observations)


def read_aggregated(source: Source) -> Reading:
    """Reads one event per row, with its start and stop; a point stops where it starts."""
    observations: dict[str, Observation] = {}
    for table, row in _rows(source, _AGGREGATED):
        observation = _observation(source, table, row, observations)
        key = Key(table.get(row, "subject"), table.get(row, "behavior"), table.modifiers(row))
        begin = _told(table, row, "start (s)")
        start = _seconds(source, row, begin, observation)
        stop = _seconds(source, row, _told(table, row, "stop (s)") or begin, observation)
        comment = table.get(row, "comment start", "comment")
        if stop < start:
            raise source.fault(f"stops at {stop:g} s and starts at {start:g} s", row.spot)
        if stop == start:
            observation.point(row.spot, key, start, comment)
        else:
            observation.interval(row.spot, key, start, stop, comment)
    return _reading(source, observations)


def _rows(source: Source, wanted: Sequence[set[str]]) -> Iterator[tuple[Table, Row]]:
    rows = iter(rows_of(source))
    header = find_header(rows, wanted)
    if header is None:
        names = ", ".join(sorted(wanted[0]))
        raise source.fault(
            "does not have the header of a BORIS table",
            None,
            f"export it again, with the columns {names}",
        )
    table = Table.of(header)
    for row in rows:
        yield table, row


def _observation(
    source: Source, table: Table, row: Row, known: dict[str, Observation]
) -> Observation:
    """The row's observation; if the table names none, each video is one."""
    own_video = _path(_told(table, row, "media file name", "media file path"))
    name = table.get(row, "observation id") or own_video
    if name not in known:
        media = _media(table, row)
        if len(media) < 2:
            only = own_video or (media[0] if media else "") or name or source.video
            length = _told(table, row, "media duration (s)", "total length")
            found = media_in_a_row([only], [_numbers(length)[0]])
        else:
            lengths = _numbers(_told(table, row, "media duration (s)", "total length"))
            found = media_in_a_row(media, [*lengths, *[None] * len(media)][: len(media)])
        rates = _numbers(_told(table, row, "fps", "fps (frame/s)"))
        text = _told(table, row, "time offset (s)")
        offset = read_signed_time(text) if text else 0.0
        if offset is None:
            raise source.fault(f"{text!r} is not a time offset", row.spot, _WRITE_SECONDS)
        known[name] = Observation(source, found, rates[0], offset=offset)
    return known[name]


def _media(table: Table, row: Row) -> list[str]:
    """The first player's videos: `player #1:a.mp4;b.mp4|player #2:c.mp4`."""
    text = _told(table, row, "source").removeprefix("player #1:").removeprefix("Player #1:")
    text = text.strip()
    if text == _told(table, row, "media file name"):  # one video, whatever its name
        return [text] if _path(text) else []
    first = text.partition("|")[0]
    return [path for path in first.split(";") if _path(path)]


def _path(text: str) -> str:
    """The path unchanged; empty if it names no file."""
    return text if file_name(text) else ""


def _numbers(text: str) -> list[float | None]:
    """The first player's values, joined by `;` in the text; at least one."""
    parts = text.partition("|")[0].split(";")
    return [read_time(part) or None for part in parts]


def _seconds(source: Source, row: Row, text: str, observation: Observation) -> float:
    seconds = read_signed_time(text)
    if seconds is None:
        raise source.fault(f"{text!r} is not a time", row.spot, _WRITE_SECONDS)
    seconds = observation.on_time_line(row.spot, seconds)
    if seconds > _LONGEST and observation.media[-1].end != float("inf"):
        raise source.fault(
            f"is {seconds:.0f} s after the video starts: BORIS counts from its creation date",
            row.spot,
            "import the project (.boris), which has the date",
        )
    return seconds


def _reading(source: Source, observations: dict[str, Observation]) -> Reading:
    found = [video for one in observations.values() for video in one.videos()]
    warnings = [text for one in observations.values() for text in one.warnings]
    return Reading(source.by_video(found), counted(warnings))


def write_tabular(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes tabular events as BORIS 9 does."""
    n_modifiers, modifier_names = _modifier_names(videos)
    header = [*_ID, "Observation duration", *_SOURCE, "Media duration (s)", "FPS"]
    header += ["Subject", "Behavior", "Behavioral category", *modifier_names, "Behavior type"]
    header += ["Time", "Media file name", "Image index", "Image file path", "Comment"]
    rows = [header]
    warnings: list[str] = []
    for video in videos:
        events, told = without_own_overlaps(video)
        warnings += told
        moments: list[tuple[float, int, str, Event]] = []
        for event in events:
            if event.is_point:
                moments.append((event.start, 1, "POINT", event))
            else:
                end = later_by_a_millisecond(event.start, event.stop)
                moments += [(event.start, 2, "START", event), (end, 0, "STOP", event)]
        for time, _, status, event in sorted(moments, key=lambda row: (round(row[0], 3), row[1])):
            row = [*_about(video)[:3], "", *_about(video)[3:], *_what(event, n_modifiers)]
            row += [status, f"{time:.3f}", video.video, "", ""]
            rows.append([*row, "" if status == "STOP" else event.comment])
    return Written(csv_text(rows), counted(warnings))


def write_aggregated(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes aggregated events as BORIS 9 does."""
    n_modifiers, modifier_names = _modifier_names(videos)
    header = [*_ID, *_SOURCE, "Media duration (s)", "FPS (frame/s)"]
    header += ["Subject", "Behavior", "Behavioral category", *modifier_names, "Behavior type"]
    header += ["Start (s)", "Stop (s)", "Duration (s)", "Media file name"]
    rows = [[*header, "Image index start", "Image index stop", "Comment start", "Comment stop"]]
    for video in videos:
        for event in video.events:
            end = event.stop
            if event.end is not None:
                end = later_by_a_millisecond(event.start, end)
            row = [*_about(video), *_what(event, n_modifiers)]
            row += ["POINT" if event.is_point else "STATE", f"{event.start:.3f}", f"{end:.3f}"]
            row += ["NA" if event.is_point else f"{end - event.start:.3f}", video.video]
            rows.append([*row, "", "", event.comment, ""])
    return Written(csv_text(rows))


def _modifier_names(videos: Sequence[VideoAnnotations]) -> tuple[int, list[str]]:
    most = max((len(e.modifiers) for video in videos for e in video.events), default=0)
    return most, [f"Modifier #{n}" for n in range(1, most + 1)]


def _about(video: VideoAnnotations) -> list[str]:
    length = "NA" if video.duration is None else format_seconds(video.duration)
    rate = "NA" if video.frame_rate is None else format_seconds(video.frame_rate)
    name = video.video
    return [name, "", "", "Media file(s)", f"player #1:{name}", "0.0", length, rate]


def _what(event: Event, n_modifiers: int) -> list[str]:
    gaps = [""] * (n_modifiers - len(event.modifiers))
    return [event.tier, event.label, "", *event.modifiers, *gaps]
