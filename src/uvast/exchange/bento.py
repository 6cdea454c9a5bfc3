"""Bento .annot: channels of `>label` blocks with rows `Start Stop Duration`.

Parsed by hand; read only. As in Bento itself, whole numbers are frames counted from 1 with an
inclusive stop, and other numbers are seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from uvast.exchange.frames import rate_of
from uvast.exchange.names import without_media_suffix
from uvast.exchange.records import Span, VideoAnnotations
from uvast.exchange.source import Reading
from uvast.exchange.video_paths import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.source import Source


@dataclass(frozen=True)
class _Row:
    line: int
    channel: str
    label: str
    start: float
    stop: float


def recognise(source: Source) -> bool:
    """Whether the first line names Bento."""
    return source.head.lstrip().lower().startswith("bento annotation file")


def read(source: Source) -> Reading:
    """Reads all channels, each as a tier."""
    head: dict[str, str] = {}
    rows = list(_rows(source, head))
    movie = _first_movie(head.get("movie file(s)", ""))
    video = source.name_of(movie) if file_name(movie) else source.video
    told = _number(source, head, "annotation framerate")
    first = _number(source, head, "annotation start frame")
    last = _number(source, head, "annotation stop frame")
    by_frames = all(row.start.is_integer() and row.stop.is_integer() for row in rows)
    times = source.times(video, told) if by_frames and rows else None
    events = tuple(
        source.event(f"line {row.line}", row.label, *_span(row, times), tier=row.channel)
        for row in rows
    )
    observed = None
    if times is not None and first is not None and last is not None and last >= first >= 1:
        observed = (Span(*times.edges([int(first) - 1, int(last)]).tolist()),)
    rate = told if times is None else rate_of(times)
    return Reading((VideoAnnotations(video, events, observed, rate),))


def _rows(source: Source, head: dict[str, str]) -> Iterator[_Row]:
    channel = label = ""
    before = ""
    for number, line in source.lines():
        text = line.strip()
        if text.endswith("----------"):
            channel, label = text.rstrip("-"), ""
        elif text.startswith(">"):
            label = text[1:]
        elif label and text and not text.lower().startswith("start"):
            cells = text.split()
            try:
                yield _Row(number, channel, label, float(cells[0]), float(cells[1]))
            except (ValueError, IndexError):
                raise source.fault(
                    f"{text[:60]!r} is not start, stop and duration", f"line {number}"
                ) from None
        elif not channel:
            key, colon, value = text.partition(":")
            if colon:
                before = key.lower()
                head[before] = value.strip()
            elif text and not head.get(before, "-"):
                head[before] = text  # some programs put the movies on the next line


def _first_movie(text: str) -> str:
    """The first of several paths; blanks part them, and blanks may be inside them."""
    words = text.split()
    paths = accumulate(words, "{} {}".format)
    complete = (path for path in paths if without_media_suffix(path) != path)
    return next(complete, words[0] if words else "")


def _span(row: _Row, times: FrameTimes | None) -> tuple[float, float]:
    if times is None:
        return row.start, row.stop
    first, last = times.edges([max(int(row.start), 1) - 1, int(row.stop)]).tolist()
    return first, last


def _number(source: Source, head: dict[str, str], name: str) -> float | None:
    text = head.get(name, "")
    try:
        value = float(text or 0)
    except ValueError:
        value = math.inf
    if math.isinf(value):
        raise source.fault(f"{name} {text[:60]!r} is not a number")
    return value if value > 0 else None
