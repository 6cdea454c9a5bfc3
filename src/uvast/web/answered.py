"""What was done already, by the key that its sender gave it: an answer may get lost on its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.web.journal import Entry

MOST = 1000


class Answered:
    """The last entries that have a key: what comes again is answered, and not done again.

    Keys stand in the journal, so a restart does not forget them.
    """

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[str, Entry] = {}
        for entry in entries:
            self.note(entry)

    def note(self, entry: Entry) -> None:
        """Takes in the next entry of the journal."""
        if entry.key:
            self._entries[entry.key] = entry
            if len(self._entries) > MOST:
                del self._entries[next(iter(self._entries))]

    def entry(self, key: str) -> Entry | None:
        """The entry that a request with this key made; None if it is new."""
        return self._entries.get(key)
