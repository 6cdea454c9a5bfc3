"""The pseudo-segmentation of one video, updated at once after each change.

Only the cuts next to changed clicks are made again; see `uvast.web.cutting`. Without features,
segments end half-way between clicks.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from uvast.exchange import Event, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.web.documents import Document


@dataclass(frozen=True)
class Pseudo:
    """Segments in order, and what they were cut by: `features` or `midpoint`."""

    segments: tuple[Event, ...] = ()
    by: str = "midpoint"


def stretches(document: Document, seconds: float | None) -> list[tuple[Span, list[Event]]]:
    """The spans that clicks can label, each with the clicks inside.

    These are the spans that were looked at. In a video with segments they are everything between
    the segments, since every segment adds to what was looked at.
    """
    clicks = [item.event for item in document.clicks]
    if not clicks:
        return []
    end = seconds or clicks[-1].start + 1.0
    if document.segments:
        spans: Sequence[Span] = _between([item.event for item in document.segments], end)
    else:
        spans = document.observed or (Span(0.0, end),)
    starts = [click.start for click in clicks]
    found = [
        (span, clicks[bisect_left(starts, span.start) : bisect_left(starts, span.end)])
        for span in spans
    ]
    return [(span, inside) for span, inside in found if inside]


def _between(segments: Sequence[Event], end: float) -> list[Span]:
    """What no segment covers; segments are in order."""
    edges = [0.0, *(time for one in segments for time in (one.start, one.stop)), end]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [Span(start, stop) for start, stop in pairs if start < stop]


def midpoints(document: Document, seconds: float | None) -> Pseudo:
    """Cuts half-way between clicks."""
    found: list[Event] = []
    for span, clicks in stretches(document, seconds):
        cuts = [(one.start + other.start) / 2 for one, other in pairwise(clicks)]
        found += segments_of(span, clicks, cuts)
    return Pseudo(tuple(found))


def segments_of(span: Span, clicks: Sequence[Event], cuts: Sequence[float]) -> list[Event]:
    """Makes segments of clicks and the cuts between them; joins neighbours of one class."""
    found: list[Event] = []
    edges = (span.start, *cuts, span.end)
    for click, start, end in zip(clicks, edges[:-1], edges[1:], strict=True):
        if found and found[-1].label == click.label:
            found[-1] = Event(click.label, found[-1].start, end)
        elif start < end:
            found.append(Event(click.label, start, end))
    return found
