"""The state of a project in the app: documents, classes, journal and undo, one writer at a time.

Every change makes an entry, and every entry goes through one method (`_commit`): it is checked
against the present state, written to the journal, and only then shown.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from uvast.projects.one_writer import one_writer
from uvast.web.answered import Answered
from uvast.web.classes import Classes, ClassesEdit, changed, with_background, with_labels
from uvast.web.documents import ConflictError, Document, Edit, imported, relabelled
from uvast.web.drafts import Made, apply, repeat
from uvast.web.journal import Entry, Journal
from uvast.web.loading import load
from uvast.web.notes import Note
from uvast.web.places import Places
from uvast.web.saved import SavedClasses, Shelf
from uvast.web.undo import DEEPEST, History

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from uvast.errors import UvastError
    from uvast.exchange import FrameTimes, VideoAnnotations
    from uvast.projects import Project
    from uvast.web.changes import Change
    from uvast.web.classes import ClassChange
    from uvast.web.journal import Kind
    from uvast.web.scenes import Scene

    Joined = Callable[[VideoAnnotations, VideoAnnotations], VideoAnnotations]

LARGE_JOURNAL = 16 * 2**20


class Store:
    """All documents of a project.

    Args:
        project: its files.
        tell: called after every entry, when the next writer can begin.
        times_of: gives the frames of a video that clicks are on.
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
        self._saving = threading.Lock()
        self._shelf = Shelf(project)
        self._places = Places(project, self._shelf)
        self._journal = Journal(project.path / "app" / "journal.jsonl")
        names, self._untold = project.names, list[Note]()
        found = load(self._journal, self._places, self._shelf.load_classes(), names)
        self._documents, self._number = found.documents, found.number
        self._classes, self._classes_dirty = found.classes, found.classes_dirty
        if (background := self._shelf.load_background()) is not None:
            self._classes = with_background(self._classes, background)
        self._told_background: Classes | None = None
        self._empty: dict[str, Document] = {}
        self._known_classes: Classes | None = None
        self._history, self._answered = History(found.entries), Answered(found.entries)
        self._read_outside(names)
        self._untold.clear()  # nobody has seen anything else
        self.save()
        if self._places.all_saved:
            self._journal.keep_last(DEEPEST, larger_than=LARGE_JOURNAL)

    @property
    def number(self) -> int:
        """The number of the last journal entry."""
        return self._number

    @property
    def documents(self) -> Mapping[str, Document]:
        """All documents as they are now, by video."""
        with self._lock:
            return dict(self._documents)

    def document(self, video: str) -> Document:
        """One document; a file that another program changed is read again first."""
        with self._writing():
            return self._present(video)

    def known(self, video: str) -> Document:
        """One document as it is in memory; no file is read, and nobody is notified."""
        with self._lock:
            found = self._documents.get(video)
            return self._empty.setdefault(video, Document(video)) if found is None else found

    def fault(self, video: str) -> UvastError | None:
        """Why a video's annotations cannot be read, if so."""
        with self._lock:
            return self._places[video].fault

    @property
    def classes(self) -> Classes:
        """The table, with every label in use."""
        with self._lock:
            if self._known_classes is None:
                labels = [one.labels for one in self._documents.values()]
                self._known_classes = with_labels(self._classes, frozenset().union(*labels))
            return self._known_classes

    def change(
        self,
        video: str,
        changes: Sequence[Change],
        author: str,
        *,
        seen: int,
        scene: Scene,
        key: str = "",
    ) -> Made:
        """Makes changes to a video, once for each key; see `uvast.web.drafts.apply`."""
        with self._writing():
            document = self._present(video)
            if (known := self._answered.entry(key)) is not None:
                return Made(document, Edit(), known.ids)
            made = apply(document, changes, author, seen=seen, scene=scene)
            if made.edit:
                edit, edited = {video: made.edit}, {video: made.document}
                self._commit("change", author, edit, edited, key=key, ids=made.ids)
            return made

    def take_in(
        self,
        found: Sequence[VideoAnnotations],
        author: str,
        joined: Joined,
        *,
        seen: Mapping[str, Document],
    ) -> int:
        """Imports annotations as one entry; returns how many videos changed.

        Args:
            found: one record per video.
            author: who does it.
            joined: what a video should have, given what it has and what was found.
            seen: the documents when the author began; replacing what others changed since is a
                `ConflictError`.
        """
        with self._writing():
            edits = {}
            for one in found:
                document = self._present(one.video)
                edit = imported(joined(document.annotations, one), document)
                before = seen.get(document.video)
                document.check_seen(edit, author, 0 if before is None else before.version)
                edits[one.video] = edit
            edits = {name: edit for name, edit in edits.items() if edit}
            if edits:
                self._commit("import", author, edits, self._edited(edits, author))
            return len(edits)

    def change_classes(self, change: ClassChange, author: str) -> Classes:
        """Changes the table, and relabels events whose class has a new name, as one entry."""
        with self._writing():
            self._read_outside(self.project.names)
            after, names = changed(self.classes, change)
            users = [name for name, one in self._documents.items() if change.name in one.labels]
            if change.do == "delete" and users:
                where = users[0] if len(users) == 1 else f"{len(users)} videos"
                raise ConflictError(
                    f"class {change.name!r} has events in {where}",
                    remedy="merge it into another class, or delete or relabel them first",
                )
            edits = {video: relabelled(one, names) for video, one in self._documents.items()}
            edits = {video: edit for video, edit in edits.items() if edit}
            edited = self._edited(edits, author)
            self._commit("classes", author, edits, edited, ClassesEdit(self._classes, after))
            return self.classes

    def undo(self, author: str, video: str | None = None, *, key: str = "") -> Entry:
        """Undoes the author's last entry, unless others changed the same thing since."""
        return self._turn("undo", self._history.to_undo, author, video, key)

    def redo(self, author: str, video: str | None = None, *, key: str = "") -> Entry:
        """Redoes what the author last undid."""
        return self._turn("redo", self._history.to_redo, author, video, key)

    def refresh(self) -> None:
        """Looks for annotations that other programs changed."""
        names = self.project.names
        with self._writing():
            self._read_outside(names)

    def save(self, *, rested: bool = False) -> None:
        """Brings `annotations/` up to date with all that was acknowledged.

        Changes go on meanwhile: documents are written as they were at the start. An import by a
        command comes before or after, so that neither overwrites the other.

        Args:
            rested: leaves out, for a while, videos that somebody is changing right now.
        """
        with self._saving, one_writer(self.project):
            with self._writing():
                self._read_outside(self._places.due(rested=rested))
                due = [self._documents[name] for name in self._places.due(rested=rested)]
                classes, used = SavedClasses(self._classes, self._number), self.classes
            if self._classes_dirty:
                self._shelf.save_classes(classes)
                with self._lock:
                    self._classes_dirty = self._classes is not classes.classes
            if used is not self._told_background:
                self._shelf.save_background(used)
                self._told_background = used
            for document in due:
                self._save(document, classes.number)

    def close(self) -> None:
        """Saves everything; the store cannot be used afterwards."""
        self.save()
        with self._lock:
            self._journal.close()

    def _save(self, document: Document, number: int) -> None:
        place = self._places[document.video]
        content = self._shelf.content(document)
        with self._lock:
            replaced, place.coming = place.hash, content.hash
        self._shelf.save(document, number, content, replaced)
        with self._lock:
            place.hash, place.stat = content.hash, self._places.stat(document.video)
            place.dirty = False
            if self._documents[document.video] is not document:
                place.touch()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Allows one writer at a time; afterwards everybody hears what was written."""
        try:
            with self._lock:
                yield
        finally:
            with self._lock:
                notes, self._untold = self._untold, []
            for note in notes:
                self._tell(note)

    def _present(self, video: str) -> Document:
        name = self.project.video(video).name
        self._read_outside([name])
        if (fault := self._places[name].fault) is not None:
            raise fault
        return self.known(name)

    def _edited(self, edits: Mapping[str, Edit], author: str) -> dict[str, Document]:
        return {name: self.known(name).edited(edit, author) for name, edit in edits.items()}

    def _turn(
        self,
        kind: Literal["undo", "redo"],
        last: Callable[[str, str | None], Entry | None],
        author: str,
        video: str | None,
        key: str,
    ) -> Entry:
        with self._writing():
            if (known := self._answered.entry(key)) is not None:
                return self._history.entry(author, known.of) or known
            entry = last(author, video)
            if entry is None:
                raise ConflictError(f"there is nothing to {kind}")
            self._repeat(kind, entry, key)
            return entry

    def _repeat(self, kind: Kind, entry: Entry, key: str) -> None:
        """Commits an entry again, or its inverse."""
        videos, classes = entry.videos, entry.classes
        if kind == "undo":
            videos = {name: edit.inverse for name, edit in videos.items()}
            classes = classes and ClassesEdit(classes.after, classes.before)
        edited = {
            name: repeat(self._present(name), edit, entry.author, self._times_of(name))
            for name, edit in videos.items()
        }
        self._commit(kind, entry.author, videos, edited, classes, of=entry.number, key=key)

    def _commit(
        self,
        kind: Kind,
        author: str,
        videos: Mapping[str, Edit],
        edited: Mapping[str, Document],
        classes: ClassesEdit | None = None,
        *,
        of: int | None = None,
        sentence: str = "",
        key: str = "",
        ids: tuple[str, ...] = (),
    ) -> None:
        """Writes and then shows an entry; if writing fails, nothing has happened."""
        if classes is not None and classes.before != self._classes:
            raise ConflictError("the classes were changed in the meantime")
        number = self._number + 1
        entry = Entry(number, kind, author, time.time(), dict(videos), classes, of, key, ids)
        self._journal.append(entry)
        self._number = entry.number
        if classes is not None:
            self._classes, self._classes_dirty = classes.after, True
        has_new_classes = classes is not None or any(
            one.labels != self.known(name).labels for name, one in edited.items()
        )
        if has_new_classes:
            self._known_classes = None
        self._documents.update(edited)
        for name in edited:
            self._places[name].touch()
        self._history.note(entry)
        self._answered.note(entry)
        versions = {name: document.version for name, document in edited.items()}
        self._untold.append(Note(entry.number, versions, has_new_classes, sentence))

    def _read_outside(self, names: Iterable[str]) -> None:
        """Reads annotations that another program wrote, all of them as one entry."""
        found = self._places.written_outside(names, self._documents)
        if edits := found.edits:
            edited = self._edited(edits, "")
            self._commit("outside", "", edits, edited, sentence=found.sentence)
