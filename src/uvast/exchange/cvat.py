"""CVAT for video XML: a track is on from a shape to the next shape marked `outside`.

Parsed by hand from the guarded tree; read only, since CVAT has no intervals without boxes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from uvast.exchange.frames import rate_of
from uvast.exchange.records import Span, VideoAnnotations
from uvast.exchange.source import Reading, counted
from uvast.exchange.video_paths import file_name
from uvast.exchange.whole_numbers import whole_number
from uvast.exchange.xml_tree import parse_xml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.exchange.source import Source
    from uvast.exchange.xml_tree import Element

_ONE_BY_ONE = "export each task on its own from CVAT"


def recognise(source: Source) -> bool:
    """Whether the file is CVAT's XML."""
    return "<annotations>" in source.head and "<meta>" in source.head


def read(source: Source) -> Reading:
    """Reads one interval per stretch in which a track is visible; its attributes are modifiers."""
    root = parse_xml(source)
    tracks = list(root.all("track"))
    if not tracks and root.first("image") is not None:
        raise source.fault(
            "is in CVAT's format for pictures", None, "export the task as 'CVAT for video'"
        )
    parts = _parts(source, root, tracks)
    names = source.names_of(part.path for part in parts)
    warnings = []
    for part in parts:
        step = _text(part.task, "frame_filter") if part.task else ""
        if step:
            warnings.append(f"the task has the frame filter {step!r}: check the frame numbers")
    videos = tuple(_record(source, names[part.path], part) for part in parts)
    return Reading(videos, counted(warnings))


class _Part(NamedTuple):
    """What a file says about one video.

    Args:
        path: of the video.
        task: what the file's head says about it.
        tracks: what was annotated.
        offset: the frames of other tasks that come before this one's frame 0 in the numbers of a
            project; None if all numbers are of this video.
    """

    path: str
    task: Element | None
    tracks: Sequence[Element]
    offset: int | None = None


def _parts(source: Source, root: Element, tracks: Sequence[Element]) -> list[_Part]:
    """The tracks by video: a project has several tasks, each with its own video."""
    meta = root.first("meta")
    tasks = [] if meta is None else [one for one in meta.walk() if one.tag == "task"]
    of_task: dict[str, list[Element]] = {}
    for track in tracks:
        of_task.setdefault(track.get("task_id"), []).append(track)
    if len(tasks) < 2 and len(of_task) < 2:
        task = tasks[0] if tasks else _task(root)
        path = _text(root, "source") or (task and _text(task, "name")) or source.video
        return [_Part(path if file_name(path) else source.video, task, tracks)]
    if not of_task.keys() <= {_text(task, "id") for task in tasks}:
        raise source.fault(
            "has tracks of several tasks and does not say which video each belongs to",
            None,
            _ONE_BY_ONE,
        )
    is_project = meta is not None and meta.first("project") is not None
    offsets: Sequence[int | None] = _offsets(tasks) if is_project else [None] * len(tasks)
    parts: dict[str, _Part] = {}
    for task, offset in zip(tasks, offsets, strict=True):
        path = _text(task, "source") or _text(task, "name")
        if not file_name(path) or path in parts:
            what = f"two tasks are called {path!r}" if file_name(path) else "a task has no name"
            raise source.fault(what, f"line {task.line}", _ONE_BY_ONE)
        parts[path] = _Part(path, task, of_task.get(_text(task, "id"), []), offset)
    return list(parts.values())


def _offsets(tasks: Sequence[Element]) -> list[int]:
    """Where each task's frames begin: a project counts on from task to task of one subset."""
    offsets = []
    n_before: dict[str, int] = {}
    for task in tasks:
        subset = _text(task, "subset")
        offsets.append(n_before.get(subset, 0))
        step = whole_number(_text(task, "frame_filter").partition("=")[2].strip()) or 1
        n_frames = step * (whole_number(_text(task, "size")) or 0)
        first = whole_number(_text(task, "start_frame")) or 0
        n_before[subset] = offsets[-1] + first + n_frames
    return offsets


def _record(source: Source, video: str, part: _Part) -> VideoAnnotations:
    times = source.times(video)
    seen = _seen(part.task) if part.task else None
    events = []
    for track in part.tracks:
        name = f"track {track.get('id')}"
        for start, end, values in _visible(source, track, part.offset, seen):
            first, last = times.edges([start, end]).tolist()
            spot = f"line {track.line}, {name}"
            events.append(
                source.event(spot, track.get("label"), first, last, tier=name, modifiers=values)
            )
    observed = None
    if seen:
        observed = (Span(*times.edges([seen.start, seen.stop]).tolist()),)
    return VideoAnnotations(video, tuple(events), observed=observed, frame_rate=rate_of(times))


def _seen(task: Element) -> range | None:
    """The video's frames that a task or job covers; shapes count from the video's start."""
    size = whole_number(_text(task, "size"))
    first = whole_number(_text(task, "start_frame"))
    last = whole_number(_text(task, "stop_frame"))
    if first is not None and last is not None and last + 1 - first >= (size or 1):
        return range(first, last + 1)
    return range(size) if size else None


def _visible(
    source: Source, track: Element, offset: int | None, seen: range | None
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Stretches `[start, end)` in which a track is on and its attributes stay the same."""
    start: int | None = None
    values: tuple[str, ...] = ()
    last = 0
    for shape in track.children:
        frame = _frame(source, shape, offset, seen)
        now = tuple(one.text for one in shape.all("attribute") if one.text)
        is_off = shape.get("outside") == "1"
        if start is not None and (is_off or now != values):
            if frame > start:
                yield start, frame, values
            start = None
        if start is None and not is_off:
            start, values = frame, now
        last = frame
    if start is not None:
        yield start, max(seen.stop if seen else 0, last + 1), values


def _frame(source: Source, shape: Element, offset: int | None, seen: range | None) -> int:
    """The video's frame that a shape is on."""
    frame = whole_number(shape.get("frame"))
    if frame is None:
        raise source.fault(
            f"{shape.get('frame')[:60]!r} is not a frame number", f"line {shape.line}"
        )
    if offset is None:
        return frame
    own = range(frame) if seen is None else seen
    if not own.start <= frame - offset <= own.stop:  # a track may end after the last frame
        first, last = offset + own.start, offset + own.stop - 1
        what = f"frame {frame} is not among its task's frames in this project, {first} to {last}"
        raise source.fault(what, f"line {shape.line}", _ONE_BY_ONE)
    return frame - offset


def _task(root: Element) -> Element | None:
    meta = root.first("meta")
    if meta is None:
        return None
    return meta.first("task") or meta.first("job") or meta.first("project") or meta


def _text(element: Element, tag: str) -> str:
    """The text of the first element of that name, at any depth in the head."""
    head = element.first("meta") or element
    return next((one.text for one in head.walk() if one.tag == tag), "")
