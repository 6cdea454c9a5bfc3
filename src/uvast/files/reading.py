"""Reading: only regular files, never more than fits, every failure one clear sentence."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from uvast.errors import CorruptFileError, DataError, MissingFileError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

MEGABYTE = 2**20
LARGEST_TEXT = 256 * MEGABYTE
"""More than the labels of two days of video."""

_CHECK = "check the path"
_KINDS = (
    (stat.S_ISDIR, "is a folder, not a file"),
    (stat.S_ISFIFO, "is a pipe, not a file"),
    (stat.S_ISSOCK, "is a socket, not a file"),
)
_SYSTEM_REMEDIES = {
    errno.EACCES: "change its permissions",
    errno.EPERM: "change its permissions",
    errno.EMFILE: "close other files or raise the limit with 'ulimit -n'",
    errno.ENFILE: "close other programs, the whole system has too many files open",
    errno.ELOOP: "remove the link, it leads back to itself",
    errno.EIO: "check the disk",
}


def is_present(path: Path) -> bool:
    """Whether anything is at a path; a broken link counts, so that errors name it."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    return True


def open_file(path: Path, *, remedy: str = _CHECK) -> BinaryIO:
    """Opens a regular file; a pipe or a device in its place would hang or never end.

    `remedy` says what to do if it is missing.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            return path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise missing(path, remedy=remedy) from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    what = next((what for is_kind, what in _KINDS if is_kind(mode)), "is a device, not a file")
    raise CorruptFileError(what, where=path, remedy="put the file in its place")


def read_bytes(path: Path, *, largest: int = LARGEST_TEXT, remedy: str = _CHECK) -> bytes:
    """The bytes of a regular file that has at most `largest` of them."""
    with open_file(path, remedy=remedy) as file:
        try:
            if os.fstat(file.fileno()).st_size <= largest:
                return file.read()
        except OSError as error:
            raise unreadable(path, error) from error
    size = f"{largest // MEGABYTE} MB" if largest >= MEGABYTE else f"{largest // 1024} kB"
    raise CorruptFileError(
        f"is larger than {size}", where=path, remedy="check that it is the right file"
    )


def read_text(path: Path, *, largest: int = LARGEST_TEXT, remedy: str = _CHECK) -> str:
    """UTF-8 text; line ends of any platform become a newline."""
    try:
        text = read_bytes(path, largest=largest, remedy=remedy).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(path, error, kind="text", remedy="save it as UTF-8 text") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def missing(path: Path, *, remedy: str = _CHECK) -> MissingFileError:
    """The error for a file or folder that does not exist, or is a link to nowhere."""
    what = "does not exist"
    if path.is_symlink():
        what = f"is a link to {path.readlink()}, which does not exist"
        remedy = "restore what it links to, or remove the link"
    return MissingFileError(what, where=path, remedy=remedy)


def unreadable(
    path: Path, error: Exception, *, kind: str | None = None, remedy: str = _CHECK
) -> DataError:
    """The error for a file that exists but cannot be read, or not as a file of some `kind`.

    `remedy` is for wrong content; errors of the system have their own.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number in _SYSTEM_REMEDIES:
        kind, remedy = None, _SYSTEM_REMEDIES[number]
    as_kind = "" if kind is None else f" as {kind}"
    return CorruptFileError(f"cannot be read{as_kind} ({reason(error)})", where=path, remedy=remedy)


def reason(error: Exception) -> str:
    """The first line of an error's own words."""
    first_line = next(iter(str(error).splitlines()), type(error).__name__)
    return getattr(error, "strerror", None) or first_line.rstrip(".")
