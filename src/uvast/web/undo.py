"""Undo and redo, separately for each author; from the journal, so they survive a restart."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.web.journal import Entry

DEEPEST = 1000
"""How many entries of an author can be undone."""


class History:
    """What each author did and undid, newest last."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._done: dict[str, deque[Entry]] = {}
        self._undone: dict[str, deque[Entry]] = {}
        for entry in entries:
            self.note(entry)

    def note(self, entry: Entry) -> None:
        """Records the next entry of the journal."""
        if entry.kind == "outside":
            return
        done, undone = self._stacks(entry.author)
        if entry.kind == "undo":
            _move(entry.of, done, undone)
        elif entry.kind == "redo":
            _move(entry.of, undone, done)
        else:
            done.append(entry)
            for other in [one for one in undone if _meet(one, entry)]:
                undone.remove(other)

    def to_undo(self, author: str, video: str | None) -> Entry | None:
        """The author's last entry that is not undone, of one video if named."""
        return _last(self._stacks(author)[0], video)

    def to_redo(self, author: str, video: str | None) -> Entry | None:
        """The author's last undone entry, of one video if named."""
        return _last(self._stacks(author)[1], video)

    def entry(self, author: str, number: int | None) -> Entry | None:
        """An entry of an author by its number, done or undone."""
        both = (one for stack in self._stacks(author) for one in stack)
        return next((one for one in both if one.number == number), None)

    def _stacks(self, author: str) -> tuple[deque[Entry], deque[Entry]]:
        empty: deque[Entry] = deque(maxlen=DEEPEST)
        return self._done.setdefault(author, empty), self._undone.setdefault(author, empty.copy())


def _last(stack: deque[Entry], video: str | None) -> Entry | None:
    return next((one for one in reversed(stack) if video is None or video in one.videos), None)


def _move(number: int | None, source: deque[Entry], target: deque[Entry]) -> None:
    """Does nothing if the entry is so old that the journal has dropped it."""
    entry = next((one for one in reversed(source) if one.number == number), None)
    if entry is not None:
        source.remove(entry)
        target.append(entry)


def _meet(one: Entry, other: Entry) -> bool:
    """Whether both touch the same video, or the classes."""
    both_classes = one.classes is not None and other.classes is not None
    return both_classes or not one.videos.keys().isdisjoint(other.videos)
