"""BORIS projects (.boris): JSON with observations whose events toggle states on and off.

Parsed by hand: BORIS offers no library that reads them; typed records check what is used.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, Field

from uvast.exchange.boris_events import (
    Key,
    Observation,
    media_in_a_row,
    without_own_overlaps,
)
from uvast.exchange.clock import later_by_a_millisecond, read_time
from uvast.exchange.records import Span
from uvast.exchange.source import Reading, Written, counted
from uvast.exchange.video_paths import file_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange.records import Event, VideoAnnotations
    from uvast.exchange.source import Source, Target

_REMEDY = "save the project again with BORIS 7 or newer"
_PLAYERS = tuple(map(str, range(1, 9)))


class _Behavior(BaseModel):
    code: str
    type: str = "State event"


class _MediaInfo(BaseModel):
    length: dict[str, float] = {}
    fps: dict[str, float] = {}
    created: Annotated[dict[str, Any], Field(alias="media_creation_time")] = {}


class _Observation(BaseModel):
    file: dict[str, Any] | list[Any] = {}
    type: Literal["MEDIA", "LIVE", "IMAGES"] = "MEDIA"
    media_info: _MediaInfo = _MediaInfo()
    events: list[Annotated[list[Any], Field(min_length=3, max_length=12)]] = []
    interval: Annotated[list[float], Field(alias="observation time interval")] = []
    offset: Annotated[float, Field(alias="time offset", allow_inf_nan=False)] = 0.0
    from_creation: Annotated[bool, Field(alias="media_creation_date_as_offset")] = False


class _Project(BaseModel):
    behaviors_conf: dict[str, _Behavior]
    observations: dict[str, _Observation]


class _RawEvent(BaseModel):
    """An event's list with named fields; the ones BORIS appends after these are not used."""

    model_config = pydantic.ConfigDict(allow_inf_nan=False)
    time: float
    subject: str
    code: str
    modifier: str = ""
    comment: str = ""


def recognise(source: Source) -> bool:
    """Whether the file is JSON with BORIS's keys."""
    return source.head.lstrip()[:1] == "{" and '"behaviors_conf"' in source.text


def read(source: Source) -> Reading:
    """Reads the videos of all observations."""
    project = source.checked(_Project, source.json(), _REMEDY)
    types = {behavior.code: behavior.type for behavior in project.behaviors_conf.values()}
    found: list[VideoAnnotations] = []
    warnings: list[str] = []
    for name, observation in project.observations.items():
        if observation.type == "IMAGES":
            warnings.append(f"observation {name}: has pictures, not a video; it is left out")
            continue
        videos, told = _read_observation(source, name, observation, types)
        found += videos
        warnings += [f"observation {name}: {warning}" for warning in told]
    return Reading(source.by_video(found), counted(warnings))


def _read_observation(
    source: Source, name: str, raw: _Observation, types: dict[str, str]
) -> tuple[tuple[VideoAnnotations, ...], list[str]]:
    players = raw.file if isinstance(raw.file, dict) else {}
    paths = [str(path) for path in players.get("1") or []] or [name]
    start, end = (*raw.interval, 0.0, 0.0)[:2]
    collected = Observation(
        source,
        media_in_a_row(
            [p if file_name(p) else name for p in paths],
            [raw.media_info.length.get(p) for p in paths],
        ),
        frame_rate=raw.media_info.fps.get(paths[0]) or None,
        observed=Span(start, end) if end > start else None,
        offset=raw.offset,
    )
    if raw.from_creation and raw.events:
        collected.offset += _created(source, name, raw, paths)
    if any(players.get(player) for player in _PLAYERS[1:]):
        collected.warnings.append("only the first player's videos are used")
    for number, cells in enumerate(raw.events):
        spot = f"observation {name}, event {number + 1}"
        values = dict(zip(_RawEvent.model_fields, cells, strict=False))
        try:
            event = _RawEvent.model_validate(values)
        except pydantic.ValidationError:
            shown = json.dumps(cells, ensure_ascii=False)[:80]
            raise source.fault(f"{shown} is not an event", spot, _REMEDY) from None
        time = collected.on_time_line(spot, event.time)
        key = Key(event.subject, event.code, tuple(filter(None, event.modifier.split("|"))))
        kind = types.get(event.code)
        if kind is None:
            collected.warnings.append(
                f"{event.code!r} is not in the ethogram; it is read as points"
            )
        if kind is not None and kind.startswith("State"):
            collected.toggle(spot, key, time, event.comment)
        else:
            collected.point(spot, key, time, event.comment)
    return collected.videos(), collected.warnings


def _created(source: Source, name: str, raw: _Observation, paths: Sequence[str]) -> float:
    """When the only video was made; an option makes BORIS add this to the times."""
    dates = raw.media_info.created
    only = next(iter(dates.values())) if len(dates) == 1 else dates.get(paths[0])
    seconds = read_time(str(only))
    if len(paths) == 1 and seconds is not None:
        return seconds
    raise source.fault(
        "counts from the creation date of its video, but has several videos or no known date",
        f"observation {name}",
        "subtract the dates from the times in BORIS and turn that option off",
    )


def write(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes a project with one observation per video."""
    warnings: list[str] = []
    states = {event.label for video in videos for event in video.intervals}
    points = {event.label for video in videos for event in video.points}
    observations = {}
    for video in videos:
        events, told = without_own_overlaps(video)
        warnings += told
        if video.observed is not None and len(video.observed) > 1:
            warnings.append(
                f"{video.video}: BORIS holds only one observed span; it is written from the start "
                "of the first to the end of the last"
            )
        observations[video.video] = _observation(video, events, states)
    for label in sorted(states & points):
        warnings.append(
            f"{label!r} has intervals and points; its points are called {_as_point(label)!r}"
        )
    codes = [(label, "State event") for label in sorted(states)]
    codes += [(_as_point(p) if p in states else p, "Point event") for p in sorted(points)]
    subjects = sorted({event.tier for video in videos for event in video.events} - {""})
    project = {
        "time_format": "hh:mm:ss",
        "project_date": "1970-01-01T00:00:00",
        "project_name": "uvast",
        "project_description": "",
        "project_format_version": "7.0",
        "subjects_conf": {
            str(n): {"key": "", "name": name, "description": ""} for n, name in enumerate(subjects)
        },
        "behaviors_conf": {str(n): _behavior(code, kind) for n, (code, kind) in enumerate(codes)},
        "observations": observations,
        "behavioral_categories": [],
        "independent_variables": {},
        "coding_map": {},
        "behaviors_coding_map": [],
        "converters": {},
    }
    text = json.dumps(project, indent=1, ensure_ascii=False)
    return Written(text.encode(), counted(warnings))


def _as_point(label: str) -> str:
    return f"{label} (point)"


def _behavior(code: str, kind: str) -> dict[str, object]:
    return {
        "type": kind,
        "key": "",
        "code": code,
        "description": "",
        "category": "",
        "modifiers": "",
        "excluded": "",
        "coding map": "",
    }


def _observation(
    video: VideoAnnotations, events: Sequence[Event], states: set[str]
) -> dict[str, object]:
    rows: list[tuple[float, int, list[object]]] = []
    for event in events:
        modifier = "|".join(event.modifiers)
        code = _as_point(event.label) if event.is_point and event.label in states else event.label
        rows.append((event.start, 1, [event.tier, code, modifier, event.comment]))
        if not event.is_point:
            end = later_by_a_millisecond(event.start, event.stop)
            rows.append((end, 0, [event.tier, code, modifier, ""]))
    rows.sort(key=lambda row: (round(row[0], 3), row[1]))  # a stop before the next start
    spans = video.observed or ()
    name = video.video
    return {
        "file": {player: [name] if player == "1" else [] for player in _PLAYERS},
        "type": "MEDIA",
        "date": "1970-01-01T00:00:00",
        "description": "",
        "time offset": 0.0,
        "events": [[round(time, 3), *cells] for time, _, cells in rows],
        "observation time interval": [spans[0].start, spans[-1].end] if spans else [0, 0],
        "independent_variables": {},
        "media_info": {
            "length": {} if video.duration is None else {name: video.duration},
            "fps": {} if video.frame_rate is None else {name: video.frame_rate},
            "hasVideo": {name: True},
            "hasAudio": {name: False},
            "offset": {"1": 0.0},
        },
    }
