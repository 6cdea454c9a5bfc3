"""What a file is, if features or labels were expected, and which command takes it."""

from __future__ import annotations

import glob
from collections import Counter
from typing import TYPE_CHECKING

from uvast.errors import DataError, FeatureError, LabelError
from uvast.files import missing, open_file
from uvast.files.kinds import ARCHIVE, KIND_OF_SUFFIX, N_BYTES, VIDEO, kind_of
from uvast.files.names import GROUND_TRUTH

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.errors import MissingFileError

EXTRACT = "make features from it with 'uvast extract'"
CONVERT = "turn it into labels with 'uvast convert'"
_UNPACK = "unpack it first"


def recognised(path: Path) -> str | None:
    """What a file is by its first bytes: "a video", "a table (CSV)" …; None if unknown."""
    try:
        with open_file(path) as file:
            return kind_of(file.read(N_BYTES))
    except DataError:
        return None


def no_features(path: Path, remedy: str) -> MissingFileError:
    """The error for missing features; it names another file of that name in their place."""
    if path.parent.is_dir():
        for other in sorted(path.parent.glob(f"{glob.escape(path.stem)}.*")):
            if (kind := KIND_OF_SUFFIX.get(other.suffix.lower())) is not None:
                how = _UNPACK if kind == ARCHIVE else EXTRACT
                return missing(path, remedy=f"{other.name} is {kind}: {how}")
    return missing(path, remedy=remedy)


def not_features(path: Path) -> FeatureError | None:
    """The error for a file that is not an array; None if it is not recognised."""
    kind = recognised(path)
    if kind is None:
        return None
    remedy = _UNPACK if kind == ARCHIVE else EXTRACT
    return FeatureError(f"is {kind}, not an array", where=path, remedy=remedy)


def not_labels(path: Path) -> LabelError | None:
    """The error for a file that does not hold one label per line; None if not recognised."""
    kind = recognised(path)
    if kind is None:
        return None
    remedy = {VIDEO: EXTRACT, ARCHIVE: _UNPACK}.get(kind, CONVERT)
    return LabelError(f"is {kind}, not one label per line", where=path, remedy=remedy)


def what_else_is_in(dataset_path: Path) -> str | None:
    """The remedy for a dataset without arrays and labels, by the suffix of most of its files."""
    places = (("features", EXTRACT), (GROUND_TRUTH, CONVERT), ("", CONVERT))
    found = (_foreign_files(dataset_path / place, command) for place, command in places)
    return next((remedy for remedy in found if remedy is not None), None)


def _foreign_files(folder: Path, command: str) -> str | None:
    if not folder.is_dir():
        return None
    endings = (path.suffix.lower() for path in folder.iterdir() if path.name[0] != ".")
    kinds = Counter(KIND_OF_SUFFIX[ending] for ending in endings if ending in KIND_OF_SUFFIX)
    if not kinds:
        return None
    kind, count = kinds.most_common(1)[0]
    remedy = _UNPACK if kind == ARCHIVE else EXTRACT if kind == VIDEO else command
    found = f"{folder.name} holds {kind}"
    if count > 1:
        found = f"{folder.name} holds {count} files, each {kind}"
        remedy = remedy.replace(" it ", " them ")
    return f"{found}: {remedy}"
