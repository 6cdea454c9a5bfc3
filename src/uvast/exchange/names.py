"""Which video of a project an annotation file means."""

from __future__ import annotations

import unicodedata
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from uvast.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def match_videos(
    names: Iterable[str],
    videos: Sequence[str],
    *,
    table: Mapping[str, str] | None = None,
    where: str = "annotations",
) -> dict[str, str]:
    """The video that each name in annotation files stands for.

    A name matches by the table, else exactly, else without its suffix, else without regard to
    upper and lower case.

    Args:
        names: as the annotation files have them.
        videos: the videos there are.
        table: name in the files to video, for what cannot be guessed.
        where: what an error calls the files.
    """
    table = table or {}
    keys = _keys(videos)
    found = {}
    for name in names:
        wanted = table.get(name, name)
        matches = next((hits for key in _forms(wanted) if (hits := keys.get(key, ()))), ())
        if len(matches) != 1:
            raise _unmatched(name, wanted, matches, videos, where)
        found[name] = matches[0]
    return found


def _forms(name: str) -> tuple[str, ...]:
    """A name as it is, without suffix, and both in small letters."""
    plain = unicodedata.normalize("NFC", name)
    stem = PurePosixPath(plain).stem
    return tuple(dict.fromkeys((plain, stem, plain.casefold(), stem.casefold())))


def _keys(videos: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Every form of every video's name; a form that several videos share has them all."""
    keys: dict[str, tuple[str, ...]] = {}
    for video in videos:
        for form in _forms(video):
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
