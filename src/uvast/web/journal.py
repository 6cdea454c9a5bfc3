"""The journal: every acknowledged edit, one per line, on disk before anybody is told.

A line is written whole or not at all. What a full disk leaves of it is cut off at once or before
the next one; what a kill leaves of it is cut off when the journal is next opened.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

import pydantic
from pydantic import Field

from uvast.errors import CorruptFileError, OutputError
from uvast.files import first_fault, read_bytes, unwritable, write_bytes
from uvast.web.classes import ClassesEdit  # noqa: TC001 (pydantic reads both)
from uvast.web.documents import Edit  # noqa: TC001

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 2**31
_REMEDY = "move it away; annotations/ has everything up to the last save"

_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
"""A link in the journal's place could lead out of the project."""

Kind = Literal["change", "import", "classes", "outside", "undo", "redo"]


@dataclass(frozen=True)
class Entry:
    """What one person did at one time.

    Args:
        number: counts the entries of a project, from 1.
        kind: `outside` is what another program wrote into `annotations/`.
        author: who did it; empty for other programs.
        at: when, in seconds since 1970.
        videos: the edit of each video.
        classes: the edit of the classes.
        of: the entry that was undone or redone.
        key: by which its sender recognises it, see `uvast.web.answered`.
        ids: of new events, as the answer gave them.
    """

    number: Annotated[int, Field(ge=1, lt=2**53)]
    kind: Kind
    author: Annotated[str, Field(max_length=1000)]
    at: float
    videos: dict[str, Edit] = field(default_factory=dict)
    classes: ClassesEdit | None = None
    of: int | None = None
    key: Annotated[str, Field(max_length=100)] = ""
    ids: tuple[str, ...] = ()

    @property
    def line(self) -> bytes:
        """The entry as a line of the journal."""
        return _ENTRY.dump_json(self, exclude_defaults=True) + b"\n"


_ENTRY = pydantic.TypeAdapter(Entry)


class Journal:
    """The journal's file; one process writes it at a time.

    Args:
        path: made if it does not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_symlink():
            raise OutputError(
                "is a link, which the app does not follow", where=path, remedy=_REMEDY
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, _FLAGS | os.O_CREAT, 0o644)
            _sync_folder(path.parent)
        except OSError as error:
            raise unwritable(path, error) from error
        self._n_bytes = os.fstat(self._file).st_size
        self._is_torn = False

    def read(self) -> tuple[Entry, ...]:
        """All entries; an incomplete line was never acknowledged, and is cut off."""
        content = read_bytes(self.path, largest=LARGEST)
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self._cut(len(whole))
        entries = []
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entries.append(_ENTRY.validate_json(line))
            except pydantic.ValidationError as fault:
                place = f"{self.path}, line {number}"
                raise CorruptFileError(first_fault(fault), where=place, remedy=_REMEDY) from None
        return tuple(entries)

    def append(self, entry: Entry) -> None:
        """Writes an entry to disk; if that fails, the journal stays as it was."""
        line = entry.line
        if self._is_torn:
            self._cut(self._n_bytes)
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._file, left) :]
            os.fsync(self._file)
        except OSError as error:
            self._cut(self._n_bytes)
            raise unwritable(self.path, error) from error
        self._n_bytes += len(line)

    def keep_last(self, n_entries: int, *, larger_than: int) -> None:
        """Drops all but the last entries of a large journal; all documents must be saved."""
        if self._n_bytes <= larger_than:
            return
        lines = read_bytes(self.path, largest=LARGEST).splitlines(keepends=True)
        write_bytes(self.path, b"".join(lines[-n_entries:]))
        self.close()
        self._file = os.open(self.path, _FLAGS)
        self._n_bytes = os.fstat(self._file).st_size

    def close(self) -> None:
        """Closes the file."""
        os.close(self._file)

    def _cut(self, n_bytes: int) -> None:
        self._is_torn = True
        try:
            os.ftruncate(self._file, n_bytes)
            os.fsync(self._file)
        except OSError as error:
            raise unwritable(self.path, error) from error
        self._n_bytes, self._is_torn = n_bytes, False


def _sync_folder(folder: Path) -> None:
    """Makes sure that a new file's name is on disk, too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
