"""Makes changes to a document, all of them or none, as a pure function."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from uvast.errors import InputError, LabelError
from uvast.exchange import Event
from uvast.exchange.records import one_line
from uvast.web.accepting import accept, as_spans, click_in_each
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
)
from uvast.web.rules import check
from uvast.web.scenes import Scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange import FrameTimes
    from uvast.web.changes import Change, Origin
    from uvast.web.documents import Spans


class Made(NamedTuple):
    """The result of changes.

    Args:
        document: the next version; the same one if nothing changed.
        edit: leads there; its inverse leads back.
        ids: of the new events that `add` and `split` made, in order.
    """

    document: Document
    edit: Edit
    ids: tuple[str, ...] = ()


def apply(
    document: Document,
    changes: Sequence[Change],
    author: str,
    *,
    seen: int | None = None,
    scene: Scene | None = None,
) -> Made:
    """The next version of a document: an impossible change is an error, and none is made.

    Args:
        document: as it is.
        changes: in order.
        author: who asks; new and changed events carry the name.
        seen: the version that the author saw; None for the present one. Touching events that
            others have changed since is a `ConflictError`.
        scene: the video.
    """
    scene = scene or Scene()
    draft = Draft(document, author, document.version if seen is None else seen, scene)
    for change in changes:
        draft.make(change)
    edit = draft.edit()
    if not edit:
        return Made(document, edit)
    after = document.edited(edit, author)
    check(after, edit.moved, scene.times)
    return Made(after, edit, tuple(draft.ids))


def repeat(
    document: Document, edit: Edit, author: str, times: FrameTimes | None = None
) -> Document:
    """A document after an earlier edit or its inverse, for undo and redo.

    A `ConflictError` if somebody changed the same thing since, or put something in its place.
    """
    after = document.edited(edit, author)
    try:
        check(after, edit.moved, times)
    except InputError as error:
        raise ConflictError(f"{error.what} in the meantime", where=document.video) from None
    return after


class Draft:
    """A document while changes are made to it.

    Args:
        document: as it is.
        author: who makes them.
        seen: the version that the author saw.
        scene: the video.

    Attributes:
        ids: of the new events that `add` and `split` made, in order.
    """

    def __init__(self, document: Document, author: str, seen: int, scene: Scene) -> None:
        self._document = document
        self._author = author
        self._seen = seen
        self._scene = scene
        self._n_ids = document.n_ids
        self._touched: dict[str, Event | None] = {}
        self._looked_at = document.looked_at
        self._reviewed = document.reviewed
        self.ids: list[str] = []

    @property
    def video(self) -> str:
        """The video's name."""
        return self._document.video

    @property
    def events(self) -> dict[str, Event]:
        """All events as they are now, by id."""
        before = {id_: one.event for id_, one in self._document.items.items()}
        now = {**before, **self._touched}
        return {id_: event for id_, event in now.items() if event is not None}

    def edit(self) -> Edit:
        """Everything that differs from the document."""
        looked_at = SpansEdit(self._document.looked_at, self._looked_at)
        reviewed = FlagEdit(self._document.reviewed, self._reviewed)
        items = [ItemEdit(id_, self._before(id_), now) for id_, now in self._touched.items()]
        return Edit(
            tuple(one for one in items if one.before != one.after),
            looked_at if looked_at.before != looked_at.after else None,
            reviewed if reviewed.before != reviewed.after else None,
        )

    def make(self, change: Change) -> None:
        """Makes one change."""
        match change:
            case Add():
                event = self.event(change.label, change.start, change.end, change.kind)
                self.ids.append(self.add(event))
            case Move():
                self._move(change)
            case Relabel():
                event = self.own(change.id)
                self._touched[change.id] = replace(
                    event, label=_label(change.label), annotator=self._author, confidence=None
                )
            case Delete():
                self.remove(change.id)
            case Split():
                self._split(change)
            case Merge():
                self._merge(change)
            case Observed():
                self._observe(None if change.spans is None else as_spans(change.spans))
            case Reviewed():
                self._reviewed = change.value
            case Accept():
                accept(self, change)
            case ClicksFrom():
                click_in_each(self, change)
            case Clear():
                for id_ in self.events:
                    self.remove(id_)

    def own(self, id_: str, *, segment: bool = False) -> Event:
        """An event that nobody else has touched since the author saw it."""
        event, item = self._now(id_), self._document.items.get(id_)
        if event is None:
            if id_number(id_) <= self._n_ids:
                raise ConflictError("this event was deleted in the meantime", where=self.video)
            raise InputError(f"no event {id_}", where=self.video, remedy="load the video again")
        if item is not None:
            self._check_seen(f"{event.label!r} at {event.start:.2f} s", item.changed, item.by)
        if segment and event.is_point:
            raise InputError(
                f"{event.label!r} at {event.start:.2f} s is a click, not a segment",
                where=self.video,
                remedy="choose a segment",
            )
        return event

    def add(self, event: Event) -> str:
        """Adds an event; returns its id."""
        self._n_ids += 1
        self._touched[f"e{self._n_ids}"] = event
        return f"e{self._n_ids}"

    def put(self, id_: str, event: Event, start: float, end: float | None) -> None:
        """Gives an existing event other times, by the author."""
        self._touched[id_] = replace(event, start=start, end=end, annotator=self._author)

    def remove(self, id_: str) -> None:
        """Removes an event."""
        self.own(id_)
        self._touched[id_] = None

    def segments_from(self, origin: Origin) -> Sequence[Event]:
        """The segments that can be accepted."""
        return self._scene.segments(origin, self.video)

    def event(self, label: str, start: float, end: float | None, kind: str) -> Event:
        """An event by the author, inside the video."""
        if (end is None) != (kind == "click"):
            raise InputError(
                "a click has one time, a segment has two",
                where=self.video,
                remedy="add or drop end",
            )
        start, end = self._scene.inside(start, end, self.video)
        return Event(_label(label), start, end, annotator=self._author)

    def _check_seen(self, what: str, changed: int, by: str) -> None:
        """Refuses to touch what others changed in a version that the author did not see."""
        if changed > self._seen and by != self._author:
            who = by or "somebody"
            raise ConflictError(f"{what} was changed by {who} in the meantime", where=self.video)

    def _observe(self, spans: Spans | None) -> None:
        if spans != self._looked_at:
            before = self._document
            what = "what counts as looked at"
            self._check_seen(what, before.looked_changed, before.looked_by)
            self._looked_at = spans

    def _move(self, change: Move) -> None:
        event = self.own(change.id)
        end = change.end
        if event.end is None and end is not None:
            raise InputError(
                "a click has one time, a segment has two", where=self.video, remedy="leave out end"
            )
        if event.end is not None and end is None:
            end = change.start + event.seconds
        start, end = self._scene.inside(change.start, end, self.video)
        self.put(change.id, replace(event, confidence=None), start, end)

    def _split(self, change: Split) -> None:
        event = self.own(change.id, segment=True)
        assert event.end is not None, "a segment"
        if not event.start < change.at < event.end:
            raise InputError(
                f"{change.at:.2f} s is not inside {event.label!r}, "
                f"{event.start:.2f} to {event.end:.2f} s",
                where=self.video,
                remedy="put the playhead inside the segment",
            )
        self.put(change.id, event, event.start, change.at)
        self.ids.append(self.add(replace(event, start=change.at, annotator=self._author)))

    def _merge(self, change: Merge) -> None:
        ids = list(dict.fromkeys(change.ids))
        events = [self.own(id_, segment=True) for id_ in ids]
        if len(ids) < 2:
            raise InputError("one segment to merge", where=self.video, remedy="name two")
        start, end = min(one.start for one in events), max(one.end or 0.0 for one in events)
        for id_ in ids[1:]:
            self._touched[id_] = None
        self.put(ids[0], replace(events[0], confidence=None), start, end)

    def _now(self, id_: str) -> Event | None:
        return self._touched[id_] if id_ in self._touched else self._before(id_)

    def _before(self, id_: str) -> Event | None:
        item = self._document.items.get(id_)
        return None if item is None else item.event


def _label(text: str) -> str:
    label = one_line(text)
    if not label:
        raise LabelError("a class without a name", remedy="name it")
    return label
