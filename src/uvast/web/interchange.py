"""Imports and exports annotation files of other tools, in memory."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uvast.errors import InputError, LabelError, UvastError
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
from uvast.projects.exports import as_exported, exported_names
from uvast.projects.imports import joined
from uvast.web.classes import background_of
from uvast.web.page_words import page_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from uvast.exchange import Format, FrameTimes, Overlaps, VideoAnnotations
    from uvast.projects.imports import Existing
    from uvast.web.app import App
    from uvast.web.documents import Document


@dataclass(frozen=True)
class Incoming:
    """What a file says about the project's videos, and what of it could not be kept.

    Args:
        name: of the file.
        videos: one record per video that has events.
        notes: one sentence each.
    """

    name: str
    videos: tuple[VideoAnnotations, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Taken:
    """How many videos an import changed, and what was left out or changed on the way."""

    n_changed: int
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
    format_name: str | None,
    rate: str | None,
    video: str | None,
) -> Incoming:
    """Reads a file that somebody sent.

    Args:
        app: the project.
        content: of the file.
        name: of the file; it identifies the video in formats that name none.
        format_name: its format; None detects it from the content.
        rate: frames per second, if the file counts frames other than the video's own.
        video: the video it is about, if it is about one; None matches the names.
    """
    paths: dict[str, str] = {}  # filled in by the reader, which asks for frames meanwhile
    source = Source(content, name, _times(app, rate, video, paths), paths)
    kind = recognised(source) if format_name is None else format_named(format_name, "format")
    reading = read(kind, source)
    names = [one.video for one in reading.videos]
    if video is not None:
        if len(names) != 1:
            raise InputError(
                f"{name} has labels of {len(names)} videos", remedy="leave 'Video' as the file says"
            )
        matched = {names[0]: app.project.video(video).name}
    else:
        matched = match_videos(
            names,
            app.project.names,
            files=exported_names(app.project),
            paths=paths,
            where=name,
        )
    videos = [replace(one, video=matched[one.video]) for one in reading.videos]
    if len({one.video for one in videos}) < len(videos):
        raise InputError(f"{name} has one video twice", remedy="import one at a time")
    kept = tuple(one for one in videos if one.events)
    if not kept:
        raise LabelError("has no annotations to import", where=name, remedy="check the file")
    left = [f"{one.video}: has no annotations to import" for one in videos if not one.events]
    return Incoming(name, kept, (*map(page_words, reading.warnings), *left))


def take_in_labels(
    app: App,
    found: Incoming,
    author: str,
    *,
    seen: Mapping[str, Document],
    existing: Existing,
    overlaps: Overlaps,
) -> Taken:
    """Imports what a file says, as one change that can be undone.

    Args:
        app: the project.
        found: what the file says.
        author: who does it.
        seen: the documents when the author asked for it; see `Store.take_in`.
        existing: what happens to videos that have labels, see `uvast.projects.imports`.
        overlaps: which of several intervals at one time counts.
    """
    notes = list(found.notes)

    def wanted(before: VideoAnnotations, new: VideoAnnotations) -> VideoAnnotations:
        ruled = without_overlaps([joined(before, new, existing, found.name)], overlaps)
        notes.extend(ruled.notes)
        (video,) = ruled.videos
        native.check(video, Target(found.name))  # else the journal keeps what cannot be saved
        return video

    n_changed = app.store.take_in(found.videos, author, wanted, seen=seen)
    return Taken(n_changed, tuple(notes))


def outgoing(app: App, format_name: str, what: str, names: Sequence[str]) -> Outgoing:
    """Labels or predictions of videos in another tool's format; several files come as a zip."""
    kind = format_named(format_name, "format", to_write=True)
    videos = {name: one for name in names if (one := _said(app, name, what, kind)) is not None}
    if not videos:
        raise InputError(f"there are no {what} to export", remedy="label or segment a video first")
    suffix = kind.suffixes[0]
    stem = f"{app.project.path.resolve().name}-{what}"
    if "videos" in kind.holds or len(videos) == 1:
        stem = next(iter(videos)) if len(videos) == 1 else stem
        content, notes = _written(app, kind, list(videos.values()), f"{stem}{suffix}")
        return Outgoing(f"{stem}{suffix}", content, notes)
    packed = io.BytesIO()
    all_notes: dict[str, None] = {}
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, one in videos.items():
            content, notes = _written(app, kind, [one], f"{name}{suffix}")
            archive.writestr(f"{name}{suffix}", content)
            all_notes |= dict.fromkeys(notes)
    return Outgoing(f"{stem}.zip", packed.getvalue(), tuple(all_notes))


def _written(
    app: App, kind: Format, videos: Sequence[VideoAnnotations], place: str
) -> tuple[bytes, tuple[str, ...]]:
    background = background_of(app.store.classes)
    target = Target(place, _times(app), overlaps="first")
    if background:
        target = replace(target, background=background[0])
    written = write(kind, videos, target)
    return written.content, written.warnings


def _said(app: App, name: str, what: str, kind: Format) -> VideoAnnotations | None:
    video = app.project.video(name)
    found = app.store.document(name).annotations
    if what == "predictions":
        found = replace(found, events=app.predictions.events(name), observed=None)
    return as_exported(found, video, kind) if found.events else None


def _times(
    app: App,
    rate: str | None = None,
    video: str | None = None,
    paths: Mapping[str, str] | None = None,
) -> Callable[[str], FrameTimes | None]:
    """The frames that a file counts: those of the chosen video, else of the one it names.

    A given rate takes precedence; `paths` are those of the file's `Source`.
    """
    constant = None if rate is None else ConstantRate(parse_rate(rate, "rate"))
    chosen = None if video is None else app.project.video(video)

    def times_of(name: str) -> FrameTimes | None:
        if constant is not None:
            return constant
        if chosen is not None:
            return app.media.source_times(chosen)
        try:
            files = exported_names(app.project)
            matched = match_videos([name], app.project.names, files=files, paths=paths)[name]
        except UvastError:
            return None
        return app.media.source_times(app.project.video(matched))

    return times_of
