"""Event logs of The Observer XT (Noldus), exported as text or as a workbook.

Parsed by hand: columns are found by name, and which there are is up to the user. Their names, and
those of the types of events, are those that published scripts read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.exchange.boris_events import Key, Observation, media_in_a_row
from uvast.exchange.clock import read_time
from uvast.exchange.csv_rows import Row, Table, find_header, rows_of
from uvast.exchange.source import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.exchange.source import Source

_TIMES = ("time_relative_sf", "time_relative_hmsf")
"""Since the start of the observation: seconds, or hours, minutes and seconds; the first wins."""

_HEADERS = tuple({"behavior", "event_type", time} for time in _TIMES)


def recognise(source: Source) -> bool:
    """Whether the header is that of an event log."""
    return "event_type" in source.head.lower() and has_header(rows_of(source))


def has_header(rows: Iterable[Row]) -> bool:
    """Whether rows of any origin are an event log."""
    return find_header(rows, _HEADERS) is not None


def read(source: Source) -> Reading:
    """Reads one event per row; a state has one row for its start and one for its stop."""
    return read_rows(source, rows_of(source))


def read_rows(source: Source, rows: Iterable[Row]) -> Reading:
    """Like `read`, from rows of any origin; an observation is a video and may have several logs."""
    rows = iter(rows)
    header = find_header(rows, _HEADERS)
    if header is None:
        raise source.fault(
            "does not have the header of an event log of The Observer",
            None,
            "export it again, with the columns Observation, Behavior, Event_Type and "
            "Time_Relative_sf",
        )
    table = Table.of(header)
    logs: dict[tuple[str, str], Observation] = {}
    for row in rows:
        video = table.get(row, "observation") or source.video
        log = logs.setdefault(
            (video, table.get(row, "event_log")),
            Observation(source, media_in_a_row([video], [None]), is_paired=True),
        )
        _add(source, table, row, log)
    return Reading(source.by_video([video for log in logs.values() for video in log.videos()]))


def _add(source: Source, table: Table, row: Row, log: Observation) -> None:
    key = Key(table.get(row, "subject"), table.get(row, "behavior"), table.modifiers(row))
    text, kind = table.get(row, *_TIMES), table.get(row, "event_type")
    comment = table.get(row, "comment")
    time = read_time(text)
    if time is None:
        raise source.fault(
            f"{text!r} is not a time since the start of the observation",
            row.spot,
            "write seconds, such as 12.5",
        )
    match kind.lower().removeprefix("state "):
        case "start":
            log.start(row.spot, key, time, comment)
        case "stop":
            log.stop(row.spot, key, time, comment)
        case "point":
            log.point(row.spot, key, time, comment)
        case _:
            raise source.fault(
                f"{kind!r} is not a type of event",
                row.spot,
                "write State start, State stop or Point",
            )
