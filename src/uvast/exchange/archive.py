"""Untrusted zip files: members, size and ratio are limited, and nothing is unpacked to disk."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from uvast.errors import CorruptFileError
from uvast.exchange.source import MAX_BYTES

if TYPE_CHECKING:
    from uvast.exchange.source import Source

MAX_MEMBERS = 1000
MAX_RATIO = 200
"""Text shrinks to a fiftieth at best, a zip bomb to a thousandth."""

_SMALL = 1024**2
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
"""Raised by the standard library for damaged archives; NotImplementedError is a RuntimeError."""


def is_zip(content: bytes) -> bool:
    """Whether the content starts like a zip file that has members."""
    return content.startswith(b"PK\x03\x04")


def member_names(source: Source) -> tuple[str, ...]:
    """The names inside, unchecked; empty if the source is not a zip file."""
    if not is_zip(source.content):
        return ()
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive:
            return tuple(archive.namelist()[: MAX_MEMBERS + 1])
    except _BROKEN:
        return ()


def check_zip(source: Source) -> None:
    """Refuses archives that no annotation program makes."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive:
            members = archive.infolist()
    except _BROKEN as error:
        raise _refused(source, f"cannot be read as a zip file ({error})") from None
    if len(members) > MAX_MEMBERS:
        raise _refused(source, f"holds {len(members)} files")
    if sum(member.file_size for member in members) > MAX_BYTES:
        raise _refused(source, f"unpacks to more than {MAX_BYTES // 1024**2} MB")
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1]):
            raise _refused(source, f"holds a file whose path leads outside it: {member.filename!r}")
        if member.flag_bits & 1:
            raise _refused(source, f"is protected by a password ({member.filename})")
        packed = max(1, member.compress_size)
        if member.file_size > max(_SMALL, MAX_RATIO * packed):
            ratio = member.file_size // packed
            raise _refused(source, f"{member.filename} is compressed by a factor of {ratio}")


def read_member(source: Source, name: str) -> bytes:
    """Reads one file from an archive that has been checked."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive, archive.open(name) as file:
            content = file.read(MAX_BYTES + 1)
    except KeyError:
        raise _refused(source, f"does not contain the file {name!r}") from None
    except _BROKEN as error:
        raise _refused(source, f"{name} cannot be unpacked ({error})") from None
    if len(content) > MAX_BYTES:
        raise _refused(source, f"{name} unpacks to more than {MAX_BYTES // 1024**2} MB")
    return content


def refuse_declarations(source: Source) -> None:
    """Refuses XML inside that declares entities, before a library expands them."""
    for name in member_names(source):
        if not name.endswith((".xml", ".rels", ".vml")):
            continue
        content = read_member(source, name).replace(b"\0", b"")  # UTF-16 as if it were ASCII
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
            raise _refused(source, f"{name} declares entities, which can hide harmful content")


def _refused(source: Source, what: str) -> CorruptFileError:
    remedy = "save it again with the program that made it"
    return CorruptFileError(what, where=source.place, remedy=remedy)
