"""The annotations of a project, as annotation files of other tools shall have them."""

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
    """All videos with annotations, by the names of their files.

    Rate and length are those of the videos, for formats that have a place for them.
    """
    found = []
    for video in project.videos:
        record = project.annotations(video.name)
        if record is None or not record.events:
            continue
        rate = video.frames_per_second if "frame_rate" in kind.holds else None
        length = (video.seconds or None) if "duration" in kind.holds else None
        found.append(replace(record, video=_file_name(video), frame_rate=rate, duration=length))
    if not found:
        raise LabelError(
            "has no annotations to export",
            where=project.path,
            remedy="label its videos, or import labels with uvast import",
        )
    return tuple(found)


def exported_times(
    project: Project, rate: Fraction | None = None
) -> Callable[[str], FrameTimes | None]:
    """The frame times of a video by the name it is exported under."""
    times_of = times_by_name(project, rate)
    names = exported_names(project)
    return lambda name: times_of(names[name])


def exported_names(project: Project) -> dict[str, str]:
    """The name that a video is exported under to its name in the project."""
    return {_file_name(video): video.name for video in project.videos}


def _file_name(video: ProjectVideo) -> str:
    """As other tools know it, and as an import finds it again."""
    return f"{video.name}{video.path.suffix}" if video.is_video else video.name
