"""What every annotation file becomes: events in seconds, one record per video.

Formats read into these records and write from them, rules change them, `frames` maps them to a
video's frames. All are frozen; ends are half-open as everywhere, `[start, end)`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML forbids or an encoding cannot hold."""

_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Characters that show nothing: soft hyphen, zero-width space, word joiner, byte-order mark. The
joiners U+200C and U+200D are not among them: Persian words and family emoji need them."""


class Span(NamedTuple):
    """A stretch of time in seconds, `[start, end)`."""

    start: float
    end: float


@dataclass(frozen=True)
class Event:
    """One annotation: an interval, or a point in time if it has no end.

    Texts are kept on one line: runs of whitespace become one blank. A bar separates modifiers. An
    interval of no length is a point.

    Args:
        label: what happens; never empty.
        start: seconds from the video's start.
        end: seconds, after `start`; None for a point.
        tier: the tier, subject, track or attribute it belongs to.
        modifiers: what else the annotator said about it, in order.
        annotator: who said so, a person or a model.
        confidence: how sure they are, in [0, 1]; None if not given.
        comment: free text.
    """

    label: str
    start: float
    end: float | None = None
    tier: str = ""
    modifiers: tuple[str, ...] = ()
    annotator: str = ""
    confidence: float | None = None
    comment: str = ""

    def __post_init__(self) -> None:
        for name in ("label", "tier", "annotator", "comment"):
            object.__setattr__(self, name, one_line(getattr(self, name)))
        if self.modifiers:
            parts = [one_line(part) for text in self.modifiers for part in text.split("|")]
            object.__setattr__(self, "modifiers", tuple(filter(None, parts)))
        if not self.label:
            raise InputError(f"an event at {self.start:g} s without a label", remedy="name it")
        _check_time(self.start, self.label)
        if self.end is not None:
            _check_time(self.end, self.label)
            if self.end < self.start:
                raise InputError(
                    f"{self.label!r} starts at {self.start:g} s and ends at {self.end:g} s",
                    remedy="swap its times or remove it",
                )
            if self.end == self.start:
                object.__setattr__(self, "end", None)
        if self.confidence is not None and not 0 <= self.confidence <= 1:
            raise InputError(
                f"{self.label!r} has a confidence of {self.confidence:g}",
                remedy="write it as a number between 0 and 1",
            )

    @property
    def is_point(self) -> bool:
        """Whether it is a moment rather than a stretch of time."""
        return self.end is None

    @property
    def stop(self) -> float:
        """When it is over; for a point, its start."""
        return self.start if self.end is None else self.end

    @property
    def seconds(self) -> float:
        """How long it lasts; 0 for a point."""
        return self.stop - self.start

    @property
    def order(self) -> tuple[object, ...]:
        """A sort key, time first; total, so that a record does not depend on the file's order."""
        sure = -1.0 if self.confidence is None else self.confidence
        rest = (self.tier, self.modifiers, self.annotator, sure, self.comment)
        return (self.start, self.stop, self.label, *rest)


@dataclass(frozen=True)
class VideoAnnotations:
    """Everything a file says about one video.

    Args:
        video: its name as in the file, without folders.
        events: in order of time.
        observed: the spans that somebody looked at, in order; None if the format does not say.
            Outside of them nothing is known: unlabelled is not background.
        frame_rate: frames a second, if the format says.
        duration: the video's length in seconds, if the format says.
    """

    video: str
    events: tuple[Event, ...] = ()
    observed: tuple[Span, ...] | None = None
    frame_rate: float | None = None
    duration: float | None = None

    def __post_init__(self) -> None:
        name = one_line(self.video)
        if not name:
            raise InputError("annotations of a video without a name", remedy="name the video")
        object.__setattr__(self, "video", name)
        object.__setattr__(self, "events", tuple(sorted(self.events, key=lambda e: e.order)))
        if self.observed is not None:
            object.__setattr__(self, "observed", joined(self.observed))
        for what, value in (("frame rate", self.frame_rate), ("duration", self.duration)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"video {name} has a {what} of {value:g}", remedy="correct it")

    @cached_property
    def intervals(self) -> tuple[Event, ...]:
        """The events that last."""
        return tuple(event for event in self.events if not event.is_point)

    @cached_property
    def points(self) -> tuple[Event, ...]:
        """The events that are moments."""
        return tuple(event for event in self.events if event.is_point)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names that occur, sorted."""
        return tuple(sorted({event.label for event in self.events}))

    @cached_property
    def end(self) -> float:
        """When the last event is over; 0 without events."""
        return max((event.stop for event in self.events), default=0.0)


def as_shown(text: str) -> str:
    """Text without invisible characters and with composed accents, as macOS takes some apart.

    So names that look the same are the same.
    """
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text))


def one_line(text: str) -> str:
    """Text `as_shown` on one line, without characters that files cannot hold."""
    text = " ".join(as_shown(text).split())
    return text if text.isprintable() else " ".join(_UNWRITABLE.sub("", text).split())


def joined(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Sorts spans and joins those that touch or overlap."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if not (math.isfinite(start) and math.isfinite(end) and 0 <= start < end):
            raise InputError(f"a span from {start:g} to {end:g} s", remedy="correct its times")
        if found and start <= found[-1].end:
            found[-1] = Span(found[-1].start, max(found[-1].end, end))
        else:
            found.append(Span(start, end))
    return tuple(found)


def merged(found: Iterable[VideoAnnotations]) -> tuple[VideoAnnotations, ...]:
    """Merges the records of several observations or rows into one per video."""
    by_name: dict[str, VideoAnnotations] = {}
    for video in found:
        other = by_name.get(video.video)
        if other is None:
            by_name[video.video] = video
            continue
        spans = [other.observed, video.observed]
        observed = None if None in spans else joined(tuple(s for one in spans for s in one or ()))
        by_name[video.video] = VideoAnnotations(
            video.video,
            (*other.events, *video.events),
            observed,
            other.frame_rate or video.frame_rate,
            other.duration or video.duration,
        )
    return tuple(by_name.values())


def _check_time(seconds: float, label: str) -> None:
    if not math.isfinite(seconds) or seconds < 0:
        raise InputError(
            f"{label!r} is at {seconds:g} s", remedy="times count seconds from the video's start"
        )
