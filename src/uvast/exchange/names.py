"""Which video of a project an annotation file means."""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches
from typing import TYPE_CHECKING

from uvast.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_MEDIA = frozenset(
    ("3gp", "asf", "avi", "divx", "dv", "f4v", "flv", "h264", "m2ts", "m2v", "m4v", "mkv", "mov",
     "mp3", "mp4", "mpeg", "mpg", "mts", "mxf", "ogv", "seq", "ts", "vob", "wav", "webm", "wmv")
)  # fmt: skip
_ADDED = _MEDIA | frozenset(
    ("annot", "anvil", "boris", "csv", "eaf", "h5", "hdf5", "json", "npy", "opf", "parquet", "srt",
     "tsv", "txt", "vtt", "xlsx", "xml")
)  # fmt: skip
"""Suffixes of videos, tables and annotation files. Any other dot is a part of a name."""


def match_videos(
    names: Iterable[str],
    videos: Sequence[str],
    *,
    table: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    where: str = "annotations",
) -> dict[str, str]:
    """The video that each name in annotation files stands for.

    A name matches by the table, else exactly, else without the suffix of a video or annotation
    file, else without regard to upper and lower case.

    Args:
        names: as the annotation files have them.
        videos: the videos there are.
        table: name in the files to video, for what cannot be guessed.
        files: file to video, for files whose suffix nobody knows.
        where: what an error calls the files.
    """
    table = table or {}
    keys = _keys(videos, files or {})
    found = {}
    for name in names:
        wanted = table.get(name, name)
        matches = next((hits for key in _forms(wanted) if (hits := keys.get(key, ()))), ())
        if len(matches) != 1:
            raise _unmatched(name, wanted, matches, videos, where)
        found[name] = matches[0]
    return found


def without_media_suffix(name: str) -> str:
    """The name of a video without the suffix of its file."""
    stem, _, suffix = name.rpartition(".")
    return stem if stem and suffix.lower() in _MEDIA else name


def _forms(name: str) -> tuple[str, ...]:
    """A name as it is, without suffixes, and both in small letters."""
    plain = unicodedata.normalize("NFC", name)
    forms = (plain, *_shorter(plain))
    return tuple(dict.fromkeys((*forms, *map(str.casefold, forms))))


def _shorter(name: str) -> Iterator[str]:
    """Without one suffix, then without two: `a.mp4.csv` is of `a.mp4` or of `a`."""
    stem, _, suffix = name.rpartition(".")
    while stem and suffix.lower() in _ADDED:
        yield stem
        stem, _, suffix = stem.rpartition(".")


def _keys(videos: Sequence[str], files: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Every form of every video's name; a form that several videos share has them all."""
    keys: dict[str, tuple[str, ...]] = {}
    for name, video in (*zip(videos, videos, strict=True), *files.items()):
        for form in _forms(name):
            keys[form] = tuple(dict.fromkeys((*keys.get(form, ()), video)))
    exact = {unicodedata.normalize("NFC", video): (video,) for video in videos}
    return keys | exact


def _unmatched(
    name: str, wanted: str, matches: Sequence[str], videos: Sequence[str], where: str
) -> LabelError:
    if matches:
        return LabelError(
            f"video {name!r} can be {' or '.join(matches)}",
            where=where,
            remedy="say which in a table with --names",
        )
    near = get_close_matches(wanted, videos, n=3, cutoff=0.4)
    shown = f"nearest are {', '.join(near)}" if near else f"videos are {', '.join(videos[:5])}"
    remedy = f"{shown}; rename it, or give a table with --names"
    return LabelError(
        f"video {name!r} is not among the {len(videos)} videos",
        where=where,
        remedy=remedy if videos else "add videos first",
    )
