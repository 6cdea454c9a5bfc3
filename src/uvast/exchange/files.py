"""Reading and writing annotations on disk: one file, or a folder of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uvast.errors import ConfigError, LabelError
from uvast.exchange.csv_rows import rows_of
from uvast.exchange.formats import Format, format_for, read, recognised, write
from uvast.exchange.names import without_media_suffix
from uvast.exchange.records import merged
from uvast.exchange.source import Reading, Source
from uvast.files import check_absent, missing, read_bytes, write_bytes
from uvast.files.names import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.records import VideoAnnotations
    from uvast.exchange.source import Target

_PREDICTIONS = (".json", ".csv", ".txt")
"""Suffixes of the files `uvast segment` writes for each video, the most informative first."""


def find_sources(path: Path) -> tuple[Path, ...]:
    """A file, or the files of a folder sorted by name, without the hidden ones.

    A folder written by `uvast segment` gives one file per video.
    """
    if path.is_dir():
        found = (one for one in sorted(path.iterdir()) if one.is_file())
        files = tuple(one for one in found if not one.name.startswith("."))
        if any(one.name == MANIFEST for one in files):
            files = _predictions(files)
        if not files:
            raise LabelError("holds no files", where=path, remedy="give a folder of annotations")
        return files
    if not path.is_file():
        raise missing(path)
    return (path,)


def read_annotations(
    path: Path,
    kind: Format | None = None,
    *,
    times_of: Callable[[str], FrameTimes | None] | None = None,
) -> Reading:
    """Reads the annotations in a file or a folder of files.

    Args:
        path: a file, or a folder.
        kind: its format; None to recognise it by the content.
        times_of: the frame times of a video, for formats that count frames.
    """
    videos: list[VideoAnnotations] = []
    warnings: list[str] = []
    paths: list[tuple[str, str]] = []
    for file in find_sources(path):
        content = read_bytes(file)
        source = Source(content, str(file))
        if times_of is not None:
            source = replace(source, times_of=times_of)
        reading = read(kind or recognised(source), source)
        videos += reading.videos
        warnings += [f"{file.name}: {warning}" for warning in reading.warnings]
        paths += source.paths.items()
    return Reading(merged(videos), (*warnings, *several_paths(paths)))


def several_paths(found: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Warnings about videos that have different paths in different files.

    Annotators keep videos in different places, so this is no error; but they may be two videos.

    Args:
        found: videos and their paths.
    """
    paths: dict[str, dict[str, None]] = {}
    for video, path in found:
        paths.setdefault(video, {})[path] = None
    return tuple(
        f"{video}: the files say it is at {' and at '.join(list(its)[:2])}; it is read as one video"
        for video, its in paths.items()
        if len(its) > 1
    )


def write_annotations(
    path: Path,
    videos: Sequence[VideoAnnotations],
    kind: Format | None,
    target: Target,
    *,
    overwrite: bool = False,
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Writes records to a file, or to a folder with one file per video.

    A format that holds one video per file is written to a folder if there are several videos.

    Returns:
        the files, and what the format could not hold.
    """
    if not videos:
        raise LabelError("there are no videos to write", remedy="check the input")
    if kind is None:
        if path.is_dir() or not path.suffix:
            raise ConfigError(
                "has no suffix that shows its format", where=path, remedy="name it with --to"
            )
        kind = format_for(path)
    single = "videos" in kind.holds or (len(videos) == 1 and not path.is_dir() and path.suffix)
    groups = {path: list(videos)} if single else _by_video(path, videos, kind)
    if not overwrite:
        check_absent(*groups)
    warnings: dict[str, None] = {}
    contents = {}
    for file, group in groups.items():
        written = write(kind, group, replace(target, place=str(file)))
        contents[file] = written.content
        warnings |= dict.fromkeys(written.warnings)
    for file, content in contents.items():
        write_bytes(file, content)
    return tuple(contents), tuple(warnings)


def read_pairs(path: Path) -> dict[str, str]:
    """Reads a mapping file: columns `old,new` split by comma, semicolon or tab; `#` starts a note.

    A first row `from,to` is a header. Without a second cell the name is empty.
    """
    source = Source(read_bytes(path), str(path))
    found: dict[str, str] = {}
    for row in rows_of(source):
        cells = [*row.cells, ""]
        if cells[0].startswith("#") or (
            not found and [c.lower() for c in cells[:2]] == ["from", "to"]
        ):
            continue
        if len(row.cells) > 2 and any(row.cells[2:]):
            raise source.fault("has more than two columns", row.spot, "write lines 'old,new'")
        if found.setdefault(cells[0], cells[1]) != cells[1]:
            raise source.fault(
                f"{cells[0]!r} gets two names, {found[cells[0]]!r} and {cells[1]!r}", row.spot
            )
    return found


def _predictions(files: Sequence[Path]) -> tuple[Path, ...]:
    own = [one for one in files if one.suffix in _PREDICTIONS and one.name != MANIFEST]
    best: dict[str, Path] = {}
    for one in sorted(own, key=lambda file: _PREDICTIONS.index(file.suffix)):
        best.setdefault(one.stem, one)
    return tuple(sorted(best.values()))


def _by_video(
    folder: Path, videos: Sequence[VideoAnnotations], kind: Format
) -> dict[Path, list[VideoAnnotations]]:
    if folder.is_file() or (folder.suffix in kind.suffixes and len(videos) > 1):
        raise ConfigError(
            f"{kind.title} holds one video per file, but there are {len(videos)}",
            where=folder,
            remedy="give a folder",
        )
    groups: dict[Path, list[VideoAnnotations]] = {}
    for video in videos:
        name = video.video.replace("/", "_").replace("\\", "_")
        file = folder / f"{without_media_suffix(name)}{kind.suffixes[0]}"
        if file in groups:
            raise LabelError(
                f"videos {groups[file][0].video} and {video.video} would be written to one file",
                where=file,
                remedy="rename one of them",
            )
        groups[file] = [video]
    return groups
