"""Files to a project's videos: which are new, which have moved, and their names."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data.video_names import listed_stems
from uvast.errors import ConfigError, CorruptFileError, UvastError
from uvast.features.tables import TABLE_SUFFIXES
from uvast.features.video_file import fingerprint, video_info
from uvast.files import checked, missing, unreadable
from uvast.files.kinds import VIDEO_SUFFIXES
from uvast.projects.videos import ProjectVideo, plain_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Linked:
    """The videos of a project after files were added.

    Args:
        videos: all of them.
        added: the names that are new.
        errors: one for each file that cannot be added.
    """

    videos: tuple[ProjectVideo, ...]
    added: tuple[str, ...] = ()
    errors: tuple[UvastError, ...] = ()


def found_files(source: Path, project: Path) -> list[Path]:
    """A file; or the videos in a folder and its subfolders, or its tables if it has no videos.

    Hidden files are left out, and so is the project itself if it is inside.
    """
    if not source.exists():
        raise missing(source)
    if not source.is_dir():
        return [source]
    own = project.resolve()
    files: list[Path] = []
    for folder, below, names in os.walk(source):
        here = Path(folder)
        below[:] = sorted(
            name for name in below if not name.startswith(".") and (here / name).resolve() != own
        )
        files += [here / name for name in sorted(names) if not name.startswith(".")]
    for suffixes in (VIDEO_SUFFIXES, TABLE_SUFFIXES):
        found = [file for file in files if file.suffix.lower() in suffixes and file.is_file()]
        if found:
            return found
    raise CorruptFileError(
        "holds no videos",
        where=source,
        remedy=f"name the files, or a folder of {' '.join(VIDEO_SUFFIXES)} files",
    )


def read_sources(
    sources: Sequence[Path], project: Path, on_progress: OnProgress | None
) -> tuple[list[ProjectVideo], list[UvastError]]:
    """Reads each file once; returns videos, named by their stems for now, and errors."""
    paths: dict[Path, None] = {}
    found: list[ProjectVideo] = []
    errors: list[UvastError] = []
    for source in sources:
        try:
            paths |= dict.fromkeys(file.absolute() for file in found_files(source, project))
        except UvastError as error:
            errors.append(error)
    files = tuple(paths)
    for number, file in enumerate(files, start=1):
        try:
            found.append(_head(file))
        except ConfigError:
            raise  # it would be the same for every video
        except UvastError as error:
            errors.append(error)
        except OSError as error:
            errors.append(unreadable(file, error))
        if on_progress is not None:
            on_progress(number, len(files))
    return found, errors


def unique_names(paths: Sequence[Path], taken: Collection[str]) -> list[str]:
    """A unique name for each path, even ignoring case.

    The stem; where stems are alike, with the folder in front: `a_clip`, `b_clip`.
    """
    names: list[str] = []
    used = {name.casefold() for name in taken}
    stems = Counter(plain_name(path.stem).casefold() for path in paths)
    for path in paths:
        parents = [part for part in path.parts[-2:0:-1] if plain_name(part)]
        stem = plain_name(path.stem) or "video"
        is_alone = stems[stem.casefold()] == 1
        chosen = stem if is_alone or not parents else f"{parents[0]}_{stem}"
        parents = parents if is_alone else parents[1:]
        while plain_name(chosen).casefold() in used and parents:
            chosen = f"{parents.pop(0)}_{chosen}"
        name, number = plain_name(chosen), 2
        while name.casefold() in used:
            name, number = plain_name(f"{chosen[:50]}_{number}"), number + 1
        used.add(name.casefold())
        names.append(name)
    return names


def link(before: Sequence[ProjectVideo], found: Sequence[ProjectVideo], features: Path) -> Linked:
    """Adds files to the videos of a project.

    A file is known by its content: if its link is broken, it gets the new path. What is known about
    it is renewed: an earlier version may have read another length. A video whose name matches
    features without a video belongs to them; other features stand for themselves.

    Args:
        before: the videos so far.
        found: files, named by their stems.
        features: the project's folder of feature files.
    """
    videos = {video.name: video for video in before}
    by_content = {_content(video): video.name for video in before}
    by_path = {video.path: video.name for video in before}
    new: dict[tuple[int, str], ProjectVideo] = {}  # the first of two copies
    errors: list[UvastError] = []
    for video in found:
        known = by_content.get(_content(video))
        if known is None and video.path in by_path:
            errors.append(_changed(video.path, by_path[video.path]))
        elif known is None:
            new.setdefault(_content(video), video)
        else:
            old = videos[known].path
            videos[known] = replace(video, name=known, path=old if old.is_file() else video.path)
    taken = [video.name for video in before if video.is_video or video.is_table]
    names = unique_names([video.path for video in new.values()], taken)
    videos |= {name: replace(one, name=name) for name, one in zip(names, new.values(), strict=True)}
    stems, _ = listed_stems(features, ".npy")
    folded = {name.casefold(): name for name in videos}
    bare: list[str] = []
    for stem in sorted(stems - videos.keys()):
        file = features.absolute() / f"{stem}.npy"
        other = folded.setdefault(stem.casefold(), stem)
        if other != stem:
            errors.append(_only_in_case(file, other))
        elif plain_name(stem) == stem:
            bare.append(stem)
            videos[stem] = _bare(file)
    return Linked(tuple(videos.values()), (*names, *bare), tuple(errors))


def _head(path: Path) -> ProjectVideo:
    if path.suffix.lower() in TABLE_SUFFIXES:
        if not path.is_file():
            raise missing(path)
        return _bare(path)
    return _checked(path, vars(video_info(path)))


def _bare(path: Path) -> ProjectVideo:
    """A file without pictures."""
    values = {"path": path, "n_bytes": path.stat().st_size, "fingerprint": fingerprint(path)}
    return _checked(path, values)


def _checked(path: Path, values: Mapping[str, object]) -> ProjectVideo:
    """A video that videos.json can store and read back; a container's header may be nonsense."""
    if str(path).encode(errors="ignore").decode() != str(path):
        what = "has a path that is not UTF-8 text"
        raise CorruptFileError(what, where=path, remedy="rename the file or its folder")
    named = {**values, "name": plain_name(path.stem) or "video"}
    return checked(named, ProjectVideo, where=path, remedy="convert it again or leave it out")


def _content(video: ProjectVideo) -> tuple[int, str]:
    return video.n_bytes, video.fingerprint


def _only_in_case(features: Path, name: str) -> CorruptFileError:
    """The error for features that macOS and Windows would take for another video's."""
    return CorruptFileError(
        f"differs from video {name} only in case", where=features, remedy="rename one of them"
    )


def _changed(path: Path, name: str) -> CorruptFileError:
    return CorruptFileError(
        f"is no longer the video that was added as {name}",
        where=path,
        remedy="restore it, or add the new one under another name",
    )
