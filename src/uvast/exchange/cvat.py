"""CVAT for video XML: a track is on from a shape to the next shape that is `outside`.

By hand on the guarded tree; read only, since intervals without boxes are not CVAT's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.exchange.frames import rate_of
from uvast.exchange.records import Span, VideoAnnotations
from uvast.exchange.source import Reading, counted, file_name
from uvast.exchange.whole_numbers import whole_number
from uvast.exchange.xml_tree import parse_xml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.exchange.source import Source
    from uvast.exchange.xml_tree import Element


def recognise(source: Source) -> bool:
    """Whether it is CVAT's XML."""
    return "<annotations>" in source.head and "<meta>" in source.head


def read(source: Source) -> Reading:
    """One interval for each stretch a track is visible; its attributes are modifiers."""
    root = parse_xml(source)
    tracks = list(root.all("track"))
    if not tracks and root.first("image") is not None:
        raise source.fault(
            "is CVAT's format for pictures", None, "export the task as 'CVAT for video'"
        )
    task = _task(root)
    video = _text(root, "source") or (task and _text(task, "name")) or source.video
    video = file_name(video)
    times = source.times(video)
    seen = _seen(task) if task else None
    events = []
    for track in tracks:
        name = f"track {track.get('id')}"
        for start, end, values in _visible(source, track, seen.stop if seen else 0):
            first, last = times.edges([start, end]).tolist()
            spot = f"line {track.line}, {name}"
            events.append(
                source.event(spot, track.get("label"), first, last, tier=name, modifiers=values)
            )
    observed = None
    if seen:
        observed = (Span(*times.edges([seen.start, seen.stop]).tolist()),)
    record = VideoAnnotations(
        video,
        tuple(events),
        observed=observed,
        frame_rate=rate_of(times),
    )
    step = _text(task, "frame_filter") if task else ""
    warnings = [f"the task has the frame filter {step!r}: check the frame numbers"] if step else []
    return Reading((record,), counted(warnings))


def _seen(task: Element) -> range | None:
    """The frames of the video that a task or job is of; shapes count from the video's start."""
    size = whole_number(_text(task, "size"))
    first = whole_number(_text(task, "start_frame"))
    last = whole_number(_text(task, "stop_frame"))
    if first is not None and last is not None and last + 1 - first >= (size or 1):
        return range(first, last + 1)
    return range(size) if size else None


def _visible(
    source: Source, track: Element, end: int
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Stretches `[start, end)` in which a track is on and its attributes stay the same."""
    start: int | None = None
    values: tuple[str, ...] = ()
    last = 0
    for shape in track.children:
        frame = whole_number(shape.get("frame"))
        if frame is None:
            raise source.fault(f"{shape.get('frame')[:60]!r} is no frame", f"line {shape.line}")
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
        yield start, max(end, last + 1), values


def _task(root: Element) -> Element | None:
    meta = root.first("meta")
    if meta is None:
        return None
    return meta.first("task") or meta.first("job") or meta.first("project") or meta


def _text(element: Element, tag: str) -> str:
    """The text of the first element of that name, at any depth of the head."""
    head = element.first("meta") or element
    return next((one.text for one in head.walk() if one.tag == tag), "")
