"""What is known about the files that documents are kept in, and what other programs wrote."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from uvast.errors import InputError, UvastError
from uvast.exchange import VideoAnnotations
from uvast.web.documents import ConflictError, Document, Edit, from_annotations
from uvast.web.rules import check

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uvast.projects import Project
    from uvast.web.saved import Shelf

SECONDS_AT_REST = 0.8
LONGEST_UNSAVED = 10.0


@dataclass
class Place:
    """What is known about a video's annotations file.

    Attributes:
        hash: of its content, empty without a file.
        coming: the hash of the content last written or being written; None if there is none.
        stat: the file's state at that time, see `Places.stat`; None if nobody has looked yet.
        dirty: whether the document says more than the file.
        dirty_at: since when it does.
        changed_at: when the document was last changed.
        fault: why the file, which another program wrote, cannot be read.
    """

    hash: str = ""
    coming: str | None = None
    stat: tuple[int, ...] | None = None
    dirty: bool = False
    fault: UvastError | None = None
    dirty_at: float = 0.0
    changed_at: float = 0.0

    def touch(self) -> None:
        """Records that the document has changed."""
        self.changed_at = time.monotonic()
        if not self.dirty:
            self.dirty, self.dirty_at = True, self.changed_at

    def is_due(self, now: float, *, rested: bool) -> bool:
        """Whether to save now; a long video takes too long to be saved on every change."""
        if not self.dirty or self.fault is not None:
            return False
        at_rest = now - self.changed_at > SECONDS_AT_REST
        return not rested or at_rest or now - self.dirty_at > LONGEST_UNSAVED


class Outside(NamedTuple):
    """What other programs wrote.

    Args:
        edits: by video; they make the documents say the same.
        overruled: the videos whose unsaved changes did not fit and are kept as a backup.
    """

    edits: Mapping[str, Edit]
    overruled: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What to tell people."""
        first = next(iter(self.edits))
        more = f" and {len(self.edits) - 1} more" if len(self.edits) > 1 else ""
        told = f"another program changed annotations/{first}.json{more}"
        places = ", ".join(f"app/backups/{name}" for name in self.overruled)
        return f"{told}; what you had labelled there is in {places}" if places else told


class Places:
    """The places of all videos.

    Args:
        project: whose videos they are.
        shelf: its files.
    """

    def __init__(self, project: Project, shelf: Shelf) -> None:
        self._project = project
        self._shelf = shelf
        self._places: dict[str, Place] = {}
        self._paths: dict[str, str] = {}

    def __getitem__(self, name: str) -> Place:
        if name not in self._places:
            self._paths[name] = str(self._shelf.annotations_path(name))
            self._places[name] = Place()
        return self._places[name]

    def due(self, *, rested: bool) -> list[str]:
        """The videos to save; see `Place.is_due`."""
        now = time.monotonic()
        return [name for name, one in self._places.items() if one.is_due(now, rested=rested)]

    @property
    def all_saved(self) -> bool:
        """Whether the files say all that the documents do; one with a fault cannot be written."""
        return not any(one.dirty for one in self._places.values())

    def load(self, name: str) -> tuple[Document, int] | None:
        """A document as it was saved, and the last journal entry that it includes."""
        saved = self._shelf.load(name)
        place = self[name]
        if saved is None:
            return None
        place.hash = saved.written
        present = self._shelf.present(name)
        if present != saved.written and present == saved.replaced:
            place.hash, place.dirty = present, True  # a save that was cut short
        return saved.document(name), saved.number

    def written_outside(self, names: Iterable[str], documents: Mapping[str, Document]) -> Outside:
        """The edits that make documents say what other programs wrote.

        Unsaved changes stay, unless both changed the same event or two segments would overlap: then
        the file counts, and what it replaces is backed up.
        """
        edits: dict[str, Edit] = {}
        overruled: list[str] = []
        for name in names:
            place = self[name]
            if (stat := self.stat(name)) == place.stat:
                continue
            try:
                present = self._shelf.present(name)
                if present not in (place.hash, place.coming):
                    edits[name], fits = self._outside(name, documents.get(name) or Document(name))
                    overruled += [name] * (not fits)
            except UvastError as error:
                place.fault, place.stat = error, stat
            else:
                place.hash, place.stat, place.fault = present, stat, None
        return Outside({name: edit for name, edit in edits.items() if edit}, tuple(overruled))

    def stat(self, name: str) -> tuple[int, ...]:
        """Changes with the annotations file of a known video; empty without one."""
        try:
            now = os.stat(self._paths[name])  # noqa: PTH116 (twice as quick, for hundreds)
        except OSError:
            return ()
        return now.st_mtime_ns, now.st_size, now.st_ino

    def _outside(self, name: str, document: Document) -> tuple[Edit, bool]:
        """The edit of one document, and whether what people changed since the last save stays."""
        found = self._project.annotations(name)
        if found is None:
            self._shelf.back_up_document(document)
            found = VideoAnnotations(name)
        if not self[name].dirty:
            return from_annotations(found, document), True
        saved = self._shelf.load(name)
        base = Document(name) if saved is None else saved.document(name)
        edit = from_annotations(found, replace(base, n_ids=document.n_ids))
        with suppress(ConflictError, InputError):
            check(document.edited(edit, ""), edit.moved, None)
            self._shelf.back_up(name, now=True)
            return edit, True
        edit = from_annotations(found, document)
        try:
            document.check_seen(edit, "", base.version)
        except ConflictError:
            self._shelf.back_up_document(document)
            return edit, False
        return edit, True
