"""Importing labels: all of them or none; every import can be undone.

PROJECT/imports/N/import.json       when, from which files, into which videos
PROJECT/imports/N/before/NAME.json  a video's annotations before; absent if it had none
PROJECT/imports/N/after/NAME.json   its annotations afterwards

All annotations change in one step: a new folder is made beside the old one, and the two swap
places. The record is written before that; if the process was killed and the import never took
effect, the annotations are still those from before.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from uvast.errors import LabelError, OutputError
from uvast.exchange import native
from uvast.exchange.records import merged
from uvast.exchange.rules import without_overlaps
from uvast.exchange.source import Target
from uvast.files import (
    is_present,
    read_bytes,
    read_record,
    swap,
    temporary_folder,
    write_bytes,
    write_json,
)
from uvast.projects.one_writer import ANNOTATIONS, one_writer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.exchange.overlaps import Overlaps
    from uvast.exchange.records import VideoAnnotations
    from uvast.projects.incoming import Incoming
    from uvast.projects.project import Project

IMPORTS = "imports"
_RECORD = "import.json"
_State = tuple[int, int, int]
"""A file's inode number, time and size; replacing the file changes the first."""

Existing = Literal["refuse", "add", "replace"]
"""What happens to videos that already have annotations."""

_Text = Annotated[str, Field(min_length=1, max_length=10_000)]


@dataclass(frozen=True)
class ImportRecord:
    """One import.

    Args:
        format: marks the file as an import record.
        version: of the format.
        when: date and time in UTC.
        files: the files that were read.
        videos: the videos whose annotations changed.
    """

    format: Literal["uvast import"]
    version: Literal[1]
    when: _Text
    files: Annotated[tuple[_Text, ...], Field(max_length=1_000_000)]
    videos: Annotated[tuple[_Text, ...], Field(max_length=1_000_000)]


@dataclass(frozen=True)
class Imported:
    """What an import did.

    Args:
        number: of the import, from 1.
        videos: the new annotations of the videos that changed.
        notes: what was changed on the way, one sentence each.
    """

    number: int
    videos: tuple[VideoAnnotations, ...]
    notes: tuple[str, ...] = ()


def import_labels(
    project: Project,
    incoming: Incoming,
    *,
    existing: Existing = "refuse",
    overlaps: Overlaps = "error",
) -> Imported:
    """Puts annotations into a project, all or none.

    Args:
        project: where they go.
        incoming: one record per video.
        existing: what happens to videos that already have annotations: an error, both are kept,
            or the new ones replace them.
        overlaps: which of several intervals counts.
    """
    with one_writer(project):
        wanted = [_wanted(project, video, existing) for video in incoming.videos]
        ruled = without_overlaps(wanted, overlaps)
        new = {video.video: _content(project, video) for video in ruled.videos}
        record = ImportRecord(
            "uvast import",
            1,
            datetime.now(timezone.utc).isoformat(timespec="seconds"),
            tuple(str(file.absolute()) for file in incoming.files),
            tuple(new),
        )
        number = _remember(project, record, new)
        _replace(project, new)
    return Imported(number, ruled.videos, ruled.notes)


def undo_import(project: Project, *, drop_changes: bool = False) -> tuple[int, ImportRecord]:
    """Undoes the last import; called again, the one before it.

    Args:
        project: whose import.
        drop_changes: undo even if the annotations have changed since; those changes are lost.

    Returns:
        its number and record.
    """
    with one_writer(project):
        numbers = _numbers(project)
        if not numbers:
            raise LabelError(
                "there is no import to undo",
                where=project.path,
                remedy="import labels with uvast import",
            )
        folder = project.path / IMPORTS / str(numbers[-1])
        record = _read(folder)
        changed = [n for n in record.videos if _now(project, n) != _kept(folder, "after", n)]
        if changed and not drop_changes:
            raise OutputError(
                f"annotations of {changed[0]} were changed after import {numbers[-1]}"
                + (f", and of {len(changed) - 1} more videos" if len(changed) > 1 else ""),
                where=project.path,
                remedy="keep them, or lose those changes with --undo --replace",
            )
        _replace(project, {name: _kept(folder, "before", name) for name in record.videos})
        _forget(folder)
    return numbers[-1], record


def joined(
    before: VideoAnnotations | None,
    new: VideoAnnotations,
    existing: Existing,
    where: str | Path,
) -> VideoAnnotations:
    """The annotations a video gets; errors name `where`."""
    if before is None or not before.events or existing == "replace":
        both = new
    elif existing == "add":
        (both,) = merged((before, new))
    else:
        raise OutputError(
            f"video {new.video} has annotations already",
            where=where,
            remedy="keep both with --add, or put the new ones in their place with --replace",
        )
    return replace(both, events=tuple(dict.fromkeys(both.events)))  # without duplicates


def _wanted(project: Project, video: VideoAnnotations, existing: Existing) -> VideoAnnotations:
    # annotations that are replaced need not be readable
    before = None if existing == "replace" else project.annotations(video.video)
    return joined(before, video, existing, project.path)


def _remember(project: Project, record: ImportRecord, new: Mapping[str, bytes]) -> int:
    """Keeps the old and the new annotations, all or none, and returns the import's number."""
    imports = project.path / IMPORTS
    number = max(_numbers(project), default=0) + 1
    with temporary_folder(imports) as folder:
        made = folder / "import"
        write_json(made / _RECORD, asdict(record))
        for name, content in new.items():
            before = _now(project, name)
            if before is not None:
                write_bytes(made / "before" / f"{name}.json", before)
            write_bytes(made / "after" / f"{name}.json", content)
        made.rename(imports / str(number))
    return number


def _replace(project: Project, new: Mapping[str, bytes | None]) -> None:
    """Replaces the annotations of several videos in one step; None removes them.

    Another process may write at any time: what it wrote before the folders swapped is carried over,
    unless it has written the same file again since.
    """
    place = project.path / ANNOTATIONS
    with temporary_folder(project.path) as folder:
        made = folder / ANNOTATIONS
        before = _states(place)  # before copying, so that no change is missed
        if place.is_dir():
            ours = shutil.ignore_patterns(".uvast.*.tmp")
            shutil.copytree(place, made, ignore=ours, copy_function=_copy)
        else:
            made.mkdir()
        for name, content in new.items():
            path = made / f"{name}.json"
            if content is None:
                path.unlink(missing_ok=True)
            else:
                write_bytes(path, content)
        copied = _states(made)
        swap(made, place)
        after = _states(made)  # of the old folder
        changed = {name for name, _ in before.items() ^ after.items()}
        for name in changed - {f"{name}.json" for name in new}:
            if _state(place / name) != copied.get(name):
                continue
            if name in after:
                (made / name).replace(place / name)
            else:
                (place / name).unlink(missing_ok=True)


def _copy(source: str, target: str) -> None:
    """Copies a file, unless it has gone since it was listed."""
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:
        if is_present(Path(source)):  # a broken link, which must not get lost
            raise


def _states(folder: Path) -> dict[str, _State]:
    """The annotation files of a folder, with their states to detect changes."""
    paths = [path for path in folder.iterdir() if path.suffix == ".json"] if folder.is_dir() else []
    return {path.name: state for path in paths if (state := _state(path)) is not None}


def _state(path: Path) -> _State | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _numbers(project: Project) -> list[int]:
    """The numbers of the imports, in order; removes the last one if it never took effect."""
    imports = project.path / IMPORTS
    names = [one.name for one in imports.iterdir()] if imports.is_dir() else []
    numbers = sorted(int(name) for name in names if name.isascii() and name.isdecimal())
    if numbers:
        last = imports / str(numbers[-1])
        videos = _read(last).videos
        now = [_now(project, name) for name in videos]
        after = [_kept(last, "after", name) for name in videos]
        if now != after and now == [_kept(last, "before", name) for name in videos]:
            _forget(last)
            return numbers[:-1]
    return numbers


def _forget(folder: Path) -> None:
    with temporary_folder(folder.parent) as bin_:
        folder.rename(bin_ / folder.name)


def _read(folder: Path) -> ImportRecord:
    remedy = "remove this folder; the annotations stay as they are"
    record = read_record(folder / _RECORD, ImportRecord, remedy=remedy)
    known = {path.stem for path in (folder / "after").glob("*.json")}
    if known != set(record.videos):
        raise LabelError(
            "does not match the files beside it", where=folder / _RECORD, remedy=remedy
        )
    return record


def _now(project: Project, name: str) -> bytes | None:
    return _bytes(project.path / ANNOTATIONS / f"{name}.json")


def _kept(folder: Path, side: Literal["before", "after"], name: str) -> bytes | None:
    return _bytes(folder / side / f"{name}.json")


def _bytes(path: Path) -> bytes | None:
    return read_bytes(path) if is_present(path) else None


def _content(project: Project, video: VideoAnnotations) -> bytes:
    return native.write((video,), Target(str(project.path))).content
