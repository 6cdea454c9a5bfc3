"""Turns segments from a model or from clicks into a person's own."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from uvast.exchange import Span
from uvast.exchange.records import joined
from uvast.web.documents import spans_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.web.changes import Accept, ClicksFrom
    from uvast.web.documents import Spans
    from uvast.web.drafts import Draft


def accept(draft: Draft, change: Accept) -> None:
    """Takes over segments, or the parts of them in some spans; other segments make room."""
    spans = (Span(0.0, 1e9),) if change.spans is None else as_spans(change.spans)
    pieces = [
        draft.event(event.label, max(event.start, start), min(event.end, end), "segment")
        for event in draft.segments_from(change.origin)
        for start, end in spans
        if event.end is not None and max(event.start, start) < min(event.end, end)
    ]
    if pieces:
        _cut_out(draft, joined(spans_of(pieces)))
    for piece in pieces:
        draft.add(piece)


def click_in_each(draft: Draft, change: ClicksFrom) -> None:
    """Adds a click in the middle of every segment that has none."""
    clicks = sorted(event.start for event in draft.events.values() if event.is_point)
    for event in draft.segments_from(change.origin):
        assert event.end is not None, "a segment"
        if bisect_left(clicks, event.start) == bisect_left(clicks, event.end):
            middle = (event.start + event.end) / 2
            draft.add(draft.event(event.label, middle, None, "click"))


def as_spans(pairs: Sequence[tuple[float, float]]) -> Spans:
    """Pairs of seconds as spans, in order and disjoint."""
    return joined(tuple(Span(start, end) for start, end in pairs))


def _cut_out(draft: Draft, spans: Spans) -> None:
    """Makes room: segments keep what lies outside of the spans."""
    for id_, event in draft.events.items():
        if event.end is None:
            continue
        kept = _outside(Span(event.start, event.end), spans)
        if kept == [(event.start, event.end)]:
            continue
        draft.remove(id_)
        for number, (start, end) in enumerate(kept):
            draft.put(draft.add(event) if number else id_, event, start, end)


def _outside(span: Span, others: Spans) -> list[Span]:
    """What is left of a span outside others, which are in order and disjoint."""
    kept, start = [], span.start
    first = bisect_left(others, span.start, key=lambda one: one.end)
    for other in others[first:]:
        if other.start >= span.end:
            break
        if start < other.start:
            kept.append(Span(start, other.start))
        start = max(start, other.end)
    return [*kept, Span(start, span.end)] if start < span.end else kept
