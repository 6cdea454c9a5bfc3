"""What a file is, where features or labels were expected, and which command takes it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from uvast.errors import DataError, FeatureError, LabelError
from uvast.files import open_file

if TYPE_CHECKING:
    from pathlib import Path

EXTRACT = "make features from it with 'uvast extract'"
CONVERT = "turn it into labels with 'uvast convert'"
_UNPACK = "unpack it first"

_VIDEO, _ARCHIVE, _WORKBOOK = "a video", "an archive", "a table (XLSX)"
_SIGNATURES = (
    (re.compile(rb"....ftyp|\x1aE\xdf\xa3|RIFF....AVI |\x00\x00\x01[\xb3\xba]", re.S), _VIDEO),
    (re.compile(rb"\x89HDF\r\n"), "an HDF5 file"),
    (re.compile(rb"MATLAB 5\.0 MAT-file"), "a MATLAB file"),
    (re.compile(rb"PK\x03\x04"), _ARCHIVE),
    (re.compile(rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!"), _ARCHIVE),
    (re.compile(rb"\s*[\[{]"), "a JSON file"),
)
_SUFFIXES = {
    **dict.fromkeys(("mp4", "avi", "mov", "mkv", "webm", "m4v", "mpg", "mpeg", "wmv"), _VIDEO),
    **dict.fromkeys(("zip", "gz", "tgz", "tar", "7z", "rar", "npz"), _ARCHIVE),
    **dict.fromkeys(("h5", "hdf5"), "an HDF5 file"),
    "csv": "a table (CSV)",
    "tsv": "a table (TSV)",
    "xlsx": _WORKBOOK,
    "json": "a JSON file",
    "mat": "a MATLAB file",
    "eaf": "an ELAN file",
    "textgrid": "a Praat TextGrid",
}
_SEPARATORS = {"\t": "a table (TSV)", ";": "a table (CSV)", ",": "a table (CSV)"}


def recognised(path: Path) -> str | None:
    """What the first bytes of a file tell: "a video", "a table (CSV)" …; None if nothing."""
    try:
        with open_file(path) as file:
            head = file.read(4096)
    except DataError:
        return None
    for signature, kind in _SIGNATURES:
        if signature.match(head):
            return _WORKBOOK if kind == _ARCHIVE and b"xl/" in head else kind
    return _table(head.decode("utf-8", "replace"))


def not_features(path: Path) -> FeatureError | None:
    """The error for a file that is no array; None if it is not recognised."""
    kind = recognised(path)
    if kind is None:
        return None
    remedy = _UNPACK if kind == _ARCHIVE else EXTRACT
    return FeatureError(f"is {kind}, not an array", where=path, remedy=remedy)


def not_labels(path: Path) -> LabelError | None:
    """The error for a file that does not hold one label per line; None if not recognised."""
    kind = recognised(path)
    if kind is None:
        return None
    remedy = {_VIDEO: EXTRACT, _ARCHIVE: _UNPACK}.get(kind, CONVERT)
    return LabelError(f"is {kind}, not one label per line", where=path, remedy=remedy)


def what_else_is_in(dataset_path: Path) -> str | None:
    """The remedy for a dataset without arrays and labels, by what most files are called."""
    places = (("features", EXTRACT), ("groundTruth", CONVERT), ("", CONVERT))
    found = (_foreign_files(dataset_path / place, command) for place, command in places)
    return next((remedy for remedy in found if remedy is not None), None)


def _foreign_files(folder: Path, command: str) -> str | None:
    if not folder.is_dir():
        return None
    endings = (path.suffix[1:].lower() for path in folder.iterdir() if path.name[0] != ".")
    kinds = Counter(_SUFFIXES[ending] for ending in endings if ending in _SUFFIXES)
    if not kinds:
        return None
    kind, count = kinds.most_common(1)[0]
    remedy = _UNPACK if kind == _ARCHIVE else EXTRACT if kind == _VIDEO else command
    found = f"{folder.name} holds {kind}"
    if count > 1:
        found = f"{folder.name} holds {count} files, each {kind}"
        remedy = remedy.replace(" it ", " them ")
    return f"{found}: {remedy}"


def _table(text: str) -> str | None:
    """Lines that all have the same separators are rows of a table."""
    whole, _, _ = text.rpartition("\n")
    lines = [line for line in whole.splitlines() if line.strip()][:20]
    for separator, kind in _SEPARATORS.items():
        counts = {line.count(separator) for line in lines}
        if len(lines) > 1 and len(counts) == 1 and counts.pop() >= (1 if separator == "\t" else 2):
            return kind
    return None
