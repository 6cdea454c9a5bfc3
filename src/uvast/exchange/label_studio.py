"""Label Studio JSON: timeline labels in frames from 1, time series and audio labels in seconds.

Parsed by hand with typed records: the SDK's converter works one way only and pins numpy, pandas,
OpenCV and more. Annotations and predictions are both read; each has a writer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from uvast.exchange.clock import read_time
from uvast.exchange.frame_times import middles
from uvast.exchange.frames import rate_of
from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, Written, counted
from uvast.exchange.video_paths import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.exchange.records import Event
    from uvast.exchange.source import Source, Target

_REMEDY = "export it again from Label Studio as JSON"
_TIER = "timeline"
"""The control name used for events without a tier."""

_BY_SECONDS = {"timeserieslabels", "labels"}
Frame = Annotated[int, Field(ge=0, le=2**53)]


class _Record(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)


class _Range(_Record):
    start: Frame
    end: Frame


class _Value(_Record):
    ranges: list[_Range] = []
    start: float | None = None
    end: float | None = None
    instant: bool = False
    timelinelabels: list[str] = []
    timeserieslabels: list[str] = []
    labels: list[str] = []


class _Result(_Record):
    type: str = ""
    value: dict[str, Any] = {}
    from_name: str = ""
    score: Annotated[float, Field(ge=0, le=1)] | None = None


class _Labels(_Record):
    """An annotation or a prediction."""

    result: list[_Result] = []
    completed_by: int | dict[str, Any] | str | None = None
    model_version: str | None = None
    was_cancelled: bool = False


class _Task(_Record):
    id: int | str | None = None
    data: dict[str, Any] = {}
    annotations: list[_Labels] = []
    predictions: list[_Labels | int] = []
    """Label Studio's own exports give only their numbers."""
    file_upload: str | None = None


class _Export(_Record):
    tasks: list[_Task]


def recognise(source: Source) -> bool:
    """Whether the file is JSON of tasks with results, or of timelines."""
    text = source.text
    has_tasks = '"data"' in text and '"result"' in text
    return source.head.lstrip()[:1] in ("[", "{") and (has_tasks or '"timelinelabels"' in text)


def read(source: Source) -> Reading:
    """Reads the annotations of all tasks, or the predictions of a task without annotations."""
    value = source.json()
    values = [_full(one) for one in (value if isinstance(value, list) else [value])]
    tasks = source.checked(_Export, {"tasks": values}, _REMEDY)
    warnings: list[str] = []
    found: dict[str, VideoAnnotations] = {}
    paths = [_path_of(one) or f"{source.video}-{n}" for n, one in enumerate(tasks.tasks, start=1)]
    names = source.names_of(paths)
    for number, task in enumerate(tasks.tasks, start=1):
        spot = f"task {number if task.id is None else task.id}"
        video = names[paths[number - 1]]
        if video in found:
            raise source.fault(
                f"video {video} has more than one task", spot, "export it with one task per video"
            )
        kept = [one for one in task.annotations if not one.was_cancelled]
        if len(kept) < len(task.annotations):
            warnings.append(f"{spot}: a skipped annotation is left out")
        predictions = [one for one in task.predictions if isinstance(one, _Labels)]
        if kept and predictions:
            warnings.append(f"{spot}: predictions are left out, as there are annotations")
        found[video] = _read_task(source, spot, video, kept or predictions, task, warnings)
    return Reading(tuple(found.values()), counted(warnings))


def _full(task: object) -> object:
    """Turns a task of the JSON-MIN export, which lists values by control, into a full task."""
    if not isinstance(task, dict) or task.keys() & {"data", "annotations", "predictions"}:
        return task
    results = [
        {"type": kind, "from_name": control, "value": value}
        for control, values in task.items()
        for value in (values if isinstance(values, list) else [])
        for kind in ("timelinelabels", "timeserieslabels", "labels")
        if isinstance(value, dict) and kind in value
    ]
    about = {name: value for name, value in task.items() if not isinstance(value, list)}
    who = {"completed_by": task.get("annotator"), "result": results}
    return {"id": task.get("id"), "data": about, "annotations": [who]}


def _read_task(
    source: Source,
    spot: str,
    video: str,
    labels: Sequence[_Labels],
    task: _Task,
    warnings: list[str],
) -> VideoAnnotations:
    told = task.data.get("fps")
    told = read_time(told) if isinstance(told, str) else told  # as tasks made of a table have it
    told = float(told) if isinstance(told, int | float) and told > 0 else None
    events = []
    by_frames = False
    for one in labels:
        for number, result in enumerate(one.result, start=1):
            place = f"{spot}, result {number}"
            value = source.checked(_Value, result.value, f"{_REMEDY} ({place})")
            if result.type == "timelinelabels" and value.ranges:
                by_frames = True
                spans = _seconds(source, place, value.ranges, video, told)
            elif result.type in _BY_SECONDS and value.start is not None:
                spans = iter([(value.start, None if value.instant else value.end)])
            else:
                warnings.append(f"{spot}: results of type {result.type!r} are left out")
                continue
            names = value.timelinelabels or value.timeserieslabels or value.labels
            for start, end in spans:
                events += [
                    source.event(
                        place,
                        name,
                        start,
                        end,
                        tier="" if result.from_name == _TIER else result.from_name,
                        annotator=_annotator(one),
                        confidence=result.score,
                    )
                    for name in names
                ]
    rate = rate_of(source.times(video, told)) if by_frames else told
    return VideoAnnotations(video, tuple(events), frame_rate=rate)


def _seconds(
    source: Source, spot: str, ranges: Sequence[_Range], video: str, told: float | None
) -> Iterator[tuple[float, float | None]]:
    """Ranges in seconds: frames count from 1, ends are inclusive, and a single frame is a point."""
    times = source.times(video, told)
    for one in ranges:
        if one.end < max(one.start, 1):
            raise source.fault(f"ends at frame {one.end}, starts at frame {one.start}", spot)
        first = max(one.start, 1) - 1
        if one.end == one.start:
            yield float(middles(times, first)), None
        else:
            start, end = times.edges([first, one.end]).tolist()
            yield start, end


def _path_of(task: _Task) -> str:
    values = [task.data.get("video"), *task.data.values(), task.file_upload]
    paths = (value.rpartition("?d=")[2] for value in values if isinstance(value, str))
    return next((path for path in paths if file_name(path)), "")


def _annotator(labels: _Labels) -> str:
    who = labels.completed_by
    if isinstance(who, dict):
        who = who.get("email") or who.get("id")
    return str(labels.model_version or ("" if who is None else who))


def write_annotations(videos: Sequence[VideoAnnotations], target: Target) -> Written:
    """Writes tasks with one annotation each, to import into a project."""
    warnings: list[str] = []
    tasks = []
    for video in videos:
        results = [_result(event, span, n) for n, (event, span) in _spans(video, target, warnings)]
        tasks.append({**_task(video, target), "annotations": [{"result": results}]})
    return _written(tasks, warnings)


def write_predictions(videos: Sequence[VideoAnnotations], target: Target) -> Written:
    """Writes tasks with one prediction per model, for annotators to start from."""
    warnings: list[str] = []
    tasks = []
    for video in videos:
        models: dict[str, list[dict[str, object]]] = {}
        sure: dict[str, list[float]] = {}
        for number, (event, span) in _spans(video, target, warnings):
            result = _result(event, span, number)
            if event.confidence is not None:
                result["score"] = event.confidence
                sure.setdefault(event.annotator, []).append(event.confidence)
            models.setdefault(event.annotator, []).append(result)
        predictions = [
            {
                **({"model_version": model} if model else {}),
                **({"score": sum(sure[model]) / len(sure[model])} if model in sure else {}),
                "result": results,
            }
            for model, results in models.items()
        ]
        tasks.append({**_task(video, target), "predictions": predictions})
    return _written(tasks, warnings)


def _task(video: VideoAnnotations, target: Target) -> dict[str, object]:
    rate = rate_of(target.times(video)) or video.frame_rate
    return {"data": {"video": video.video, **({} if rate is None else {"fps": rate})}}


def _spans(
    video: VideoAnnotations, target: Target, warnings: list[str]
) -> Iterator[tuple[int, tuple[Event, tuple[int, int]]]]:
    """Events with their frames, counted from 1, ends inclusive."""
    times = target.times(video)
    for number, event in enumerate(video.events, start=1):
        if event.end is None:
            frame = int(times.frames_at([event.start])[0]) + 1
            yield number, (event, (frame, frame))
            continue
        start, end = times.nearest_edges([event.start, event.end]).tolist()
        if end - start < 2:
            warnings.append(f"{video.video}: an interval of one frame is a point in Label Studio")
        yield number, (event, (start + 1, max(end, start + 1)))


def _result(event: Event, span: tuple[int, int], number: int) -> dict[str, object]:
    return {
        "id": f"u{number}",
        "type": "timelinelabels",
        "from_name": event.tier or _TIER,
        "to_name": "video",
        "value": {
            "ranges": [{"start": span[0], "end": span[1]}],
            "timelinelabels": [event.label],
        },
    }


def _written(tasks: list[dict[str, object]], warnings: list[str]) -> Written:
    text = json.dumps(tasks, indent=1, ensure_ascii=False) + "\n"
    return Written(text.encode(), counted(warnings))
