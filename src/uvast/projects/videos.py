"""`videos.json`: the videos of a project, linked by their paths, never copied or moved."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path  # noqa: TC003 (pydantic reads it)
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from uvast.errors import CorruptFileError
from uvast.exchange.records import one_line
from uvast.features.tables import TABLE_SUFFIXES
from uvast.files import read_record, write_json

if TYPE_CHECKING:
    from collections.abc import Sequence

VIDEOS_FILE = "videos.json"
_REMEDY = "restore it, or remove it and run uvast init again"
_MOST_BYTES = 240
"""Limit for names, so that file systems accept them with a suffix."""


def _plain(name: str) -> str:
    if plain_name(name) != name:
        raise ValueError("not a valid file name")
    return name


def _whole(path: Path) -> Path:
    if "\0" in str(path) or len(str(path)) > 10_000:
        raise ValueError("not a path")
    return path


@dataclass(frozen=True)
class ProjectVideo:
    """A video, or a table of poses in its place, without a known length or picture.

    Args:
        name: of its features, annotations and labels; unique in the project.
        path: the file, absolute.
        n_bytes: its size when it was added.
        fingerprint: of its content at that time, see `uvast.features.video_file.fingerprint`.
        seconds: its length, as far as the container knows.
        n_frames: its number of frames, as far as the container knows.
        frames_per_second: the nominal rate.
        codec: such as `h264`; None for a table.
        width: of the picture as it is shown, in pixels.
        height: of the picture as it is shown, in pixels.
        rotation: degrees counter-clockwise by which a player turns the stored picture.
    """

    name: Annotated[str, Field(max_length=1000), AfterValidator(_plain)]
    path: Annotated[Path, AfterValidator(_whole)]
    n_bytes: Annotated[int, Field(ge=0, le=2**60)]
    fingerprint: Annotated[str, Field(max_length=200)]
    seconds: Annotated[float, Field(ge=0, le=1e9)] | None = None
    n_frames: Annotated[int, Field(ge=0, le=2**48)] | None = None
    frames_per_second: Annotated[float, Field(gt=0, le=100_000)] | None = None
    codec: Annotated[str, Field(max_length=200)] | None = None
    width: Annotated[int, Field(ge=1, le=10**6)] | None = None
    height: Annotated[int, Field(ge=1, le=10**6)] | None = None
    rotation: Literal[0, 90, 180, 270] = 0

    @property
    def is_video(self) -> bool:
        """Whether it has pictures."""
        return self.codec is not None

    @property
    def is_table(self) -> bool:
        """Whether it is a file of poses or other numbers, one row per frame."""
        return not self.is_video and self.path.suffix.lower() in TABLE_SUFFIXES


@dataclass(frozen=True)
class _VideosFile:
    format: Literal["uvast project"]
    version: Literal[1]
    videos: Annotated[tuple[ProjectVideo, ...], Field(max_length=1_000_000)]


def read_videos(project: Path) -> tuple[ProjectVideo, ...]:
    """Reads a project's videos, with absolute paths."""
    path = project / VIDEOS_FILE
    videos = read_record(path, _VideosFile, remedy=_REMEDY).videos
    twice = [name for name, n in Counter(video.name for video in videos).items() if n > 1]
    if twice:
        raise CorruptFileError(f"names video {twice[0]} twice", where=path, remedy=_REMEDY)
    return tuple(replace(video, path=project.absolute() / video.path) for video in videos)


def write_videos(project: Path, videos: Sequence[ProjectVideo]) -> None:
    """Writes `videos.json`; videos inside the project have paths relative to it."""
    entries = [asdict(video) | {"path": _linked(video.path, project)} for video in videos]
    content = {"format": "uvast project", "version": 1, "videos": entries}
    write_json(project / VIDEOS_FILE, content)


def plain_name(text: str) -> str:
    """Text as a valid file name: on one line, without folders, not hidden, not too long."""
    text = one_line(text.replace("/", "_").replace("\\", "_"))
    text = text.encode()[:_MOST_BYTES].decode(errors="ignore")
    return text.strip().lstrip(". ")


def _linked(path: Path, project: Path) -> str:
    inside = path.is_relative_to(project.absolute())
    return str(path.relative_to(project.absolute()) if inside else path)
