"""The state of a project in the app: documents, classes, journal and undo, one writer at a time.

Every way to change something makes an entry, and an entry is taken in by one method (`_commit`):
checked against the present state, written to the journal, and only then shown.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uvast.errors import CorruptFileError, InputError, UvastError
from uvast.exchange import VideoAnnotations
from uvast.files import is_present
from uvast.web.classes import Classes, ClassesEdit, changed, with_labels
from uvast.web.documents import ConflictError, Document, Edit, ItemEdit, from_annotations
from uvast.web.drafts import Scene, apply, repeat
from uvast.web.journal import Entry, Journal
from uvast.web.rules import check
from uvast.web.saved import SavedClasses, Shelf
from uvast.web.undo import DEEPEST, History

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from uvast.exchange import FrameTimes
    from uvast.projects import Project
    from uvast.web.changes import Change
    from uvast.web.classes import ClassChange
    from uvast.web.journal import Kind

LARGE_JOURNAL = 16 * 2**20
SECONDS_AT_REST = 0.8
LONGEST_UNSAVED = 10.0


@dataclass(frozen=True)
class Note:
    """Something that everybody who looks should hear of.

    Args:
        number: the entry of the journal.
        versions: of the videos that changed.
        classes: whether the classes did.
        sentence: what to tell people, if it was not one of them.
    """

    number: int
    versions: Mapping[str, int]
    classes: bool = False
    sentence: str = ""


@dataclass
class _Place:
    """What is known of a video's annotations file.

    Attributes:
        hash: of its content, empty without a file.
        stat: what the system said of it then.
        dirty: whether the document says more than the file.
        dirty_at: since when.
        changed_at: when the document was last changed.
        fault: why the file, which another program wrote, cannot be read.
    """

    hash: str = ""
    stat: tuple[int, ...] = ()
    dirty: bool = False
    fault: UvastError | None = None
    dirty_at: float = 0.0
    changed_at: float = 0.0

    def touch(self) -> None:
        """The document has changed."""
        self.changed_at = time.monotonic()
        if not self.dirty:
            self.dirty, self.dirty_at = True, self.changed_at

    def is_due(self, now: float, *, rested: bool) -> bool:
        """Whether to save it; a long video that is being changed takes too long to do so often."""
        if not rested or not self.dirty:
            return self.dirty
        return now - self.changed_at > SECONDS_AT_REST or now - self.dirty_at > LONGEST_UNSAVED


class Store:
    """All documents of a project.

    Args:
        project: its files.
        tell: called after every entry, by the thread that made it.
        times_of: the frames of a video on which clicks stand.
    """

    def __init__(
        self,
        project: Project,
        tell: Callable[[Note], None] = lambda _: None,
        times_of: Callable[[str], FrameTimes | None] = lambda _: None,
    ) -> None:
        self.project = project
        self._tell = tell
        self._times_of = times_of
        self._lock = threading.RLock()
        self._shelf = Shelf(project)
        self._journal = Journal(project.path / "app" / "journal.jsonl")
        self._documents: dict[str, Document] = {}
        self._places: dict[str, _Place] = {}
        self._classes: Classes = ()
        self._classes_dirty = False
        self._known_classes: tuple[int, Classes] = (-1, ())
        self._history = History()
        self._number = 0
        self._load()

    @property
    def number(self) -> int:
        """The last entry of the journal."""
        return self._number

    @property
    def documents(self) -> Mapping[str, Document]:
        """All of them as they are now, by video."""
        with self._lock:
            return dict(self._documents)

    def document(self, video: str) -> Document:
        """One of them; a file that another program changed is read again first."""
        name = self.project.video(video).name
        with self._lock:
            self._read_outside([name])
            if (fault := self._places[name].fault) is not None:
                raise fault
            return self._documents.get(name) or Document(name)

    def fault(self, video: str) -> UvastError | None:
        """Why a video's annotations cannot be read, if so."""
        place = self._places.get(video)
        return None if place is None else place.fault

    @property
    def classes(self) -> Classes:
        """The table, with every label that is used."""
        with self._lock:
            if self._known_classes[0] != self._number:
                labels = [one.labels for one in self._documents.values()]
                found = with_labels(self._classes, frozenset().union(*labels))
                self._known_classes = self._number, found
            return self._known_classes[1]

    def change(
        self, video: str, changes: Sequence[Change], author: str, *, seen: int, scene: Scene
    ) -> Document:
        """Makes changes to a video; see `uvast.web.drafts.apply`."""
        with self._lock:
            document = self.document(video)
            _, edit = apply(document, changes, author, seen=seen, scene=scene)
            if edit:
                self._commit("change", author, {video: edit})
            return self._documents.get(video, document)

    def take_in(self, found: Sequence[VideoAnnotations], author: str) -> int:
        """Imports annotations in place of what there is, as one entry; how many videos changed."""
        with self._lock:
            edits = {one.video: from_annotations(one, self.document(one.video)) for one in found}
            edits = {name: edit for name, edit in edits.items() if edit}
            if edits:
                self._commit("import", author, edits)
            return len(edits)

    def change_classes(self, change: ClassChange, author: str) -> Classes:
        """Changes the table, and for new names the events of all videos, as one entry."""
        with self._lock:
            self._read_outside(self.project.names)
            after, names = changed(self.classes, change)
            used = {label for one in self._documents.values() for label in one.labels}
            if change.do == "delete" and change.name in used:
                raise ConflictError(
                    f"class {change.name!r} has events", remedy="delete or relabel them first"
                )
            edits = {video: _renamed(one, names) for video, one in self._documents.items()}
            edits = {video: edit for video, edit in edits.items() if edit}
            self._commit("classes", author, edits, ClassesEdit(self._classes, after))
            return self.classes

    def undo(self, author: str, video: str | None = None) -> Entry:
        """Takes back the author's last entry, unless others changed the same since."""
        with self._lock:
            entry = self._history.to_undo(author, video)
            if entry is None:
                raise ConflictError("there is nothing to undo")
            self._repeat("undo", entry)
            return entry

    def redo(self, author: str, video: str | None = None) -> Entry:
        """Does again what the author took back last."""
        with self._lock:
            entry = self._history.to_redo(author, video)
            if entry is None:
                raise ConflictError("there is nothing to redo")
            self._repeat("redo", entry)
            return entry

    def refresh(self) -> None:
        """Looks for annotations that other programs changed."""
        names = self.project.names
        with self._lock:
            self._read_outside(names)

    def save(self, *, rested: bool = False) -> None:
        """Brings `annotations/` up to date with all that was acknowledged.

        Args:
            rested: leaves out videos that somebody is changing right now, for a while.
        """
        with self._lock:
            now = time.monotonic()
            due = [name for name, one in self._places.items() if one.is_due(now, rested=rested)]
            self._read_outside(due)
            if self._classes_dirty:
                self._shelf.save_classes(SavedClasses(self._classes, self._number))
                self._classes_dirty = False
            for name in due:
                place = self._places[name]
                if place.dirty and place.fault is None:
                    document = self._documents[name]
                    place.hash = self._shelf.save(document, self._number, place.hash)
                    place.stat, place.dirty = self._stat(name), False

    def close(self) -> None:
        """Saves everything; the store is of no use afterwards."""
        with self._lock:
            self.save()
            self._journal.close()

    def _load(self) -> None:
        entries = self._journal.read()
        names = self.project.names
        numbers = {name: self._load_video(name) for name in names}
        saved = self._shelf.load_classes()
        self._classes = saved.classes
        for entry in entries:
            self._number = entry.number
            self._replay(entry, numbers, saved.number)
        self._history = History(entries)
        self._number = max([self._number, saved.number, *numbers.values()])
        self._read_outside(names)
        self.save()
        self._journal.keep_last(DEEPEST, larger_than=LARGE_JOURNAL)

    def _load_video(self, name: str) -> int:
        """The last entry that its saved document holds."""
        saved = self._shelf.load(name)
        self._places[name] = place = _Place()
        if saved is None:
            return 0
        self._documents[name] = saved.document(name)
        place.hash = saved.written
        present = self._shelf.present(name)
        if present != saved.written and present == saved.replaced:
            place.hash, place.dirty = present, True  # a save that was cut short
        return saved.number

    def _replay(self, entry: Entry, numbers: Mapping[str, int], of_classes: int) -> None:
        for name, edit in entry.videos.items():
            if entry.number > numbers.get(name, self._number):
                document = self._documents.get(name) or Document(name)
                try:
                    self._documents[name] = document.edited(edit, entry.author)
                except ConflictError as error:
                    raise CorruptFileError(
                        f"entry {entry.number} does not fit ({error})",
                        where=self._journal.path,
                        remedy="move it away; annotations/ has everything up to the last save",
                    ) from None
                self._places[name].dirty = True
        if entry.classes is not None and entry.number > of_classes:
            self._classes, self._classes_dirty = entry.classes.after, True

    def _repeat(self, kind: Kind, entry: Entry) -> None:
        """Commits an entry again, or its inverse."""
        videos, classes = entry.videos, entry.classes
        if kind == "undo":
            videos = {name: edit.inverse for name, edit in videos.items()}
            classes = classes and ClassesEdit(classes.after, classes.before)
        for name, edit in videos.items():
            repeat(self.document(name), edit, entry.author, self._times_of(name))
        self._commit(kind, entry.author, videos, classes, of=entry.number)

    def _commit(
        self,
        kind: Kind,
        author: str,
        videos: Mapping[str, Edit],
        classes: ClassesEdit | None = None,
        *,
        of: int | None = None,
        sentence: str = "",
    ) -> None:
        """Checks, writes and then shows an entry; if any of it fails nothing has happened."""
        edited = {
            name: (self._documents.get(name) or Document(name)).edited(edit, author)
            for name, edit in videos.items()
        }
        if classes is not None and classes.before != self._classes:
            raise ConflictError("the classes were changed in the meantime")
        entry = Entry(self._number + 1, kind, author, time.time(), dict(videos), classes, of)
        self._journal.append(entry)
        self._number = entry.number
        self._documents.update(edited)
        for name in edited:
            self._places.setdefault(name, _Place()).touch()
        if classes is not None:
            self._classes, self._classes_dirty = classes.after, True
        self._history.note(entry)
        versions = {name: document.version for name, document in edited.items()}
        self._tell(Note(entry.number, versions, classes is not None, sentence))

    def _read_outside(self, names: Sequence[str]) -> None:
        """Takes in annotations that another program wrote, all of them as one entry.

        What was not saved yet stays, unless both changed the same event.
        """
        edits: dict[str, Edit] = {}
        for name in names:
            place = self._places.setdefault(name, _Place())
            if (stat := self._stat(name)) == place.stat:
                continue
            try:
                present = self._shelf.present(name)
                if present != place.hash:
                    edits[name] = self._outside(name)
            except UvastError as error:
                place.fault, place.stat = error, stat
            else:
                place.hash, place.stat, place.fault = present, stat, None
        found = {name: edit for name, edit in edits.items() if edit}
        if found:
            first = next(iter(found))
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            sentence = f"another program changed annotations/{first}.json{more}"
            self._commit("outside", "", found, sentence=sentence)

    def _outside(self, name: str) -> Edit:
        document = self._documents.get(name) or Document(name)
        found = self.project.annotations(name) or VideoAnnotations(name)
        if self._places[name].dirty:
            self._shelf.back_up(name, now=True)
            saved = self._shelf.load(name)
            base = Document(name) if saved is None else saved.document(name)
            edit = from_annotations(found, replace(base, n_ids=document.n_ids))
            with suppress(ConflictError, InputError):
                merged = document.edited(edit, "").items
                check({id_: one.event for id_, one in merged.items()}, edit.moved, None)
                return edit
        return from_annotations(found, document)

    def _stat(self, name: str) -> tuple[int, ...]:
        path = self._shelf.annotations_path(name)
        if not is_present(path):
            return ()
        try:
            now = path.stat()
        except OSError:
            return ()
        return now.st_mtime_ns, now.st_size, now.st_ino


def _renamed(document: Document, names: Mapping[str, str]) -> Edit:
    """Other labels for the events that have one of these names."""
    return Edit(
        tuple(
            ItemEdit(one.id, one.event, replace(one.event, label=names[one.event.label]))
            for one in document.ordered
            if one.event.label in names
        )
    )
