"""Files made from others: written only where they differ, and never over somebody's work."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from uvast.errors import OutputError
from uvast.files import is_present, read_bytes, read_record, write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

RECORD_FILE = "derived.json"

_Digest = Annotated[str, Field(max_length=64)]


@dataclass(frozen=True)
class _Derived:
    format: Literal["uvast derived files"]
    version: Literal[1]
    digests: Annotated[tuple[_Digest, ...], Field(max_length=10_000_000)]


def write_derived(folder: Path, files: Mapping[str, str], stale: Iterable[str]) -> None:
    """Writes derived files, and removes those that are no longer derived.

    `derived.json` keeps digests of what was written. A file that is not among them is somebody's
    own, or was changed by hand, and raises an error before anything is written.

    Args:
        folder: of all files.
        files: text by path below the folder.
        stale: paths that may hold files derived earlier.
    """
    record = folder / RECORD_FILE
    known: frozenset[str] = frozenset()
    if is_present(record):
        remedy = "remove it, and the label files that were made from annotations/"
        known = frozenset(read_record(record, _Derived, remedy=remedy).digests)
    new = {name: _digest(text.encode()) for name, text in files.items()}
    there: dict[str, str] = {}
    for name in (*files, *(one for one in stale if one not in files)):
        path = folder / name
        if is_present(path):
            there[name] = _digest(read_bytes(path, largest=2**31))
            if there[name] != new.get(name) and there[name] not in known:
                raise foreign(path)
    if there == new:
        return
    # before the files: a killed process leaves no unknown ones
    digests = sorted({*there.values(), *new.values()})
    write_json(record, {"format": "uvast derived files", "version": 1, "digests": digests})
    for name in there.keys() - files.keys():
        (folder / name).unlink(missing_ok=True)  # another process may be quicker
    for name, text in files.items():
        if there.get(name) != new[name]:
            write_text(folder / name, text)


def foreign(path: Path) -> OutputError:
    """The error for a foreign file in the place of a derived one."""
    return OutputError(
        "was not written by uvast, or was changed by hand",
        where=path,
        remedy="labels of a project come from its annotations/: move the file out of the project "
        "and import it from there",
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
