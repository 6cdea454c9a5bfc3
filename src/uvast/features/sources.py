"""Which files a user's paths stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.errors import InputError
from uvast.features.models import TABLES
from uvast.features.tables import TABLE_SUFFIXES
from uvast.files import missing
from uvast.files.kinds import VIDEO_SUFFIXES
from uvast.files.names import case_folded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.features.models import ModelName


def find_sources(paths: Sequence[Path], models: Sequence[ModelName]) -> tuple[Path, ...]:
    """The videos that `paths` stand for, or the tables if the models read tables.

    Args:
        paths: files, or folders of them.
        models: what is to be extracted.
    """
    suffixes = TABLE_SUFFIXES if models[0].kind in TABLES else VIDEO_SUFFIXES
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise missing(path)
        found += _inside(path, suffixes) if path.is_dir() else [path]
    known: dict[str, Path] = {}
    for path in found:
        other = known.setdefault(case_folded(path.stem), path)
        if other is not path:
            alike = f"are named {path.stem}"
            if other.stem != path.stem:  # macOS and Windows would take their features for one
                alike = f"have names that differ only in case, {other.stem} and {path.stem}"
            raise InputError(
                f"two inputs {alike}: {other} and {path}",
                remedy="extract them into different folders",
            )
    return tuple(found)


def _inside(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    found = sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in suffixes and path.is_file() and not path.name.startswith(".")
    )
    if not found:
        raise InputError(
            "holds no file to extract from",
            where=folder,
            remedy=f"name the files, or a folder of {' '.join(suffixes)} files",
        )
    return found
