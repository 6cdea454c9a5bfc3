"""Videos that people drop into the page: streamed to the disk, bounded, under a safe name."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING

from anyio import to_thread

from uvast.errors import InputError, OutputError
from uvast.files import atomic_path, is_present, unwritable
from uvast.files.kinds import VIDEO_SUFFIXES
from uvast.projects.videos import plain_name
from uvast.web.answers import TooLargeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path
    from typing import BinaryIO

    from uvast.errors import UvastError
    from uvast.projects import Project

LARGEST_VIDEO = 64 * 2**30
SPARE = 256 * 2**20
"""Bytes of the disk that an upload leaves free, above all for the journal."""

_RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{one}{n}" for one in ("com", "lpt") for n in range(10)),
}


class KnownVideoError(InputError):
    """A video that is in the project already: nothing is wrong, and there is nothing to do."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is in the project already, and was not added again")


def safe_name(text: str) -> str:
    """The name of a video file, made safe for the folders of any system.

    Drops the folders of its path, and replaces characters that some system cannot store.
    """
    last = text.replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = plain_name("".join("_" if one in '<>:"|?*' else one for one in last)).rstrip(". ")
    stem, dot, suffix = name.rpartition(".")
    if not stem or f"{dot}{suffix}".lower() not in VIDEO_SUFFIXES:
        raise InputError(
            f"{text!r} is not the name of a video file",
            remedy=f"end it with one of {' '.join(VIDEO_SUFFIXES)}",
        )
    return f"_{name}" if stem.partition(".")[0].lower() in _RESERVED else name


def take_in(project: Project, path: Path) -> tuple[str, ...]:
    """Adds an upload to the project, or to a video whose file is gone; returns the videos' names.

    A file that no video refers to in the end is removed.
    """
    errors: tuple[UvastError, ...] = ()
    try:
        _, errors = project.add_videos([path])
    finally:
        names = tuple(one.name for one in project.videos if one.path == path.absolute())
        if not names:
            path.unlink(missing_ok=True)
    if errors:  # people know the file, not where the project keeps it
        error = errors[0]
        raise type(error)(error.what, where=path.name, remedy=error.remedy)
    if not names:
        raise KnownVideoError(path.name)
    return names


def check_new(project: Project, path: Path, size: int | None) -> None:
    """Refuses an upload that a video of the project has been: of the same name and size."""
    is_known = any(one.path == path.absolute() for one in project.videos)
    if is_known and path.is_file() and path.stat().st_size == size:
        raise KnownVideoError(path.name)


async def receive(stream: AsyncIterator[bytes], folder: Path, name: str, size: int | None) -> Path:
    """Writes a stream to a new file in a folder; half an upload leaves nothing.

    A file of the same name that appears in the meantime is kept.

    Args:
        stream: the bytes.
        folder: made if it does not exist.
        name: see `safe_name`.
        size: the number of bytes that the sender announces.
    """
    path = folder / name
    if is_present(path):
        raise _is_there(name)
    if (size or 0) > LARGEST_VIDEO:
        raise _too_large()
    _check_room(folder, size or 0)
    with ExitStack() as undo:
        with atomic_path(path) as temporary:
            n_bytes = await _write(stream, temporary)
            if size is not None and n_bytes != size:
                raise InputError(f"{n_bytes} of {size} bytes arrived", remedy="send it again")
            _reserve(path)
            undo.callback(path.unlink, missing_ok=True)
        undo.pop_all()
    return path


async def _write(stream: AsyncIterator[bytes], path: Path) -> int:
    """Writes a stream to a file; returns the number of bytes."""
    n_bytes = 0
    with path.open("wb") as file:
        async for piece in stream:
            n_bytes += len(piece)
            if n_bytes > LARGEST_VIDEO:
                raise _too_large()
            await to_thread.run_sync(file.write, piece)
        await to_thread.run_sync(_to_disk, file)  # takes minutes for gigabytes
    return n_bytes


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _reserve(path: Path) -> None:
    """Creates an empty file, unless somebody else was first; the whole one soon replaces it."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise _is_there(path.name) from None


def _check_room(folder: Path, size: int) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise unwritable(folder, error) from error
    if free < size + SPARE:
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise unwritable(folder, full) from full


def _is_there(name: str) -> OutputError:
    remedy = "there is nothing to do, or rename the file if it is another video"
    return OutputError("already exists", where=name, remedy=remedy)


def _too_large() -> TooLargeError:
    return TooLargeError(
        f"the video is larger than {LARGEST_VIDEO // 2**30} GB", remedy="link it with uvast init"
    )
