"""Rules for the events of a video: one click per frame, no two segments at once.

Files of other programs may break either rule (several tiers, several people); what they say stays.
A change has to keep the rules only for what it moves, so only events nearby are checked.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from uvast.exchange import Event, FrameTimes
    from uvast.web.documents import Document
    from uvast.web.items import Item

_ROUNDING = 1e-6
"""The rounding error of seconds that are added and subtracted."""


def check(document: Document, moved: Collection[str], times: FrameTimes | None) -> None:
    """Refuses moved events that share a frame or overlap with any other.

    Args:
        document: after the changes.
        moved: the ids of events whose times are new.
        times: the frames that clicks are on; None compares their exact times instead.
    """
    items = [document.items[id_] for id_ in moved if id_ in document.items]
    clicks = [one for one in items if one.event.is_point]
    segments = [one for one in items if not one.event.is_point]
    if clicks:
        _check_frames(document.clicks, clicks, times)
    if segments:
        _check_overlaps(_near(document, segments), moved)


def _check_frames(clicks: Sequence[Item], moved: Sequence[Item], times: FrameTimes | None) -> None:
    """Compares moved clicks with their neighbours in time, which may be on the same frame."""
    places = [bisect_left(clicks, one.order, key=lambda other: other.order) for one in moved]
    beside = [
        (clicks[place], clicks[other])
        for place in places
        for other in (place - 1, place + 1)
        if 0 <= other < len(clicks)
    ]
    pairs = [(one.event.start, other.event.start) for one, other in beside]
    if not pairs:
        return
    starts, others = map(list, zip(*pairs, strict=True))
    if times is not None:
        starts, others = times.frames_at(starts).tolist(), times.frames_at(others).tolist()
    for (_, other), frame, taken in zip(beside, starts, others, strict=True):
        if frame == taken:
            raise InputError(
                f"{other.event.label!r} at {other.event.start:.2f} s is on the same frame",
                remedy="a frame has one click: move on, or relabel that one",
            )


def _near(document: Document, moved: Sequence[Item]) -> Sequence[Item]:
    """All segments that can overlap with the moved ones, in order."""
    first = min(one.event.start for one in moved) - document.arranged.longest - _ROUNDING
    last = max(one.event.stop for one in moved)
    start, end = (
        bisect_left(document.segments, seconds, key=lambda one: one.event.start)
        for seconds in (first, last)
    )
    return document.segments[start:end]


def _check_overlaps(segments: Sequence[Item], moved: Collection[str]) -> None:
    """Compares the segments of each tier, in order, with the one that ends last so far.

    If a moved segment overlaps any other, it also overlaps the one that ends last when it starts,
    or a later one overlaps it while it is that one.
    """
    longest: dict[str, Item] = {}
    for one in segments:
        event = one.event
        other = longest.get(event.tier)
        if other is None or event.start >= other.event.stop:
            longest[event.tier] = one
            continue
        if one.id in moved or other.id in moved:
            raise _overlap(other.event, event)
        if event.stop > other.event.stop:
            longest[event.tier] = one


def _overlap(first: Event, second: Event) -> InputError:
    shown = " and ".join(
        f"{event.label!r} ({event.start:.2f} to {event.end:.2f} s)" for event in (first, second)
    )
    return InputError(f"{shown} would overlap", remedy="move or shorten one of them first")
