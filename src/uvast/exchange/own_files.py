"""uvast's other files, read only: `timestamps.json`, and predictions of `uvast segment`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from uvast.exchange.frame_times import middles
from uvast.exchange.records import Span, VideoAnnotations
from uvast.exchange.source import Reading

if TYPE_CHECKING:
    from uvast.exchange.records import Event
    from uvast.exchange.source import Source

_TIMESTAMPS_FORM = 'write timestamps as in {"video": [{"frame": 12, "label": "a"}]}'
_AGAIN = "predict the video again"

_FIRST_TIMESTAMP = re.compile(
    r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*(?:\{\s*"(?:frame|time|label)"\s*:|\])'
)

Frame = Annotated[int, Field(ge=0, le=10**9)]
Time = Annotated[float, Field(ge=0, le=1e9)]
Label = Annotated[str, Field(min_length=1, max_length=10_000)]


class _Record(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False, strict=True)


class _Timestamp(_Record):
    frame: Frame | None = None
    time: Time | None = None
    label: Label | None = None


class _Timestamps(_Record):
    videos: dict[str, list[_Timestamp]]


class _Segment(_Record):
    label: Label
    start: Frame
    end: Frame
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    start_seconds: Time | None = None
    end_seconds: Time | None = None


class _Prediction(_Record):
    video: Annotated[str, Field(min_length=1, max_length=10_000)]
    segments: list[_Segment]
    frames_per_second: Annotated[float, Field(gt=0, le=1e6)] | None = None


def recognise_timestamps(source: Source) -> bool:
    """Whether the file is a JSON object of lists of frames or times."""
    return _FIRST_TIMESTAMP.match(source.head) is not None


def read_timestamps(source: Source) -> Reading:
    """Reads one point per timestamp, in the middle of its frame."""
    videos = source.checked(_Timestamps, {"videos": source.json()}, _TIMESTAMPS_FORM).videos
    found = []
    for name, entries in videos.items():
        video = name.removesuffix(".txt")
        events = tuple(
            _point(source, video, entry, f"video {video}, timestamp {number}")
            for number, entry in enumerate(entries, start=1)
        )
        found.append(VideoAnnotations(video, events))
    return Reading(tuple(found))


def recognise_prediction(source: Source) -> bool:
    """Whether the file is a JSON object with a transcript and segments."""
    keys = ('"transcript"', '"segments"')
    return source.head.lstrip()[:1] == "{" and all(key in source.text for key in keys)


def read_prediction(source: Source) -> Reading:
    """Reads one video's segments with their confidences; all of it counts as observed."""
    found = source.checked(_Prediction, source.json(), _AGAIN)
    if not found.segments:
        raise source.fault(
            "holds no segments, at most a bare transcript",
            None,
            "predict the video with --durations other than none",
        )
    rate = found.frames_per_second
    events = tuple(
        _interval(source, found, one, f"segment {number}")
        for number, one in enumerate(found.segments, start=1)
    )
    end = max(event.stop for event in events)
    video = VideoAnnotations(
        found.video, events, observed=(Span(0.0, end),), frame_rate=rate, duration=end
    )
    return Reading((video,))


def _point(source: Source, video: str, entry: _Timestamp, spot: str) -> Event:
    if entry.label is None:
        raise source.fault("has no label", spot, "name it")
    if entry.frame is None and entry.time is not None:
        return source.event(spot, entry.label, entry.time)
    if entry.frame is None or entry.time is not None:
        raise source.fault("needs either a frame or a time", spot, _TIMESTAMPS_FORM)
    return source.event(spot, entry.label, float(middles(source.times(video), entry.frame)))


def _interval(source: Source, found: _Prediction, one: _Segment, spot: str) -> Event:
    if one.start_seconds is not None and one.end_seconds is not None:
        start, end = one.start_seconds, one.end_seconds
    else:
        times = source.times(found.video, found.frames_per_second)
        start, end = times.edges([one.start, one.end]).tolist()
    return source.event(spot, one.label, start, end, confidence=one.confidence)
