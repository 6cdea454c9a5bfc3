"""Files: atomic writes, and readers that turn every failure into one clear sentence."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.errors import CorruptFileError, MissingFileError, OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_absent(*paths: Path) -> None:
    """Refuses to replace what exists; worth asking before long work, too."""
    taken = next((path for path in paths if path.exists()), None)
    if taken is not None:
        raise OutputError("exists already", where=taken, remedy="pass --overwrite to replace it")


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place if the block ends well.

    A reader sees the old file or the whole new one, never a half; a failure leaves the old one.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # not named after `path`, whose name may be as long as names can be
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".uvast.", suffix=".tmp")
    except OSError as error:
        raise unwritable(path, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        _flush_to_disk(temporary)
        temporary.replace(path)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """Writes bytes atomically."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, value: object) -> None:
    """Writes JSON atomically, indented for a human reader."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_text(path: Path) -> str:
    """Reads UTF-8 text; line ends of any platform become a newline."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise missing(path) from None
    except IsADirectoryError:
        raise CorruptFileError(
            "is a folder, not a file", where=path, remedy="put the file in its place"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, "text", error, remedy="save it as UTF-8 text") from error


def read_numbers(path: Path) -> list[dict[str, float]]:
    """The rows of a CSV table of numbers, empty cells left out."""
    rows = csv.DictReader(io.StringIO(read_text(path)))
    try:
        return [{k: float(v) for k, v in row.items() if v not in ("", None)} for row in rows]
    except (TypeError, ValueError) as error:
        raise CorruptFileError(
            f"is not a table of numbers ({error})", where=path, remedy="restore it or remove it"
        ) from error


def read_json(path: Path) -> Any:
    """Reads JSON; a key twice in one object is an error, since one of them would be lost."""
    return parse_json(read_text(path), path)


def parse_json(text: str, path: Path | str) -> Any:
    """JSON text to plain values, as `read_json` does; errors name `path`."""
    try:
        return json.loads(text, object_pairs_hook=partial(_unique_keys, path))
    except json.JSONDecodeError as error:
        what = f"is not valid JSON (line {error.lineno}: {error.msg})"
    except RecursionError:
        what = "is JSON nested too deeply"
    except ValueError:  # Python's limit for the digits of an integer
        what = "has a number of thousands of digits"
    raise CorruptFileError(what, where=path, remedy="restore or write it again")


def missing(path: Path, *, remedy: str = "check the path") -> MissingFileError:
    """The error for a file or folder that is not there."""
    return MissingFileError("does not exist", where=path, remedy=remedy)


def unreadable(path: Path, kind: str, error: Exception, *, remedy: str) -> CorruptFileError:
    """The error for a file that is there and cannot be read as what it should be."""
    return CorruptFileError(
        f"cannot be read as {kind} ({_reason(error)})",
        where=path,
        remedy="change its permissions" if isinstance(error, PermissionError) else remedy,
    )


def unwritable(path: Path, error: Exception) -> OutputError:
    """The error for a place that cannot be written."""
    return OutputError(
        f"cannot be written ({_reason(error)})",
        where=path,
        remedy="choose another place or change its permissions",
    )


def _reason(error: Exception) -> str:
    first_line = next(iter(str(error).splitlines()), type(error).__name__)
    return getattr(error, "strerror", None) or first_line.rstrip(".")


def _unique_keys(path: Path | str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise CorruptFileError(
            f"key {twice!r} comes more than once", where=path, remedy="keep one of them"
        )
    return found


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
