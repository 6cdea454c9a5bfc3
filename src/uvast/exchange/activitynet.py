"""ActivityNet JSON and its dialects: `database`, mmaction2's bare videos, `results` with scores.

Parsed by hand with typed records: the JSON has only four fields.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, Written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange.source import Source, Target

_REMEDY = 'write {"database": {"VIDEO": {"annotations": [{"segment": [0.5, 2], "label": "cut"}]}}}'


class _Record(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)


class _Annotation(_Record):
    segment: Annotated[list[float], Field(min_length=2, max_length=2)]
    label: str
    score: Annotated[float, Field(ge=0, le=1)] | None = None


class _Video(_Record):
    annotations: list[_Annotation] = []
    duration: float | None = Field(
        None, validation_alias=AliasChoices("duration", "duration_second")
    )
    fps: float | None = None


class _Database(_Record):
    videos: dict[str, _Video]


def recognise(source: Source) -> bool:
    """Whether the file is a JSON object with segments."""
    return source.head.lstrip()[:1] == "{" and '"segment"' in source.text


def read(source: Source) -> Reading:
    """Reads all videos, whichever the dialect."""
    value = source.json()
    if not isinstance(value, dict):
        raise source.fault("is not a JSON object of videos", None, _REMEDY)
    if isinstance(value.get("results"), dict):
        videos: object = {name: {"annotations": one} for name, one in value["results"].items()}
    else:
        videos = value.get("database", value)
    found = source.checked(_Database, {"videos": videos}, _REMEDY).videos
    return Reading(tuple(_read_video(source, name, video) for name, video in found.items()))


def _read_video(source: Source, name: str, video: _Video) -> VideoAnnotations:
    events = tuple(
        source.event(
            f"video {name}, annotation {number}",
            one.label,
            one.segment[0],
            one.segment[1],
            confidence=one.score,
        )
        for number, one in enumerate(video.annotations, start=1)
    )
    return VideoAnnotations(name, events, frame_rate=video.fps, duration=video.duration)


def write(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes a `database`; an event's confidence becomes its annotation's `score`."""
    database = {
        video.video: _filled(duration=video.duration, fps=video.frame_rate) for video in videos
    }
    for video in videos:
        database[video.video]["annotations"] = [
            _filled(segment=[event.start, event.end], label=event.label, score=event.confidence)
            for event in video.intervals
        ]
    text = json.dumps({"version": "uvast", "database": database}, indent=1, ensure_ascii=False)
    return Written(f"{text}\n".encode())


def _filled(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
