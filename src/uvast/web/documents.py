"""What people said about one video, and how it changes: by new values, never in place.

An edit holds every part it touches, before and after. So it can be checked (what it changes is
still as it was), undone (before and after swapped) and replayed from a journal by one rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from uvast.errors import UvastError
from uvast.exchange import Event, Span, VideoAnnotations
from uvast.exchange.records import joined
from uvast.web.items import Arranged, Item

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Spans = tuple[Span, ...]

_LOOKED = "what counts as looked at"


class ConflictError(UvastError):
    """Somebody else changed the same thing in the meantime."""


class ItemEdit(NamedTuple):
    """The id of an event, and the event before and after; None where there is none."""

    id: str
    before: Event | None
    after: Event | None


class SpansEdit(NamedTuple):
    """The spans that somebody looked at, before and after."""

    before: Spans | None
    after: Spans | None


class FlagEdit(NamedTuple):
    """Whether the video was reviewed, before and after."""

    before: bool
    after: bool


@dataclass(frozen=True)
class Edit:
    """A change to a document; None for the parts that stay."""

    items: tuple[ItemEdit, ...] = ()
    looked_at: SpansEdit | None = None
    reviewed: FlagEdit | None = None

    @property
    def inverse(self) -> Edit:
        """The edit that undoes this one."""
        return Edit(
            tuple(ItemEdit(one.id, one.after, one.before) for one in self.items),
            self.looked_at and SpansEdit(self.looked_at.after, self.looked_at.before),
            self.reviewed and FlagEdit(self.reviewed.after, self.reviewed.before),
        )

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the events that it touches."""
        return tuple(dict.fromkeys(one.id for one in self.items))

    @property
    def moved(self) -> frozenset[str]:
        """The ids of events that are new or have new times."""
        return frozenset(
            id_
            for id_, before, after in self.items
            if after is not None
            and (before is None or (before.start, before.end) != (after.start, after.end))
        )

    def __bool__(self) -> bool:
        return bool(self.items) or self.looked_at is not None or self.reviewed is not None


@dataclass(frozen=True)
class Document:
    """Everything people said about one video.

    Args:
        video: its name.
        items: by id, in no order.
        looked_at: the spans that somebody said they looked at, besides the segments, which always
            count; None for the whole video.
        reviewed: whether a person accepted it as it is.
        version: counts the edits.
        n_ids: how many ids were used so far.
        touched: the ids of what the last edit changed.
        kept: the items in order, if already known.
        looked_changed: the version in which `looked_at` was last changed.
        looked_by: who did that.
    """

    video: str
    items: Mapping[str, Item] = field(default_factory=dict)
    looked_at: Spans | None = ()
    reviewed: bool = False
    version: int = 0
    n_ids: int = 0
    touched: tuple[str, ...] = field(default=(), compare=False, repr=False)
    kept: Arranged | None = field(default=None, compare=False, repr=False)
    looked_changed: int = 0
    looked_by: str = ""

    @cached_property
    def arranged(self) -> Arranged:
        """The items in order."""
        return Arranged.of(self.items.values()) if self.kept is None else self.kept

    @property
    def ordered(self) -> tuple[Item, ...]:
        """All items in order of time."""
        return self.arranged.all

    @property
    def clicks(self) -> tuple[Item, ...]:
        """The moments, in order."""
        return self.arranged.clicks

    @property
    def segments(self) -> tuple[Item, ...]:
        """The stretches of time, in order."""
        return self.arranged.segments

    @cached_property
    def labels(self) -> frozenset[str]:
        """The labels that occur."""
        return frozenset(self.arranged.n_events)

    @cached_property
    def observed(self) -> Spans | None:
        """What counts as looked at; None for the whole video. Unlabelled is not background.

        Clicks stand for the whole video unless somebody said otherwise; segments only for
        themselves.
        """
        if self.looked_at is None or not (self.looked_at or self.segments):
            return None
        return joined((*self.looked_at, *spans_of(one.event for one in self.segments)))

    @cached_property
    def annotations(self) -> VideoAnnotations:
        """The document as the project stores it."""
        return VideoAnnotations(
            self.video, tuple(one.event for one in self.ordered), observed=self.observed
        )

    def edited(self, edit: Edit, author: str) -> Document:
        """The next version; a `ConflictError` if something is not as it was before the edit."""
        version = self.version + 1
        items = dict(self.items)
        n_ids = self.n_ids
        for id_, before, after in edit.items:
            present = items.get(id_)
            if (None if present is None else present.event) != before:
                raise self._conflict(present, before or after)
            if after is None:
                del items[id_]
            else:
                items[id_] = Item(id_, after, version, author)
                n_ids = max(n_ids, id_number(id_))
        if edit.looked_at is not None and edit.looked_at.before != self.looked_at:
            raise ConflictError(f"{_LOOKED} was changed in the meantime", where=self.video)
        if edit.reviewed is not None and edit.reviewed.before != self.reviewed:
            raise ConflictError("its review was changed in the meantime", where=self.video)
        stays = edit.looked_at is None
        return Document(
            self.video,
            items,
            self.looked_at if edit.looked_at is None else edit.looked_at.after,
            self.reviewed if edit.reviewed is None else edit.reviewed.after,
            version,
            n_ids,
            edit.ids,
            self.arranged.changed(_named(edit.ids, self.items), _named(edit.ids, items)),
            self.looked_changed if stays else version,
            self.looked_by if stays else author,
        )

    def check_seen(self, edit: Edit, author: str, seen: int) -> None:
        """A `ConflictError` if an edit touches what others changed after the version `seen`."""
        found = [self.items[one.id] for one in edit.items if one.id in self.items]
        changed = [(one.changed, one.by, _words(one.event)) for one in found]
        if edit.looked_at is not None:
            changed.append((self.looked_changed, self.looked_by, _LOOKED))
        for version, by, what in changed:
            if version > seen and by != author:
                raise ConflictError(
                    f"{what} was changed by {by or 'somebody'} in the meantime",
                    where=self.video,
                    remedy="look at it, then try again",
                )

    def changed_since(self, before: Document) -> tuple[list[Item], list[str]]:
        """The items that are new or changed since an earlier version, and the ids that are gone."""
        is_next = self.version == before.version + 1
        ids = self.touched if is_next else (*before.items, *self.items.keys() - before.items)
        old, new = before.items, self.items
        changed = [new[id_] for id_ in ids if id_ in new and old.get(id_) is not new[id_]]
        return changed, [id_ for id_ in ids if id_ in old and id_ not in new]

    def _conflict(self, present: Item | None, event: Event | None) -> ConflictError:
        what = "an event" if event is None else _words(event)
        if present is None:
            return ConflictError(f"{what} was deleted in the meantime", where=self.video)
        who = f" by {present.by}" if present.by else ""
        return ConflictError(f"{what} was changed{who} in the meantime", where=self.video)


def _words(event: Event) -> str:
    return f"{event.label!r} at {event.start:.2f} s"


def _named(ids: Iterable[str], items: Mapping[str, Item]) -> list[Item]:
    return [items[id_] for id_ in ids if id_ in items]


def from_annotations(annotations: VideoAnnotations, like: Document) -> Edit:
    """The edit that makes a document say what annotations say; equal events keep their ids.

    The annotations come from a file without ids: another program's, or an import.
    """
    left: dict[Event, list[str]] = {}
    for item in like.ordered:
        left.setdefault(item.event, []).append(item.id)
    added = []
    for event in annotations.events:
        if ids := left.get(event):
            ids.pop(0)
        else:
            added.append(event)
    gone = [id_ for ids in left.values() for id_ in ids]
    items = [ItemEdit(id_, like.items[id_].event, None) for id_ in gone]
    items += [
        ItemEdit(f"e{like.n_ids + number}", None, event)
        for number, event in enumerate(added, start=1)
    ]
    looked_at = annotations.observed
    if looked_at is not None and looked_at == joined(spans_of(annotations.intervals)):
        looked_at = ()
    if looked_at is None and not annotations.events:
        looked_at = ()
    changed = looked_at != like.looked_at
    return Edit(tuple(items), SpansEdit(like.looked_at, looked_at) if changed else None)


def imported(annotations: VideoAnnotations, like: Document) -> Edit:
    """As `from_annotations`; a video whose events change is no longer reviewed."""
    edit = from_annotations(annotations, like)
    if not (like.reviewed and edit.items):
        return edit
    return replace(edit, reviewed=FlagEdit(before=True, after=False))


def relabelled(document: Document, names: Mapping[str, str]) -> Edit:
    """The edit that renames labels; `names` maps old names to new ones."""
    return Edit(
        tuple(
            ItemEdit(one.id, one.event, replace(one.event, label=names[one.event.label]))
            for one in document.ordered
            if one.event.label in names
        )
    )


def spans_of(events: Iterable[Event]) -> Spans:
    """The spans of all events that have an end."""
    return tuple(Span(event.start, event.end) for event in events if event.end is not None)


def id_number(id_: str) -> int:
    """`e17` -> 17; 0 for anything that is not an id."""
    digits = id_[1:]
    return int(digits) if digits.isdecimal() and len(digits) < 10 else 0
