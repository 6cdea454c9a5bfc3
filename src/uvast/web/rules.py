"""What has to hold of the events of a video: one click a frame, no two segments at once.

Files of other programs may break either rule (several tiers, several people); what they say stays.
A change only has to keep the rules for what it moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from uvast.exchange import Event, FrameTimes


def check(events: Mapping[str, Event], moved: Collection[str], times: FrameTimes | None) -> None:
    """Refuses moved events that share a frame or overlap with any other.

    Args:
        events: all of a video, by id.
        moved: the ids of those whose times are new.
        times: the frames on which clicks stand; None tells only equal times apart.
    """
    if moved:
        _check_frames(events, moved, times)
        _check_overlaps(events, moved)


def _check_frames(
    events: Mapping[str, Event], moved: Collection[str], times: FrameTimes | None
) -> None:
    if not any(events[id_].is_point for id_ in moved if id_ in events):
        return
    ids = [id_ for id_, event in events.items() if event.is_point]
    seconds = [events[id_].start for id_ in ids]
    frames = seconds if times is None else times.frames_at(seconds).tolist()
    holders: dict[float, str] = {}
    for id_, frame in sorted(zip(ids, frames, strict=True), key=lambda pair: pair[0] in moved):
        other = holders.setdefault(frame, id_)
        if other != id_ and id_ in moved:
            event = events[other]
            raise InputError(
                f"{event.label!r} at {event.start:.2f} s is on the same frame",
                remedy="a frame has one click: move on, or relabel that one",
            )


def _check_overlaps(events: Mapping[str, Event], moved: Collection[str]) -> None:
    """Goes through the segments of each tier in order; the one that lasts longest is in the way.

    If a moved segment overlaps any other, it also overlaps the one that lasts longest at its
    start, or a later one overlaps it while it is that one.
    """
    if not any(events[id_].end is not None for id_ in moved if id_ in events):
        return
    longest: dict[str, str] = {}
    segments = [(event.start, id_) for id_, event in events.items() if event.end is not None]
    for start, id_ in sorted(segments):
        event = events[id_]
        other = longest.get(event.tier)
        end = -1.0 if other is None else events[other].end or -1.0
        if other is not None and start < end and (id_ in moved or other in moved):
            raise _overlap(events[other], event)
        if (event.end or 0.0) > end:
            longest[event.tier] = id_


def _overlap(first: Event, second: Event) -> InputError:
    shown = " and ".join(
        f"{event.label!r} ({event.start:.2f} to {event.end:.2f} s)" for event in (first, second)
    )
    return InputError(f"{shown} would overlap", remedy="move or shorten one of them first")
