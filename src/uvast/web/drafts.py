"""What becomes of a document by changes: all of them or none, a pure function."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from uvast.errors import InputError, LabelError
from uvast.exchange import Event, Span
from uvast.exchange.records import joined, one_line
from uvast.web.changes import (
    Accept,
    Add,
    Clear,
    ClicksFrom,
    Delete,
    Merge,
    Move,
    Observed,
    Relabel,
    Reviewed,
    Split,
)
from uvast.web.documents import (
    ConflictError,
    Document,
    Edit,
    FlagEdit,
    ItemEdit,
    SpansEdit,
    id_number,
    spans_of,
)
from uvast.web.rules import check

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.exchange import FrameTimes
    from uvast.web.changes import Change, Origin


@dataclass(frozen=True)
class Scene:
    """What changes have to know beside the document.

    Args:
        times: the frames on which clicks stand, one a frame; None if they are not known.
        seconds: the video's length, if known.
        origins: segments that can be accepted, in order, by where they come from.
    """

    times: FrameTimes | None = None
    seconds: float | None = None
    origins: Mapping[Origin, Sequence[Event]] = field(default_factory=dict)


def apply(
    document: Document,
    changes: Sequence[Change],
    author: str,
    *,
    seen: int | None = None,
    scene: Scene | None = None,
) -> tuple[Document, Edit]:
    """The next version of a document, and the edit that leads there; its inverse leads back.

    All changes or none: whatever cannot be is one error.

    Args:
        document: as it is.
        changes: in order.
        author: who asks; new and changed events carry the name.
        seen: the version that the author saw; None for the present one. Events that others
            changed since are a `ConflictError`.
        scene: the video.
    """
    scene = scene or Scene()
    draft = _Draft(document, author, document.version if seen is None else seen, scene)
    for change in changes:
        draft.make(change)
    edit = draft.edit()
    if not edit:
        return document, edit
    check(draft.items, edit.moved, scene.times)
    return document.edited(edit, author), edit


def repeat(
    document: Document, edit: Edit, author: str, times: FrameTimes | None = None
) -> Document:
    """A document after an edit of before, or its inverse: for undo and redo.

    A `ConflictError` if somebody changed the same since, or put something in its place.
    """
    after = document.edited(edit, author)
    try:
        check({id_: item.event for id_, item in after.items.items()}, edit.moved, times)
    except InputError as error:
        raise ConflictError(f"{error.what} in the meantime", where=document.video) from None
    return after


class _Draft:
    """A document while changes are made to it."""

    def __init__(self, document: Document, author: str, seen: int, scene: Scene) -> None:
        self._document = document
        self._author = author
        self._seen = seen
        self._scene = scene
        self._n_ids = document.n_ids
        self._before = {id_: item.event for id_, item in document.items.items()}
        self.items: dict[str, Event] = dict(self._before)
        self._looked_at = document.looked_at
        self._reviewed = document.reviewed

    def edit(self) -> Edit:
        """All that differs."""
        before = self._before
        touched = [
            id_
            for id_, event in before.items()
            # most are the very same: thousands of comparisons are saved
            if (now := self.items.get(id_)) is not event and now != event
        ]
        touched += [id_ for id_ in self.items if id_ not in before]
        looked_at = SpansEdit(self._document.looked_at, self._looked_at)
        reviewed = FlagEdit(self._document.reviewed, self._reviewed)
        return Edit(
            tuple(ItemEdit(id_, before.get(id_), self.items.get(id_)) for id_ in touched),
            looked_at if looked_at.before != looked_at.after else None,
            reviewed if reviewed.before != reviewed.after else None,
        )

    def make(self, change: Change) -> None:
        """One change."""
        match change:
            case Add():
                self._add(self._event(change.label, change.start, change.end, change.kind))
            case Move():
                self._move(change)
            case Relabel():
                event = self._own(change.id)
                self.items[change.id] = replace(
                    event, label=_label(change.label), annotator=self._author, confidence=None
                )
            case Delete():
                self._own(change.id)
                del self.items[change.id]
            case Split():
                self._split(change)
            case Merge():
                self._merge(change)
            case Observed():
                self._looked_at = None if change.spans is None else _spans(change.spans)
            case Reviewed():
                self._reviewed = change.value
            case Accept():
                self._accept(change)
            case ClicksFrom():
                self._clicks_from(change)
            case Clear():
                self.items.clear()

    def _own(self, id_: str, *, segment: bool = False) -> Event:
        """An event that nobody else has touched since the author saw it."""
        event, item = self.items.get(id_), self._document.items.get(id_)
        if event is None:
            if id_number(id_) <= self._n_ids:
                raise ConflictError("this event was deleted in the meantime", where=self._video)
            raise InputError(f"no event {id_}", where=self._video, remedy="load the video again")
        if item is not None and item.changed > self._seen and item.by != self._author:
            raise ConflictError(
                f"{event.label!r} at {event.start:.2f} s was changed by {item.by or 'somebody'} "
                "in the meantime",
                where=self._video,
            )
        if segment and event.is_point:
            raise InputError(
                f"{event.label!r} at {event.start:.2f} s is a click, not a segment",
                where=self._video,
                remedy="choose a segment",
            )
        return event

    @property
    def _video(self) -> str:
        return self._document.video

    def _add(self, event: Event) -> None:
        self._n_ids += 1
        self.items[f"e{self._n_ids}"] = event

    def _event(self, label: str, start: float, end: float | None, kind: str) -> Event:
        if (end is None) != (kind == "click"):
            raise InputError(
                "a click has one time, a segment has two",
                where=self._video,
                remedy="add or drop end",
            )
        start, end = self._inside(start, end)
        return Event(_label(label), start, end, annotator=self._author)

    def _inside(self, start: float, end: float | None) -> tuple[float, float | None]:
        """Times within the video; an end may be a little late, as players are."""
        length = self._scene.seconds
        if end is not None:
            end = end if length is None or end > length + 1 else min(end, length)
            if end <= start:
                raise InputError(
                    f"a segment from {start:.3f} to {end:.3f} s",
                    where=self._video,
                    remedy="end it after its start",
                )
        last = start if end is None else end
        if length is not None and last > length:
            raise InputError(
                f"{last:.2f} s is after the end of the video at {length:.2f} s",
                where=self._video,
                remedy="choose a time inside it",
            )
        return start, end

    def _move(self, change: Move) -> None:
        event = self._own(change.id)
        end = change.end
        if event.end is None and end is not None:
            raise InputError(
                "a click has one time, a segment has two", where=self._video, remedy="leave out end"
            )
        if event.end is not None and end is None:
            end = change.start + event.seconds
        start, end = self._inside(change.start, end)
        self.items[change.id] = replace(
            event, start=start, end=end, annotator=self._author, confidence=None
        )

    def _split(self, change: Split) -> None:
        event = self._own(change.id, segment=True)
        assert event.end is not None, "a segment"
        if not event.start < change.at < event.end:
            raise InputError(
                f"{change.at:.2f} s is not inside {event.label!r}, "
                f"{event.start:.2f} to {event.end:.2f} s",
                where=self._video,
                remedy="put the playhead inside the segment",
            )
        self.items[change.id] = replace(event, end=change.at, annotator=self._author)
        self._add(replace(event, start=change.at, annotator=self._author))

    def _merge(self, change: Merge) -> None:
        ids = list(dict.fromkeys(change.ids))
        events = [self._own(id_, segment=True) for id_ in ids]
        if len(ids) < 2:
            raise InputError("one segment to merge", where=self._video, remedy="name two")
        start, end = min(one.start for one in events), max(one.end or 0.0 for one in events)
        for id_ in ids[1:]:
            del self.items[id_]
        self.items[ids[0]] = replace(
            events[0], start=start, end=end, annotator=self._author, confidence=None
        )

    def _accept(self, change: Accept) -> None:
        spans = (Span(0.0, 1e9),) if change.spans is None else _spans(change.spans)
        pieces = [
            self._event(event.label, max(event.start, start), min(event.end, end), "segment")
            for event in self._segments_from(change.origin)
            for start, end in spans
            if event.end is not None and max(event.start, start) < min(event.end, end)
        ]
        if pieces:
            self._cut_out(joined(spans_of(pieces)))
        for piece in pieces:
            self._add(piece)

    def _cut_out(self, spans: tuple[Span, ...]) -> None:
        """Makes room: segments keep what lies outside of the spans."""
        for id_, event in list(self.items.items()):
            if event.end is None:
                continue
            kept = _outside(Span(event.start, event.end), spans)
            if kept == [(event.start, event.end)]:
                continue
            self._own(id_)
            del self.items[id_]
            for number, (start, end) in enumerate(kept):
                piece = replace(event, start=start, end=end, annotator=self._author)
                if number:
                    self._add(piece)
                else:
                    self.items[id_] = piece

    def _clicks_from(self, change: ClicksFrom) -> None:
        clicks = sorted(event.start for event in self.items.values() if event.is_point)
        for event in self._segments_from(change.origin):
            assert event.end is not None, "a segment"
            if bisect_left(clicks, event.start) == bisect_left(clicks, event.end):
                self._add(self._event(event.label, (event.start + event.end) / 2, None, "click"))

    def _segments_from(self, origin: Origin) -> Sequence[Event]:
        found = self._scene.origins.get(origin, ())
        if not found:
            what = "prediction" if origin == "prediction" else "pseudo-segmentation"
            remedy = "segment it first" if origin == "prediction" else "click at least one action"
            raise InputError(f"has no {what}", where=self._video, remedy=remedy)
        return found


def _label(text: str) -> str:
    label = one_line(text)
    if not label:
        raise LabelError("a class without a name", remedy="name it")
    return label


def _spans(pairs: Sequence[tuple[float, float]]) -> tuple[Span, ...]:
    return joined(tuple(Span(start, end) for start, end in pairs))


def _outside(span: Span, others: tuple[Span, ...]) -> list[Span]:
    """What others, which are in order and apart, leave of a span."""
    kept, start = [], span.start
    first = bisect_left(others, span.start, key=lambda one: one.end)
    for other in others[first:]:
        if other.start >= span.end:
            break
        if start < other.start:
            kept.append(Span(start, other.start))
        start = max(start, other.end)
    return [*kept, Span(start, span.end)] if start < span.end else kept
