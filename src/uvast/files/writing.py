"""Writing: a file or folder is the old one or the whole new one, never half of it."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import secrets
import shutil
import sys
import time
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.errors import OutputError
from uvast.files.reading import is_present, reason

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

_OURS = re.compile(r"\.uvast\.[0-9a-f]{16}\.tmp")
_SECONDS_TO_LOCK = 1.0
"""A younger temporary file may not yet have been locked by its process."""

_TOKENS = 2**13
"""Tokens of JSON at a time."""

_swept: set[Path] = set()
_TOLD_NUMBER = re.compile(r"\(os error (\d{1,5})\)")
"""As safetensors writes it."""
_SHORT_WRITE = re.compile(r"\d requested and \d+ written")
"""What NumPy says if an array does not fit on the disk."""
_REMEDIES = {
    errno.ENOSPC: "the disk is full: free some space or choose another place",
    errno.EDQUOT: "your disk quota is used up: free some space or choose another place",
    errno.EMFILE: "close other files or raise the limit with 'ulimit -n'",
    errno.ENFILE: "close other programs, the whole system has too many files open",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def check_absent(*paths: Path) -> None:
    """Raises if one of the paths exists; worth calling before long work, too."""
    taken = next((path for path in paths if is_present(path)), None)
    if taken is not None:
        raise OutputError("exists already", where=taken, remedy="pass --overwrite to replace it")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that replaces it if the block succeeds.

    A reader sees the old file or the whole new one, never half of it; a failure leaves the old one.
    """
    with _temporary(path, path.parent, Path.touch) as temporary:
        yield temporary
        with temporary.open("r+b") as file:  # Windows refuses to sync a file opened for reading
            os.fsync(file.fileno())
        temporary.replace(path)


def temporary_folder(parent: Path) -> AbstractContextManager[Path]:
    """An empty folder inside `parent` to prepare files in; removed when the block ends."""
    return _temporary(parent, parent, Path.mkdir)


def swap(new: Path, old: Path) -> None:
    """Swaps `new` and `old`, in one step where possible.

    Elsewhere `old` is missing for a moment; `recover` puts it back after a crash.
    """
    if not is_present(old):
        new.rename(old)
    elif not _exchanged(new, old):
        aside = _aside(old)
        old.rename(aside)
        new.rename(old)
        aside.rename(new)


def recover(path: Path) -> None:
    """Puts back what a killed `swap` had moved aside, or removes it if `path` exists."""
    aside = _aside(path)
    if is_present(path):
        _remove(aside)
    elif is_present(aside):
        aside.rename(path)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """Writes bytes atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, value: object) -> None:
    """Writes JSON atomically, indented for a human reader.

    It is made and written in parts: all of its tokens at once take six times the file.
    """
    tokens = chain(json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(value), "\n")
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        while part := "".join(islice(tokens, _TOKENS)):
            file.write(part)


def unwritable(path: Path, error: Exception) -> OutputError:
    """The error for a place that cannot be written."""
    number = _system_number(error)
    cause = error if number is None else OSError(number, os.strerror(number))
    return OutputError(
        f"cannot be written ({reason(cause)})",
        where=path,
        remedy=_REMEDIES.get(number or 0, "choose another place or change its permissions"),
    )


def _system_number(error: Exception) -> int | None:
    """The system's number of an error; two libraries have it only in their words, or not at all."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    if _SHORT_WRITE.search(str(error)):
        return errno.ENOSPC
    told = _TOLD_NUMBER.search(str(error))
    return None if told is None else int(told[1])


@contextmanager
def _temporary(target: Path, parent: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """Makes a temporary file or folder in `parent`; errors name the `target`.

    It is locked while in use. The system drops the lock when the process dies, however it dies:
    the next process that writes into the folder sees that and cleans up.
    """
    # not named after the target, whose name may already be as long as allowed
    temporary = parent / f".uvast.{secrets.token_hex(8)}.tmp"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _sweep(parent)
        make(temporary)
        with _locked(temporary):
            yield temporary
    except OSError as error:
        raise unwritable(target, error) from error
    except OutputError as error:  # of a file in a temporary folder, which nobody knows
        if error.where is None or str(temporary) not in error.where:
            raise
        place = error.where.replace(str(temporary), str(target))
        raise OutputError(error.what, where=place, remedy=error.remedy) from error
    finally:
        with suppress(OSError):  # the first error says more
            _remove(temporary)


def _sweep(folder: Path) -> None:
    """Removes what killed processes left; once per folder and process, as folders may be large."""
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError):  # others sweep, too, and a folder may be writable but not readable
        for path in folder.iterdir():
            is_ours = _OURS.fullmatch(path.name) is not None
            if is_ours and time.time() - path.stat().st_mtime > _SECONDS_TO_LOCK:
                with _locked(path) as is_locked:
                    if is_locked:
                        _remove(path)


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Locks a temporary file; False if it is taken, or the file system has no locks."""
    if sys.platform == "win32":  # an open file could not be renamed
        yield False
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


def _aside(path: Path) -> Path:
    return path.with_name(f".uvast.{path.name}.old")


def _exchanged(first: Path, second: Path) -> bool:
    """Exchanges two paths in one step; False if the system cannot."""
    if sys.platform == "win32":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    paths = os.fsencode(first), os.fsencode(second)
    if hasattr(libc, "renameat2"):
        here = ctypes.c_int(-100)  # AT_FDCWD
        failed = libc.renameat2(here, paths[0], here, paths[1], ctypes.c_uint(2))
    elif hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(*paths, ctypes.c_uint(2))
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(second))
