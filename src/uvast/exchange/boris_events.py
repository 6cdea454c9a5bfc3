"""What BORIS's files share: consecutive media on one time line, and states that start and stop.

The Observer's event logs have such states, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from uvast.exchange.records import Event, Span, VideoAnnotations
from uvast.exchange.source import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange.source import Source


_NO_MODIFIER = "None"
"""What BORIS writes for a set of modifiers from which none was chosen."""


class Key(NamedTuple):
    """Identifies a state."""

    subject: str
    behavior: str
    modifiers: tuple[str, ...]


class _Start(NamedTuple):
    """A row in which a state starts."""

    spot: str
    time: float
    comment: str


class Medium(NamedTuple):
    """One video of an observation, from `start` to `end` on the observation's time line."""

    name: str
    start: float
    end: float


def media_in_a_row(names: Sequence[str], lengths: Sequence[float | None]) -> tuple[Medium, ...]:
    """Lays out videos that play one after the other; the last one's end may be unknown."""
    found, start = [], 0.0
    for name, length in zip(names, lengths, strict=True):
        end = start + length if length else float("inf")
        found.append(Medium(name, start, end))
        start = end
    return tuple(found)


@dataclass
class Observation:
    """Collects the events of one observation.

    Args:
        source: the file.
        media: its videos in order.
        frame_rate: of the videos, if the file gives it.
        observed: the span of its time line that was observed, if the file gives it.
        offset: the seconds BORIS has added to the times of its events.
        is_paired: whether a start without a stop, or a stop without a start, is an error; else it
            is a note.
    """

    source: Source
    media: tuple[Medium, ...]
    frame_rate: float | None = None
    observed: Span | None = None
    offset: float = 0.0
    is_paired: bool = False
    warnings: list[str] = field(default_factory=list)
    _events: dict[Medium, list[Event]] = field(default_factory=dict)
    _open: dict[Key, _Start] = field(default_factory=dict)
    _again: dict[Key, _Start] = field(default_factory=dict)
    """Second starts of states that are on: their stop at that moment may stand in a later row."""
    _last: float = 0.0

    def on_time_line(self, spot: str, time: float) -> float:
        """An event's time in the file, minus the offset."""
        seconds = round(time - self.offset, 6)
        if seconds < 0:
            raise self.source.fault(
                f"is {-seconds:g} s before the video starts",
                spot,
                "correct it, or the observation's time offset, in BORIS",
            )
        return seconds

    def toggle(self, spot: str, key: Key, time: float, comment: str) -> None:
        """Starts a state, or stops it if it is on."""
        if key in self._open:
            self.stop(spot, key, time, comment)
        else:
            self.start(spot, key, time, comment)

    def start(self, spot: str, key: Key, time: float, comment: str) -> None:
        """Starts a state; one that is on stays on unless it stops at this very moment."""
        self._last = max(self._last, time)
        self._refuse_again(key)
        starts = self._again if key in self._open else self._open
        starts[key] = _Start(spot, time, comment)

    def stop(self, spot: str, key: Key, time: float, comment: str) -> None:
        """Stops a state."""
        self._last = max(self._last, time)
        if key not in self._open:
            self._unpaired(spot, f"{key.behavior!r} stops without a start", "it is left out")
            return
        began, start, said = self._open.pop(key)
        if time < start:
            raise self.source.fault(f"{key.behavior!r} stops before it starts ({began})", spot)
        self.interval(spot, key, start, time, said or comment)
        if key in self._again and self._again[key].time == time:
            self._open[key] = self._again.pop(key)
        self._refuse_again(key)

    def interval(self, spot: str, key: Key, start: float, end: float, comment: str) -> None:
        """Adds an event with its times on the time line, cut where one video follows another.

        In the last video it is never cut short: the length in the file may be too small.
        """
        self._last = max(self._last, end)
        last = self.media[-1]
        parts = [m for m in self.media if m.start < end and (start < m.end or m is last)]
        if start == end:
            parts = [self._at(start)]
        if len(parts) > 1:
            self.warnings.append(f"{key.behavior!r} runs on into the next video; it is cut there")
        for medium in parts:
            self._add(
                spot,
                medium,
                key,
                max(start, medium.start) - medium.start,
                (end if medium is last else min(end, medium.end)) - medium.start,
                comment,
            )

    def point(self, spot: str, key: Key, time: float, comment: str) -> None:
        """Adds a moment on the time line."""
        self._last = max(self._last, time)
        medium = self._at(time)
        self._add(spot, medium, key, time - medium.start, None, comment)

    def videos(self) -> tuple[VideoAnnotations, ...]:
        """One record per video; states that are still on end with the observation."""
        for key in list(self._again):
            self._refuse_again(key)
        for key, (spot, start, comment) in self._open.items():
            known = self.observed.end if self.observed else self.media[-1].end
            end = max(known if known != float("inf") else self._last, start)
            self._unpaired(spot, f"{key.behavior!r} never stops", f"it ends at {end:g} s")
            self.interval(spot, key, start, end, comment)
        self._open.clear()
        return tuple(
            VideoAnnotations(
                medium.name,
                tuple(self._events.get(medium, ())),
                observed=self._observed_of(medium),
                frame_rate=self.frame_rate,
                duration=None if medium.end == float("inf") else medium.end - medium.start,
            )
            for medium in self.media
        )

    def _refuse_again(self, key: Key) -> None:
        """Says that a state that was on has started again, if it has."""
        if key in self._again:
            what = f"{key.behavior!r} starts twice"
            self._unpaired(self._again.pop(key).spot, what, "the second start is left out")

    def _unpaired(self, spot: str, what: str, done: str) -> None:
        if self.is_paired:
            raise self.source.fault(what, spot, "add the row that it lacks, or remove this one")
        self.warnings.append(f"{what}; {done}")

    def _at(self, time: float) -> Medium:
        return next((m for m in self.media if time < m.end), self.media[-1])

    def _observed_of(self, medium: Medium) -> tuple[Span, ...] | None:
        if self.observed is None:
            return None
        start = max(self.observed.start, medium.start) - medium.start
        end = min(self.observed.end, medium.end) - medium.start
        return (Span(start, end),) if start < end else ()

    def _add(
        self, spot: str, medium: Medium, key: Key, start: float, end: float | None, comment: str
    ) -> None:
        event = self.source.event(
            spot,
            key.behavior,
            round(start, 6),
            None if end is None else round(end, 6),
            tier=key.subject,
            modifiers=[one for one in key.modifiers if one != _NO_MODIFIER],
            comment=comment,
        )
        self._events.setdefault(medium, []).append(event)


def without_own_overlaps(video: VideoAnnotations) -> tuple[tuple[Event, ...], tuple[str, ...]]:
    """A video's events, with overlapping intervals of the same key merged.

    A BORIS state is on or off: it cannot start again before it stops.
    """
    latest: dict[Key, Event] = {}
    found: list[Event] = list(video.points)
    warnings = []
    for event in video.intervals:
        key = Key(event.tier, event.label, event.modifiers)
        before = latest.get(key)
        if before is not None and before.end is not None and event.start < before.end:
            end = max(before.end, event.stop)
            warnings.append(
                f"{event.label!r} overlaps itself; BORIS gets one interval, from start to end"
            )
            latest[key] = replace(before, end=end)
            continue
        if before is not None:
            found.append(before)
        latest[key] = event
    return (*found, *latest.values()), counted(warnings)
