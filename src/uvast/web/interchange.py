"""Annotation files of other tools into a project and out of it, in memory."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uvast.errors import InputError, UvastError
from uvast.exchange import (
    ConstantRate,
    Source,
    Target,
    format_named,
    match_videos,
    native,
    parse_rate,
    recognised,
    without_overlaps,
)
from uvast.exchange.formats import read, write
from uvast.projects.exports import exported_names
from uvast.web.classes import background_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from uvast.exchange import Format, FrameTimes, Overlaps, VideoAnnotations
    from uvast.web.app import App


@dataclass(frozen=True)
class Incoming:
    """What a file says of the project's videos, and what of it could not be kept."""

    videos: tuple[VideoAnnotations, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Outgoing:
    """A file to download, and what the format could not hold."""

    name: str
    content: bytes
    notes: tuple[str, ...]


def incoming(
    app: App,
    content: bytes,
    name: str,
    *,
    format_name: str | None = None,
    rate: str | None = None,
    overlaps: Overlaps = "error",
    video: str | None = None,
) -> Incoming:
    """Reads a file that somebody sent.

    Args:
        app: the project.
        content: of the file.
        name: of the file; formats that name no video go by it.
        format_name: its format; None goes by the content.
        rate: frames a second, where it counts frames and the video's own are not meant.
        overlaps: which of several intervals at one time counts.
        video: the video it is of, if it is of one; None goes by the names.
    """
    source = Source(content, name, _times(app, rate))
    kind = recognised(source) if format_name is None else format_named(format_name, "format")
    reading = read(kind, source)
    names = [one.video for one in reading.videos]
    if video is not None:
        if len(names) != 1:
            raise InputError(f"{name} is of {len(names)} videos", remedy="do not choose one")
        matched = {names[0]: app.project.video(video).name}
    else:
        matched = match_videos(
            names, app.project.names, files=exported_names(app.project), where=name
        )
    ruled = without_overlaps(reading.videos, overlaps)
    videos = tuple(replace(one, video=matched[one.video]) for one in ruled.videos)
    for one in videos:
        native.check(one, Target(name))  # a journal would keep what cannot be saved
    if len({one.video for one in videos}) < len(videos):
        raise InputError(f"{name} has one video twice", remedy="import one at a time")
    return Incoming(videos, (*reading.warnings, *ruled.notes))


def outgoing(app: App, format_name: str, what: str, names: Sequence[str]) -> Outgoing:
    """Labels or predictions of videos in another tool's format; several files come as a zip."""
    kind = format_named(format_name, "format")
    videos = [one for name in names if (one := _said(app, name, what)) is not None]
    if not videos:
        raise InputError(f"there are no {what} to export", remedy="label or segment a video first")
    suffix = kind.suffixes[0]
    stem = f"{app.project.path.resolve().name}-{what}"
    if "videos" in kind.holds or len(videos) == 1:
        stem = videos[0].video if len(videos) == 1 else stem
        content, notes = _written(app, kind, videos, f"{stem}{suffix}")
        return Outgoing(f"{stem}{suffix}", content, notes)
    packed = io.BytesIO()
    all_notes: dict[str, None] = {}
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in videos:
            content, notes = _written(app, kind, [one], f"{one.video}{suffix}")
            archive.writestr(f"{one.video}{suffix}", content)
            all_notes |= dict.fromkeys(notes)
    return Outgoing(f"{stem}.zip", packed.getvalue(), tuple(all_notes))


def _written(
    app: App, kind: Format, videos: Sequence[VideoAnnotations], place: str
) -> tuple[bytes, tuple[str, ...]]:
    background = background_of(app.store.classes)
    target = Target(place, _times(app, None), overlaps="first")
    if background:
        target = replace(target, background=background[0])
    written = write(kind, videos, target)
    return written.content, written.warnings


def _said(app: App, name: str, what: str) -> VideoAnnotations | None:
    video = app.project.video(name)
    found = app.store.document(name).annotations
    if what == "predictions":
        found = replace(found, events=app.predictions.events(name), observed=None)
    if not found.events:
        return None
    return replace(found, frame_rate=video.frames_per_second, duration=video.seconds or None)


def _times(app: App, rate: str | None) -> Callable[[str], FrameTimes | None]:
    """Frames of a file are those of the video; of another rate if one is given."""
    constant = None if rate is None else ConstantRate(parse_rate(rate, "rate"))

    def times_of(name: str) -> FrameTimes | None:
        if constant is not None:
            return constant
        try:
            files = exported_names(app.project)
            matched = match_videos([name], app.project.names, files=files)[name]
        except UvastError:
            return None
        return app.media.source_times(app.project.video(matched))

    return times_of
