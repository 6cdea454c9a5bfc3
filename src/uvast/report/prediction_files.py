"""The predictions in a folder, where no dataset says which videos there are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uvast.errors import MissingFileError
from uvast.evaluation.predictions import find_predictions
from uvast.evaluation.segment_files import SUFFIXES
from uvast.report.provenance import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Files = Mapping[int | None, Mapping[str, Path]]

LABELS = "groundTruth"
"""A folder with such a folder holds labels, as a dataset does and as `pseudo-label` writes them."""

_ENDS = (*SUFFIXES, ".txt", "")
_OTHERS = (MANIFEST, "mapping.txt", "timestamps.json", "timestamps.csv")
_SPLIT = re.compile(r"split_?(\d{1,6})", re.ASCII)


def every_prediction(folder: Path) -> Files:
    """Each video's file, by split for folders `splitN` inside, else under None.

    Tables of segments, which tell confidences, are preferred to frame labels.
    """
    folder = folder / LABELS if (folder / LABELS).is_dir() else folder
    places: dict[int | None, Path] = {None: folder}
    places |= {
        int(match[1]): one
        for one in sorted(folder.iterdir())
        if (match := _SPLIT.fullmatch(one.name)) and one.is_dir()
    }
    found: dict[int | None, dict[str, Path]] = {}
    for split, place in places.items():
        files = find_predictions(place, _videos(place), tables_first=True)
        known = {video: path for video, path in files.items() if path is not None}
        if known:
            found[split] = known
    if not found:
        raise MissingFileError(
            "holds no run, no benchmark and no predictions",
            where=folder,
            remedy="name a folder that uvast train, benchmark, segment or pseudo-label wrote",
        )
    return found


def _videos(folder: Path) -> list[str]:
    """Names by the files' own; hidden files, those of a dataset and other kinds are none."""
    names = {
        one.stem
        for one in folder.iterdir()
        if one.is_file()
        and one.suffix in _ENDS
        and not one.name.startswith(".")
        and one.name not in _OTHERS
    }
    return sorted(names)
