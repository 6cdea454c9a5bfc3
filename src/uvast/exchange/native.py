"""uvast's own JSON, in which projects keep annotations: it holds everything a record does."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from uvast.errors import InputError
from uvast.exchange.records import Event, Span, VideoAnnotations
from uvast.exchange.source import MAX_BYTES, Reading, Written, too_large

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange.source import Source, Target

VERSION = 1
_MARK = "uvast annotations"
_REMEDY = "restore it, or write it again with uvast convert"

Text = Annotated[str, Field(max_length=10_000)]
Time = Annotated[float, Field(ge=0, le=1e9)]


_FROM_START = "times count seconds from the video's start; correct them"
_SAID = {
    "video": ("name", "shorten it"),
    "start": ("start", _FROM_START),
    "end": ("end", _FROM_START),
    "observed": ("observed span", _FROM_START),
}
"""What errors call a field, and the remedy; other fields keep their name and should be shorter."""


class _Record(BaseModel):
    """What a file may hold; writing has the same limits, so whatever is written can be read."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, from_attributes=True)


class _Event(_Record):
    label: Annotated[Text, Field(min_length=1)]
    start: Time
    end: Time | None = None
    tier: Text = ""
    modifiers: Annotated[list[Text], Field(max_length=100)] = []
    annotator: Text = ""
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    comment: Text = ""


class _Video(_Record):
    video: Annotated[Text, Field(min_length=1)]
    events: Annotated[list[_Event], Field(max_length=10_000_000)] = []
    observed: list[tuple[Time, Time]] | None = None
    frame_rate: Annotated[float, Field(gt=0)] | None = None
    duration: Annotated[float, Field(gt=0)] | None = None


class _File(_Record):
    format: Literal["uvast annotations"]
    version: Literal[1]
    videos: list[_Video]


def recognise(source: Source) -> bool:
    """Whether the file carries uvast's mark."""
    return source.head.lstrip()[:1] == "{" and f'"{_MARK}"' in source.head


def read(source: Source) -> Reading:
    """Reads all videos."""
    value = source.json()
    if isinstance(value, dict) and value.get("format") == _MARK and value.get("version") != VERSION:
        raise source.fault(
            f"has version {value.get('version')!r}, but this uvast reads {VERSION}",
            None,
            "install a newer uvast",
        )
    found = []
    for video in source.checked(_File, value, _REMEDY).videos:
        spans = None if video.observed is None else tuple(Span(*one) for one in video.observed)
        events = tuple(
            source.event(f"video {video.video}, event {number}", **dict(event))
            for number, event in enumerate(video.events, start=1)
        )
        try:
            found.append(
                VideoAnnotations(video.video, events, spans, video.frame_rate, video.duration)
            )
        except InputError as error:
            raise source.fault(error.what, f"video {video.video}", error.remedy) from None
    return Reading(tuple(found))


def check(video: VideoAnnotations, target: Target) -> None:
    """Refuses what no file may hold: endless texts, or times after decades."""
    try:
        _Video.model_validate(video)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    else:
        return
    spot, (field, *rest) = f"video {video.video[:100]}", first["loc"]
    if field == "events" and rest:
        event = video.events[int(rest[0])]
        spot += f", {event.label[:60]!r} at {event.start:g} s"
        field = rest[1]
    name, remedy = _SAID.get(str(field), (field, "shorten it"))
    said = first["msg"].partition(" ")[2]  # of 'String should have at most …'
    raise target.fault(f"{spot}: its {name} {said}", remedy)


def write(videos: Sequence[VideoAnnotations], target: Target) -> Written:
    """Writes one event per line, so that files compare well."""
    parts = []
    for video in videos:
        check(video, target)
        events = ",\n".join(f"    {_filled(event)}" for event in video.events)
        about = _filled(video, leave_out=("events",))
        parts.append(f'  {about[:-1]}, "events": [\n{events}\n  ]}}')
    body = ",\n".join(parts)
    text = f'{{"format": "{_MARK}", "version": {VERSION}, "videos": [\n{body}\n]}}\n'
    content = text.encode()
    if len(content) > MAX_BYTES:
        raise too_large(target.place)
    return Written(content)


def _filled(record: Event | VideoAnnotations, leave_out: tuple[str, ...] = ()) -> str:
    """The fields that differ from their defaults, as JSON."""
    values = {
        field.name: getattr(record, field.name)
        for field in fields(record)
        if field.name not in leave_out and getattr(record, field.name) != field.default
    }
    return json.dumps(values, ensure_ascii=False)
