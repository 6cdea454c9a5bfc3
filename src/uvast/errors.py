"""Every error a user can meet, as one tree.

    UvastError
    ├── DataError              what is on disk cannot be used
    │   ├── MissingFileError       a file or folder does not exist
    │   ├── CorruptFileError       a file exists but cannot be read
    │   ├── FeatureError           features of a wrong shape or type, NaN or infinite values
    │   ├── LabelError             an unknown label, or labels that do not fit their video
    │   │   └── UnknownVideoError      labels of a video that is not among those at hand
    │   ├── SplitError             a split that names absent videos, or one on both sides
    │   └── TimestampError         unreadable, unordered or out-of-range timestamps
    ├── ConfigError            a setting with an unknown name or an impossible value
    ├── InputError             an argument of a Python call that cannot be right
    ├── OutputError            a place that cannot be written, or must not be overwritten
    ├── CheckpointError        a model or run folder that cannot be used
    └── TrainingError          training cannot go on (a loss that is not finite)

An error is one sentence, `place: what; remedy`, safe to print: see `printable`. The command line
prints it and ends with exit code 2.
"""

from __future__ import annotations

import shlex
import unicodedata
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


LONGEST_NAME = 200
"""Characters printed of a name or a value; the middle of a longer one is left out."""

_LONGEST_PART = 3 * LONGEST_NAME
_JOINERS = "\u200c\u200d"  # Persian names and family emoji need them


def printable(text: str, longest: int = LONGEST_NAME) -> str:
    r"""A name or a value from outside, on one line and safe for any terminal.

    Control characters (also those that change the direction of text) and bytes that are not text
    show as `\x1b` and the like, and the middle of a long text is left out. Applying it twice
    changes nothing.
    """
    if len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[:half]}…{text[-half:]}"
    if text.isprintable():
        return text
    shown = "".join(_escaped(character) for character in text)
    return shown if len(shown) <= longest else printable(shown, longest)


def command(*words: object) -> str:
    """A command for people to copy: `uvast` and its words, quoted where a shell needs it."""
    return shlex.join(("uvast", *map(str, words)))


def counted(number: int, noun: str) -> str:
    """`1 video`, `2 videos`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _escaped(character: str) -> str:
    kind = unicodedata.category(character)
    if (kind[0] != "C" and kind not in ("Zl", "Zp")) or character in _JOINERS:
        return character
    if "\udc80" <= character <= "\udcff":  # how Python keeps a byte of a name that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


class UvastError(Exception):
    """The root of the tree.

    Args:
        what: what is wrong, with the offending value.
        where: the file, line, video or setting it was found in.
        remedy: what the user can do about it.
    """

    def __init__(
        self, what: str, *, where: str | Path | None = None, remedy: str | None = None
    ) -> None:
        self.what = printable(what, _LONGEST_PART)
        self.where = None if where is None else printable(str(where), _LONGEST_PART)
        self.remedy = None if remedy is None else printable(remedy, _LONGEST_PART)
        place = "" if self.where is None else f"{self.where}: "
        cure = "" if self.remedy is None else f"; {self.remedy}"
        super().__init__(f"{place}{self.what}{cure}")

    def __reduce__(self) -> tuple[object, ...]:
        """Errors cross process boundaries (data workers, Ray) with all their parts."""
        return partial(type(self), where=self.where, remedy=self.remedy), (self.what,)


class DataError(UvastError):
    """What is on disk cannot be used."""


class MissingFileError(DataError):
    """A file or folder does not exist."""


class CorruptFileError(DataError):
    """A file exists but cannot be read."""


class FeatureError(DataError):
    """Features of a wrong shape or type, or with NaN or infinite values."""


class LabelError(DataError):
    """An unknown label, or labels that do not fit their video."""


class UnknownVideoError(LabelError):
    """Labels of a video that is not among those at hand."""


class SplitError(DataError):
    """A split that names absent videos, or has one on both sides."""


class TimestampError(DataError):
    """Unreadable, unordered or out-of-range timestamps."""


class ConfigError(UvastError):
    """A setting with an unknown name or an impossible value."""


class InputError(UvastError, ValueError):
    """An argument of a Python call that cannot be right."""


class OutputError(UvastError):
    """A place that cannot be written, or must not be overwritten."""


class CheckpointError(UvastError):
    """A model or run folder that cannot be used."""


class TrainingError(UvastError):
    """Training cannot go on."""
