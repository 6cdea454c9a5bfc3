"""A project's annotations, ready to be written for other tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uvast.errors import LabelError
from uvast.projects.video_times import times_by_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from uvast.exchange.formats import Format
    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.records import VideoAnnotations
    from uvast.projects.project import Project
    from uvast.projects.videos import ProjectVideo


def exported(project: Project, kind: Format) -> tuple[VideoAnnotations, ...]:
    """All videos with annotations; see `as_exported`."""
    found = []
    for video in project.videos:
        record = project.annotations(video.name)
        if record is None or not record.events:
            continue
        found.append(as_exported(record, video, kind))
    if not found:
        raise LabelError(
            "has no annotations to export",
            where=project.path,
            remedy="label its videos, or import labels with uvast import",
        )
    return tuple(found)


def as_exported(record: VideoAnnotations, video: ProjectVideo, kind: Format) -> VideoAnnotations:
    """A video's annotations, under the name of its file.

    Rate and length are the video's, for formats that can hold them.
    """
    rate = video.frames_per_second if "frame_rate" in kind.holds else None
    length = (video.seconds or None) if "duration" in kind.holds else None
    return replace(record, video=_file_name(video), frame_rate=rate, duration=length)


def exported_times(
    project: Project, rate: Fraction | None = None
) -> Callable[[str], FrameTimes | None]:
    """A function from the name a video is exported under to its frame times."""
    times_of = times_by_name(project, rate)
    names = exported_names(project)
    return lambda name: times_of(names[name])


def exported_names(project: Project) -> dict[str, str]:
    """Each video's exported name, and the path of its file, to its name in the project."""
    paths = {str(video.path): video.name for video in project.videos if video.is_video}
    return paths | {_file_name(video): video.name for video in project.videos}


def _file_name(video: ProjectVideo) -> str:
    """The name other tools use, which an import recognises again."""
    return f"{video.name}{video.path.suffix}" if video.is_video else video.name
