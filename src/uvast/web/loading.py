"""A project's documents as the last process left them: what was saved, and the journal since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.errors import CorruptFileError
from uvast.web.documents import ConflictError, Document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.web.classes import Classes
    from uvast.web.journal import Entry, Journal
    from uvast.web.places import Places
    from uvast.web.saved import SavedClasses


@dataclass
class Loaded:
    """What was loaded.

    Attributes:
        documents: by video.
        classes: the table.
        classes_dirty: whether the table says more than its file.
        entries: of the journal.
        number: of the last entry.
    """

    documents: dict[str, Document]
    classes: Classes
    classes_dirty: bool
    entries: tuple[Entry, ...]
    number: int


def load(journal: Journal, places: Places, saved: SavedClasses, names: Sequence[str]) -> Loaded:
    """Reads what was saved of each video, and replays the entries that came later."""
    entries = journal.read()
    documents: dict[str, Document] = {}
    numbers = dict.fromkeys(names, 0)
    for name in names:
        if (found := places.load(name)) is not None:
            documents[name], numbers[name] = found
    classes, classes_dirty = saved.classes, False
    for entry in entries:
        for name, edit in entry.videos.items():
            if entry.number > numbers.get(name, entry.number):
                document = documents.get(name) or Document(name)
                try:
                    documents[name] = document.edited(edit, entry.author)
                except ConflictError as error:
                    raise CorruptFileError(
                        f"entry {entry.number} does not fit ({error})",
                        where=journal.path,
                        remedy="move it away; annotations/ has everything up to the last save",
                    ) from None
                places[name].dirty = True
        if entry.classes is not None and entry.number > saved.number:
            classes, classes_dirty = entry.classes.after, True
    last = max((entry.number for entry in entries), default=0)
    return Loaded(
        documents, classes, classes_dirty, entries, max([last, saved.number, *numbers.values()])
    )
