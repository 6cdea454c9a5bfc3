"""Events with ids, in order of time.

A long video has thousands, and each edit touches a few: what is known about the others is kept.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from uvast.exchange import Event

_FEW = 100
"""Up to this many items are inserted one by one; more are sorted with all others."""

_ORDER = attrgetter("order")


@dataclass(frozen=True)
class Item:
    """An event with an id that stays the same while it is moved and relabelled.

    Args:
        id: such as `e17`; never used twice in a video.
        event: what happens when.
        changed: the version of the document that last changed it.
        by: who changed it.
    """

    id: str
    event: Event
    changed: int = field(default=0, compare=False)
    by: str = field(default="", compare=False)

    @cached_property
    def order(self) -> tuple[object, ...]:
        """The sort key, by time first."""
        return (*self.event.order, self.id)

    @cached_property
    def json(self) -> bytes:
        """As the page gets it."""
        event = self.event
        shown = {
            "id": self.id,
            "kind": "click" if event.is_point else "segment",
            "label": event.label,
            "start": event.start,
            "end": event.end,
            "author": event.annotator,
        }
        return json.dumps(shown, ensure_ascii=False).encode()


@dataclass(frozen=True)
class Arranged:
    """Items in order.

    Args:
        clicks: the moments.
        segments: the stretches of time.
        n_events: how often each label occurs.
        longest: in seconds; no segment is longer.
    """

    clicks: tuple[Item, ...]
    segments: tuple[Item, ...]
    n_events: Mapping[str, int]
    longest: float

    @classmethod
    def of(cls, items: Iterable[Item]) -> Arranged:
        """Sorts items."""
        ordered = sorted(items, key=_ORDER)
        segments = tuple(one for one in ordered if not one.event.is_point)
        return cls(
            tuple(one for one in ordered if one.event.is_point),
            segments,
            Counter(one.event.label for one in ordered),
            max((one.event.seconds for one in segments), default=0.0),
        )

    @cached_property
    def all(self) -> tuple[Item, ...]:
        """Clicks and segments together."""
        return tuple(sorted((*self.clicks, *self.segments), key=_ORDER))

    def changed(self, gone: Sequence[Item], new: Sequence[Item]) -> Arranged:
        """The items without those that are gone, all of which are here, and with new ones."""
        if len(gone) + len(new) > _FEW:
            left = {one.id: one for one in (*self.clicks, *self.segments)}
            for one in gone:
                del left[one.id]
            return Arranged.of((*left.values(), *new))
        n_events = Counter(self.n_events)
        n_events.update(one.event.label for one in new)
        n_events.subtract(one.event.label for one in gone)
        lengths = [one.event.seconds for one in new]
        return Arranged(
            _changed(self.clicks, gone, new, points=True),
            _changed(self.segments, gone, new, points=False),
            +n_events,
            max([self.longest, *lengths]),
        )


def _changed(
    items: tuple[Item, ...], gone: Sequence[Item], new: Sequence[Item], *, points: bool
) -> tuple[Item, ...]:
    gone = [one for one in gone if one.event.is_point == points]
    new = [one for one in new if one.event.is_point == points]
    if not gone and not new:
        return items
    found = list(items)
    for one in gone:
        del found[bisect_left(found, one.order, key=_ORDER)]
    for one in new:
        insort(found, one, key=_ORDER)
    return tuple(found)
