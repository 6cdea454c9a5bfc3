"""Requests that were already done, by their sender's key: an answer may get lost on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.web.journal import Entry

MOST = 1000


class Answered:
    """The last entries that have a key: a repeated request is answered, but not done again.

    Keys are in the journal, so they survive a restart.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            self.note(entry)

    def note(self, entry: Entry) -> None:
        """Records the next entry of the journal."""
        if entry.key:
            self._entries[entry.key] = entry
            if len(self._entries) > MOST:
                del self._entries[next(iter(self._entries))]

    def entry(self, key: str) -> Entry | None:
        """The entry that a request with this key made; None if it is new."""
        return self._entries.get(key)
