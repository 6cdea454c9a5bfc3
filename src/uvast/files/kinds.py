"""What a file is, by its first bytes or its name, if another kind was expected."""

from __future__ import annotations

import re

VIDEO_SUFFIXES = (
    *(".3gp", ".asf", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg"),
    *(".mts", ".mxf", ".ogv", ".ts", ".vob", ".webm", ".wmv"),
)
"""What counts as a video in a folder; a file that the user names is one, whatever its suffix."""

VIDEO, ARCHIVE, WORKBOOK = "a video", "an archive", "a table (XLSX)"
TABLES = {"\t": "a table (TSV)", ";": "a table (CSV)", ",": "a table (CSV)"}
"""By the character between columns."""

KIND_OF_SUFFIX = {
    **dict.fromkeys(VIDEO_SUFFIXES, VIDEO),
    **dict.fromkeys((".zip", ".gz", ".tgz", ".tar", ".7z", ".rar", ".npz"), ARCHIVE),
    **dict.fromkeys((".h5", ".hdf5"), "an HDF5 file"),
    ".csv": "a table (CSV)",
    ".tsv": "a table (TSV)",
    ".xlsx": WORKBOOK,
    ".json": "a JSON file",
    ".mat": "a MATLAB file",
    ".eaf": "an ELAN file",
    ".textgrid": "a Praat TextGrid",
}

N_BYTES = 4096
"""How many of the first bytes are read to tell what a file is."""

_SIGNATURES = (
    (re.compile(rb"....ftyp|\x1aE\xdf\xa3|RIFF....AVI |\x00\x00\x01[\xb3\xba]", re.S), VIDEO),
    (re.compile(rb"\x89HDF\r\n"), "an HDF5 file"),
    (re.compile(rb"MATLAB 5\.0 MAT-file"), "a MATLAB file"),
    (re.compile(rb"PK\x03\x04"), ARCHIVE),
    (re.compile(rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!"), ARCHIVE),
)


def binary_kind(head: bytes) -> str | None:
    """What a file that is not text is, by its first bytes; None if unknown."""
    for signature, kind in _SIGNATURES:
        if signature.match(head):
            return WORKBOOK if kind == ARCHIVE and b"xl/" in head else kind
    return None


def kind_of(head: bytes) -> str | None:
    """Like `binary_kind`, but also knows JSON and tables; None if unknown."""
    if (kind := binary_kind(head)) is not None:
        return kind
    text = head.decode("utf-8", "replace")
    return "a JSON file" if text.lstrip()[:1] in ("[", "{") else _table(text)


def _table(text: str) -> str | None:
    """Lines that all have the same separators are rows of a table."""
    whole, _, _ = text.rpartition("\n")
    lines = [line for line in whole.splitlines() if line.strip()][:20]
    for separator, kind in TABLES.items():
        counts = {line.count(separator) for line in lines}
        if len(lines) > 1 and len(counts) == 1 and counts.pop() >= (1 if separator == "\t" else 2):
            return kind
    return None
