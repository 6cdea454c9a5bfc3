"""Annotation files to records of a project's videos: matched by name, with the rules applied."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from uvast.data.spec import read_spec
from uvast.errors import LabelError, UnknownVideoError, counted
from uvast.exchange.files import find_sources, several_paths
from uvast.exchange.formats import read, recognised
from uvast.exchange.frame_times import ConstantRate
from uvast.exchange.names import as_uploaded, match_videos
from uvast.exchange.records import Span, merged
from uvast.exchange.rules import Ruled, Rules
from uvast.exchange.source import Source
from uvast.exchange.video_paths import file_name
from uvast.files import read_bytes
from uvast.projects.exports import exported_names
from uvast.projects.video_times import times_by_name
from uvast.vocabulary import BACKGROUND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from uvast.exchange.formats import Format
    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.records import VideoAnnotations
    from uvast.exchange.rules import Gaps
    from uvast.projects.project import Project

_ANY_RATE = ConstantRate(Fraction(25))
"""Stands in for the frame times of videos that are left out."""
_N_SHOWN = 5


@dataclass(frozen=True)
class HowToRead:
    """How annotation files are read.

    Args:
        kind: their format; None to recognise it by the content.
        rate: frames a second, where files count frames; None uses the videos' own frames.
        videos: name in the files to video, for what cannot be guessed; an empty one leaves it out.
        rules: which events are kept, and their names. `import_labels` handles overlaps.
        gaps: whether the time between intervals counts as observed background or as unknown.
        background: what the files call the background; None for the project's name.
        skip_unknown: whether videos that the project does not have are left out; else an error.
    """

    kind: Format | None = None
    rate: Fraction | None = None
    videos: Mapping[str, str] | None = None
    rules: Rules = field(default_factory=Rules)
    gaps: Gaps = "background"
    background: str | None = None
    skip_unknown: bool = False


@dataclass(frozen=True)
class Incoming:
    """What annotation files say about a project's videos.

    Args:
        videos: one record per video with events, under its name in the project.
        files: the files that were read.
        notes: what was left out or changed, one sentence each.
    """

    videos: tuple[VideoAnnotations, ...]
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def read_incoming(project: Project, sources: Sequence[Path], how: HowToRead) -> Incoming:
    """Reads files and folders of annotations for a project; writes nothing.

    A name in a file matches a video by the table, by its folder, exactly, or without a file suffix;
    for a name that matches none, the error lists the nearest ones.
    """
    files = tuple(dict.fromkeys(file for source in sources for file in find_sources(source)))
    times_of = times_by_name(project, how.rate)
    names = _Names(project, how.videos or {}, skip_unknown=how.skip_unknown)
    found: list[VideoAnnotations] = []
    notes: list[str] = []
    for file in files:
        paths: dict[str, str] = {}  # filled in by the reader, which asks for frames meanwhile

        def frames(
            name: str, paths: dict[str, str] = paths, place: str = str(file)
        ) -> FrameTimes | None:
            video = names.video(name, paths, place)
            return _ANY_RATE if video is None else times_of(video)

        source = Source(read_bytes(file), str(file), frames, paths)
        reading = read(how.kind or recognised(source), source)
        notes += [f"{file.name}: {warning}" for warning in reading.warnings]
        records = {
            record.video: names.video(record.video, paths, str(file)) for record in reading.videos
        }
        names.check_apart(records, source)
        for record in reading.videos:
            name = records[record.video]
            if name is not None:
                # rate and length come from the video, whatever the file says
                found.append(replace(record, video=name, frame_rate=None, duration=None))
    notes += [f"the table of names lists {name!r}, which is in no file" for name in names.unused]
    notes += names.at_several_paths
    notes += names.left_out
    ruled = _ruled(merged(found), how, _background(project))
    return Incoming(ruled.videos, files, (*notes, *ruled.notes, *_too_late(project, ruled.videos)))


def _ruled(videos: Sequence[VideoAnnotations], how: HowToRead, background: str) -> Ruled:
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
    return Ruled(kept, tuple(notes))


def _only_intervals(video: VideoAnnotations) -> VideoAnnotations:
    spans = tuple(Span(event.start, event.stop) for event in video.intervals)
    return replace(video, observed=spans) if spans else video


def _too_late(project: Project, videos: Sequence[VideoAnnotations]) -> list[str]:
    """Notes on annotations after a video's end, often a sign of a wrong frame rate or video."""
    notes = []
    for video in videos:
        end = project.video(video.video).seconds
        if not end:  # unknown
            continue
        n_late = sum(event.start > end for event in video.events)
        if n_late:
            notes.append(
                f"{video.video}: {counted(n_late, 'annotation')} after its end ({end:g} s)"
            )
        # labels often run a little over: tools count differently
        n_over = sum(event.start <= end and event.stop > 1.02 * end + 1 for event in video.events)
        if n_over:
            notes.append(
                f"{video.video}: {counted(n_over, 'annotation')} running past its end ({end:g} s)"
            )
    return notes


def _background(project: Project) -> str:
    return (read_spec(project.path).background or (BACKGROUND,))[0]


class _Names:
    """Which video a name in a file means; each is looked up once.

    Args:
        project: whose videos.
        table: name in the files to video; an empty one leaves it out.
        skip_unknown: whether names that no video has are left out, too.
    """

    def __init__(
        self, project: Project, table: Mapping[str, str], *, skip_unknown: bool = False
    ) -> None:
        self._videos = project.names
        self._files = exported_names(project)
        self._table = table
        self._skip_unknown = skip_unknown
        self._left_out: dict[str, list[str]] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        self._uploads: dict[tuple[str, str], tuple[str, str]] = {}

    def video(self, name: str, paths: Mapping[str, str], place: str) -> str | None:
        """The video, or None if it is left out; `paths` and `place` are its `Source`'s."""
        key = name, paths.get(name, name)
        if key not in self._found:
            self._found[key] = self._match(name, paths, place)
        return self._found[key]

    def check_apart(self, found: Mapping[str, str | None], source: Source) -> None:
        """Refuses to read two videos of a file as one, unless the table says so.

        Two uploads to Label Studio are two videos in different files, too.
        """
        taken: dict[tuple[str, str], tuple[str, str]] = {}
        for name, video in found.items():
            if video is None or not self._table.keys().isdisjoint((name, source.paths.get(name))):
                continue
            called = as_uploaded(file_name(name), source.paths.get(name, name))
            seen = (taken,) if called == file_name(name) else (taken, self._uploads)
            for known in seen:
                other, place = known.setdefault((called, video), (name, source.place))
                if other != name:
                    there = "" if place == source.place else f" in {place}"
                    raise source.fault(
                        f"two videos are called {called}, {other!r}{there} and {name!r}, "
                        f"and both can be {video}",
                        None,
                        "say which each is in a table with --names",
                    )

    @property
    def unused(self) -> list[str]:
        """Names in the table that no file has."""
        used = {name for key in self._found for name in key}
        return [name for name in self._table if name not in used]

    @property
    def at_several_paths(self) -> tuple[str, ...]:
        """Notes on videos that have different paths in different files."""
        items = self._found.items()
        return several_paths((v, path) for (name, path), v in items if v and path != name)

    @property
    def left_out(self) -> list[str]:
        """Notes on the videos in the files that are left out."""
        return [
            f"{counted(len(names), 'video')} left out, {reason}: {_some_of(names)}"
            for reason, names in self._left_out.items()
        ]

    def _match(self, name: str, paths: Mapping[str, str], place: str) -> str | None:
        path = paths.get(name, name)
        if self._table.get(path, self._table.get(name)) == "":
            self._leave_out(path, "as the table of names asks")
            return None
        try:
            found = match_videos(
                [name],
                self._videos,
                table=self._table,
                files=self._files,
                paths=paths,
                where=place,
            )
        except UnknownVideoError:
            if not self._skip_unknown:
                raise
            self._leave_out(path, "not in the project")
            return None
        return found[name]

    def _leave_out(self, path: str, reason: str) -> None:
        self._left_out.setdefault(reason, []).append(path)


def _some_of(names: Sequence[str]) -> str:
    """The names, or the first of many."""
    shown = ", ".join(names[:_N_SHOWN])
    return shown if len(names) <= _N_SHOWN else f"{shown} and {len(names) - _N_SHOWN} more"
