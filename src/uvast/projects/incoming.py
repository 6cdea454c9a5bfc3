"""Annotation files to the records of a project's videos: matched by name, after the rules."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from uvast.data.spec import read_spec
from uvast.errors import LabelError
from uvast.exchange.files import find_sources, read_annotations
from uvast.exchange.frame_times import ConstantRate
from uvast.exchange.names import match_videos
from uvast.exchange.records import Span, merged
from uvast.exchange.rules import BACKGROUND, Rules
from uvast.projects.exports import exported_names
from uvast.projects.video_times import times_by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from uvast.exchange.formats import Format
    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.records import VideoAnnotations
    from uvast.exchange.rules import Gaps
    from uvast.projects.project import Project

_ANY_RATE = ConstantRate(Fraction(25))
"""For the frames of videos that are left out."""


@dataclass(frozen=True)
class HowToRead:
    """How annotation files are read.

    Args:
        kind: their format; None to go by the content.
        rate: frames a second, where files count frames; None counts the frames of the videos.
        videos: name in the files to video, for what cannot be guessed; empty to leave it out.
        rules: which events, and what they are called. Overlaps are for `import_labels`.
        gaps: whether somebody looked at what lies between intervals.
        background: what the files call the background; None if as the project.
    """

    kind: Format | None = None
    rate: Fraction | None = None
    videos: Mapping[str, str] | None = None
    rules: Rules = field(default_factory=Rules)
    gaps: Gaps = "background"
    background: str | None = None


@dataclass(frozen=True)
class Incoming:
    """What annotation files say of a project's videos.

    Args:
        videos: one record a video that has events, by its name in the project.
        files: that were read.
        notes: what was left out or changed, one sentence each.
    """

    videos: tuple[VideoAnnotations, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def read_incoming(project: Project, sources: Sequence[Path], how: HowToRead) -> Incoming:
    """Reads files and folders of annotations for a project; writes nothing.

    A name in a file stands for a video by the table, exactly, or without the suffix of a file; a
    name that stands for none is an error with the nearest ones.
    """
    files = tuple(dict.fromkeys(file for source in sources for file in find_sources(source)))
    times_of = times_by_name(project, how.rate)
    names = _Names(project, how.videos or {})
    found: list[VideoAnnotations] = []
    notes: list[str] = []
    for file in files:

        def frames(name: str, file: Path = file) -> FrameTimes | None:
            video = names.video(name, file)
            return _ANY_RATE if video is None else times_of(video)

        reading = read_annotations(file, how.kind, times_of=frames)
        notes += reading.warnings
        for record in reading.videos:
            name = names.video(record.video, file)
            if name is not None:
                # rate and length are the video's own, whatever the file says
                found.append(replace(record, video=name, frame_rate=None, duration=None))
    notes += [f"the table of names has {name!r}, which no file has" for name in names.unused]
    if names.n_left_out:
        notes.append(f"{names.n_left_out} videos are left out: the table names no video for them")
    ruled = _ruled(merged(found), how, _background(project))
    return Incoming(ruled.videos, files, (*notes, *ruled.notes, *_too_late(project, ruled.videos)))


@dataclass(frozen=True)
class _Ruled:
    videos: tuple[VideoAnnotations, ...]
    notes: tuple[str, ...]


def _ruled(videos: Sequence[VideoAnnotations], how: HowToRead, background: str) -> _Ruled:
    done = replace(how.rules, overlaps=None).apply(videos)
    notes = list(done.notes)
    if how.background is not None and how.background != background:
        done = Rules(names={how.background: background}).apply(done.videos)
        notes += done.notes or [f"{how.background!r} is called {background!r} in this project"]
    kept = tuple(video for video in done.videos if video.events)
    notes += [f"{v.video}: has no annotations to import" for v in done.videos if not v.events]
    if how.gaps == "unknown":
        kept = tuple(map(_only_intervals, kept))
        notes.append("only what lies inside intervals counts as labelled")
    if not kept:
        raise LabelError("there are no annotations to import", remedy="check the files and options")
    return _Ruled(kept, tuple(notes))


def _only_intervals(video: VideoAnnotations) -> VideoAnnotations:
    spans = tuple(Span(event.start, event.stop) for event in video.intervals)
    return replace(video, observed=spans) if spans else video


def _too_late(project: Project, videos: Sequence[VideoAnnotations]) -> list[str]:
    """Often the sign of a wrong frame rate or a wrong video."""
    notes = []
    for video in videos:
        end = project.video(video.video).seconds
        n_late = sum(event.start > end for event in video.events) if end else 0
        if n_late:
            notes.append(f"{video.video}: {n_late} annotations start after its end ({end:g} s)")
    return notes


def _background(project: Project) -> str:
    return (read_spec(project.path).background or (BACKGROUND,))[0]


class _Names:
    """Which video a name in a file stands for; each is looked for once.

    Args:
        project: whose videos.
        table: name in the files to video, empty to leave it out.
    """

    def __init__(self, project: Project, table: Mapping[str, str]) -> None:
        self._videos = project.names
        self._files = exported_names(project)
        self._table = table
        self._found: dict[str, str | None] = {}

    def video(self, name: str, file: Path) -> str | None:
        """None if the table leaves it out."""
        if name not in self._found:
            self._found[name] = self._match(name, file)
        return self._found[name]

    @property
    def unused(self) -> list[str]:
        """Names in the table that no file has."""
        return [name for name in self._table if name not in self._found]

    @property
    def n_left_out(self) -> int:
        """Videos in the files that the table leaves out."""
        return list(self._found.values()).count(None)

    def _match(self, name: str, file: Path) -> str | None:
        if self._table.get(name) == "":
            return None
        found = match_videos(
            [name], self._videos, table=self._table, files=self._files, where=str(file)
        )
        return found[name]
