"""`mapping.txt` and the label files: class names as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.errors import CorruptFileError, LabelError
from uvast.files import read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


def read_labels(path: Path) -> list[str]:
    """One class name a line, at the source rate; a final newline may be missing."""
    text = read_text(path).rstrip()
    if not text:
        raise LabelError("an empty video, no labels", where=path, remedy="remove this video")
    return [line.strip() for line in text.split("\n")]


def read_mapping(path: Path) -> tuple[str, ...]:
    """Class names in the order of their ids, from lines `id name`."""
    names: dict[int, str] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        index, *rest = line.split(maxsplit=1)
        if not (index.isascii() and index.isdigit() and rest):
            raise CorruptFileError(
                f"{line.strip()!r} is not 'id name'",
                where=f"{path}, line {number}",
                remedy="write one class a line, as in '0 take'",
            )
        if int(index) in names:
            raise CorruptFileError(
                f"id {int(index)} occurs more than once",
                where=f"{path}, line {number}",
                remedy="give every class its own id",
            )
        names[int(index)] = rest[0].strip()
    if not names:
        raise CorruptFileError("has no classes", where=path, remedy="write lines 'id name'")
    if sorted(names) != list(range(len(names))):
        missing_id = next(index for index in range(len(names)) if index not in names)
        raise CorruptFileError(
            f"id {missing_id} is missing", where=path, remedy="count ids from 0 without gaps"
        )
    classes = tuple(names[index] for index in range(len(names)))
    repeated = {name for name in classes if classes.count(name) > 1}
    if repeated:
        raise CorruptFileError(
            f"classes with more than one id: {', '.join(sorted(repeated))}",
            where=path,
            remedy="name every class once",
        )
    return classes


def write_mapping(path: Path, names: Sequence[str]) -> None:
    """Writes lines `id name`."""
    write_text(path, "".join(f"{index} {name}\n" for index, name in enumerate(names)))


def write_labels(path: Path, labels: Iterable[str]) -> None:
    """Writes one class name a line."""
    write_text(path, "".join(f"{label}\n" for label in labels))
