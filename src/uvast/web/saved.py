"""Documents on disk: `app/documents/NAME.json` with ids, `annotations/NAME.json` for everybody.

The first is written before the second, and says what the second was and will be. So whenever the
process is killed, the next one can tell a half-finished save from another program's work.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

import pydantic
from pydantic import Field

from uvast.data.spec import read_spec
from uvast.errors import ConfigError, UvastError
from uvast.exchange import Event, Span, Target, native
from uvast.files import is_present, read_bytes, read_record, write_bytes
from uvast.projects.settings import write_background
from uvast.vocabulary import BACKGROUND
from uvast.web.classes import Classes, background_of
from uvast.web.documents import Document
from uvast.web.items import Item

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.projects import Project

N_BACKUPS = 10
SECONDS_BETWEEN_BACKUPS = 600.0
_REMEDY = "remove it; annotations/ has what people said"

_Hash = Annotated[str, Field(max_length=64)]


@dataclass(frozen=True)
class _SavedItem:
    id: Annotated[str, Field(max_length=12)]
    event: Event
    changed: int
    by: Annotated[str, Field(max_length=1000)]


@dataclass(frozen=True)
class SavedDocument:
    """A document as `app/documents` keeps it.

    Args:
        items: all of them.
        looked_at: as in `Document`.
        reviewed: as in `Document`.
        version: as in `Document`.
        n_ids: as in `Document`.
        number: the last journal entry that it includes.
        written: the hash of the annotations file that goes with it, empty for no file.
        replaced: the hash of the annotations file before that.
        looked_changed: as in `Document`.
        looked_by: as in `Document`.
    """

    items: tuple[_SavedItem, ...]
    looked_at: tuple[Span, ...] | None
    reviewed: bool
    version: int
    n_ids: int
    number: int
    written: _Hash
    replaced: _Hash
    looked_changed: int = 0
    looked_by: Annotated[str, Field(max_length=1000)] = ""

    def document(self, video: str) -> Document:
        """The document of a video."""
        items = {one.id: Item(one.id, one.event, one.changed, one.by) for one in self.items}
        return Document(
            video,
            items,
            self.looked_at,
            self.reviewed,
            self.version,
            self.n_ids,
            looked_changed=self.looked_changed,
            looked_by=self.looked_by,
        )


_SAVED = pydantic.TypeAdapter(SavedDocument)


@dataclass(frozen=True)
class SavedClasses:
    """`app/state.json`: the classes as of a journal entry."""

    classes: Classes
    number: int


class Content(NamedTuple):
    """The content of an annotations file, and its hash; both empty for no file."""

    text: bytes
    hash: str


class Shelf:
    """The files of a project's documents.

    Args:
        project: whose documents they are.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._folder = project.path / "app"

    def load(self, video: str) -> SavedDocument | None:
        """What the app saved for a video."""
        path = self._documents / f"{video}.json"
        return read_record(path, SavedDocument, remedy=_REMEDY) if is_present(path) else None

    def annotations_path(self, video: str) -> Path:
        """The file that the command line reads; `video` is a name of the project."""
        return self._project.path / "annotations" / f"{video}.json"

    def present(self, video: str) -> str:
        """The hash of the annotations file as it is now; empty without one."""
        path = self.annotations_path(video)
        return hashlib.sha256(read_bytes(path)).hexdigest() if is_present(path) else ""

    def content(self, document: Document) -> Content:
        """The content of a document's annotations file."""
        annotations = document.annotations
        if not annotations.events and annotations.observed is None:
            return Content(b"", "")
        target = Target(str(self.annotations_path(document.video)))
        content = native.write((annotations,), target).content
        return Content(content, hashlib.sha256(content).hexdigest())

    def save(self, document: Document, number: int, content: Content, replaced: str) -> None:
        """Writes both files.

        Args:
            document: the document to save.
            number: the last journal entry that it includes.
            content: of its annotations file.
            replaced: the hash of the annotations file that exists now.
        """
        record = SavedDocument(
            tuple(_SavedItem(one.id, one.event, one.changed, one.by) for one in document.ordered),
            document.looked_at,
            document.reviewed,
            document.version,
            document.n_ids,
            number,
            content.hash,
            replaced,
            document.looked_changed,
            document.looked_by,
        )
        saved = _SAVED.dump_json(record)
        write_bytes(self._documents / f"{document.video}.json", saved)
        if content.hash != replaced:
            self.back_up(document.video)
            if content.text:
                write_bytes(self.annotations_path(document.video), content.text)
            else:
                self._project.remove_annotations(document.video)

    def back_up(self, video: str, *, now: bool = False) -> None:
        """Keeps a copy of the annotations file, at most one every ten minutes unless `now`."""
        path = self.annotations_path(video)
        if is_present(path):
            self._copy(video, read_bytes(path), now=now)

    def back_up_document(self, document: Document) -> None:
        """Keeps a copy of a document whose annotations file is gone."""
        if text := self.content(document).text:
            self._copy(document.video, text, now=True)

    def _copy(self, video: str, text: bytes, *, now: bool) -> None:
        folder = self._folder / "backups" / video
        copies = sorted(folder.glob("*.json")) if folder.is_dir() else []
        if not now:
            ages = (time.time() - one.stat().st_mtime for one in copies)
            # a copy may be newer than now if the clock was wrong
            if any(0 <= age < SECONDS_BETWEEN_BACKUPS for age in ages):
                return
        stamp = time.strftime("%Y-%m-%d %H.%M.%S")
        write_bytes(folder / f"{stamp}.json", text)
        for old in copies[: max(0, len(copies) + 1 - N_BACKUPS)]:
            old.unlink(missing_ok=True)

    def load_classes(self) -> SavedClasses:
        """The classes that were saved; none at first."""
        path = self._folder / "state.json"
        if not is_present(path):
            return SavedClasses((), 0)
        return read_record(path, SavedClasses, remedy="remove it; colours and keys start anew")

    def load_background(self) -> tuple[str, ...] | None:
        """The background classes in `dataset.toml`, which commands also read; None if not given."""
        with suppress(UvastError):  # whoever needs more of the file reports the fault
            return read_spec(self._project.path).background
        return None

    def save_classes(self, saved: SavedClasses) -> None:
        """Writes the classes."""
        write_bytes(self._folder / "state.json", _CLASSES.dump_json(saved, indent=2) + b"\n")

    def save_background(self, classes: Classes) -> None:
        """Writes to `dataset.toml`, for the commands, which of all classes are background."""
        present = self.load_background()
        if present is None:
            present = tuple(one.name for one in classes if one.name == BACKGROUND)
        names = background_of(classes)
        if names != present:
            with suppress(ConfigError):  # a file with faults is left alone
                write_background(self._project.path, names)

    @property
    def _documents(self) -> Path:
        return self._folder / "documents"


_CLASSES = pydantic.TypeAdapter(SavedClasses)
