"""Finds out which of a project's videos an annotation file means."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import takewhile
from typing import TYPE_CHECKING

from uvast.errors import LabelError, UnknownVideoError
from uvast.exchange.records import as_shown
from uvast.exchange.video_paths import file_name, parts_of
from uvast.files.kinds import VIDEO_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_MEDIA = frozenset(suffix[1:] for suffix in VIDEO_SUFFIXES) | frozenset(
    ("divx", "dv", "f4v", "h264", "m2v", "mp3", "seq", "wav")
)
_ADDED = _MEDIA | frozenset(
    ("annot", "anvil", "boris", "csv", "eaf", "h5", "hdf5", "json", "npy", "opf", "parquet", "srt",
     "tsv", "txt", "vtt", "xlsx", "xml")
)  # fmt: skip
"""Suffixes of videos, tables and annotation files; after any other dot, the name goes on."""


_UPLOADED = re.compile(r"^[0-9a-f]{8}-")
"""What Label Studio puts before the name of an uploaded file."""


def match_videos(
    names: Iterable[str],
    videos: Sequence[str],
    *,
    table: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    paths: Mapping[str, str] | None = None,
    where: str = "annotations",
) -> dict[str, str]:
    """The video that each name in annotation files stands for.

    A name matches by the table, else by the folders where several videos share a file name, else
    exactly, else without the suffix of a video or annotation file, else ignoring case, else under
    the name that its file had before it was uploaded to Label Studio.

    Args:
        names: as in the annotation files; with folders if two of their videos share a name.
        videos: the names of all videos.
        table: name or full path in the files to video, for what cannot be guessed.
        files: file to video, for unknown suffixes; files with folders show where the videos are.
        paths: name to full path in the annotation files, where they give it.
        where: what an error calls the files.

    Raises:
        UnknownVideoError: no video is meant; a `LabelError` if several may be.
    """
    table, files, paths = table or {}, files or {}, paths or {}
    keys = _keys(videos, files)
    found = {}
    for name in names:
        path = paths.get(name, name)
        said = table.get(path, table.get(name))
        wanted = name if said is None else said
        forms = (*_forms(wanted), *_forms(as_uploaded(wanted, path)))
        matches = next((hits for key in forms if (hits := keys.get(key, ()))), ())
        if said is None and not ("/" in name and matches):
            by_folder = _by_folder(name, path, files)
            matches = matches if by_folder is None else by_folder
        if len(matches) != 1:
            raise _unmatched(path if matches else name, wanted, matches, videos, where)
        found[name] = matches[0]
    return found


def _by_folder(name: str, path: str, files: Mapping[str, str]) -> tuple[str, ...] | None:
    """The videos whose files are in folders of the same names; None if the folders do not help.

    All folders in a name have to match, since another video in the annotation file has the same
    file name. In a path the outer ones may differ: the annotator's disk was another.
    """
    wanted = _folded_parts(path)
    if len(wanted) < 2:
        return None
    alike = [(_folded_parts(file), video) for file, video in files.items()]
    alike = [(parts, video) for parts, video in alike if len(parts) > 1 and parts[0] == wanted[0]]
    shared = {video: _n_shared(parts, wanted) for parts, video in alike}
    n_needed = len(_folded_parts(name))
    if n_needed > 1:
        return tuple(video for video, n in shared.items() if n >= n_needed)
    most = max(shared.values(), default=0)
    if most > 1:
        return tuple(video for video, n in shared.items() if n == most)
    return tuple(shared) if len(shared) > 1 else None


def _folded_parts(path: str) -> tuple[str, ...]:
    """The file name without its suffix, then the folders from the innermost out, in lower case."""
    *folders, name = parts_of(as_shown(path).casefold())
    return without_media_suffix(name), *reversed(folders)


def _n_shared(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def without_media_suffix(name: str) -> str:
    """The name of a video without the suffix of its file."""
    stem, _, suffix = name.rpartition(".")
    return stem if stem and suffix.lower() in _MEDIA else name


def _forms(name: str) -> tuple[str, ...]:
    """A name unchanged, without suffixes, and each of these in lower case."""
    plain = as_shown(name)
    forms = (name, plain, *_shorter(plain))
    return tuple(dict.fromkeys((*forms, *map(str.casefold, forms))))


def as_uploaded(name: str, path: str) -> str:
    """The name that a file uploaded to Label Studio had before; else the name unchanged."""
    *_, folder, _project, _file = ("", "", *parts_of(path))
    return _UPLOADED.sub("", name) if folder == "upload" else name


def _shorter(name: str) -> Iterator[str]:
    """A name without one suffix, then without two: `a.mp4.csv` may mean `a.mp4` or `a`."""
    stem, _, suffix = name.rpartition(".")
    while stem and suffix.lower() in _ADDED:
        yield stem
        stem, _, suffix = stem.rpartition(".")


def _keys(videos: Sequence[str], files: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Every form of every video's name, and the videos it may mean."""
    keys: dict[str, tuple[str, ...]] = {}
    for name, video in (*zip(videos, videos, strict=True), *files.items()):
        for form in _forms(name):
            keys[form] = tuple(dict.fromkeys((*keys.get(form, ()), video)))
    shown: dict[str, tuple[str, ...]] = {}
    for video in videos:
        shown[as_shown(video)] = (*shown.get(as_shown(video), ()), video)
    return keys | shown | {video: (video,) for video in videos}


def _unmatched(
    name: str, wanted: str, matches: Sequence[str], videos: Sequence[str], where: str
) -> LabelError:
    if matches:
        return LabelError(
            f"video {name!r} can be {' or '.join(matches)}",
            where=where,
            remedy="say which in a table with --names",
        )
    if "/" in name and name == wanted:
        return LabelError(
            f"two videos are called {file_name(name)}, and no video is {name!r}",
            where=where,
            remedy=f"give a table with --names, with a line '{name},VIDEO' for each",
        )
    near = get_close_matches(wanted, videos, n=3, cutoff=0.4)
    shown = (
        f"the nearest are {', '.join(near)}" if near else f"the videos are {', '.join(videos[:5])}"
    )
    remedy = f"{shown}; rename it, leave it out with --skip-unknown, or give a table with --names"
    return UnknownVideoError(
        f"video {name!r} is not among the {len(videos)} videos",
        where=where,
        remedy=remedy if videos else "add videos first",
    )
