"""Anvil XML: tracks of elements with attributes, sometimes in UTF-16.

Parsed by hand from the guarded tree; read only. A track that refers to another takes its times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.exchange.clock import read_time
from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, counted
from uvast.exchange.video_paths import file_name
from uvast.exchange.whole_numbers import whole_number
from uvast.exchange.xml_tree import parse_xml

if TYPE_CHECKING:
    from uvast.exchange.records import Event
    from uvast.exchange.source import Source
    from uvast.exchange.xml_tree import Element

    Times = dict[int, tuple[float, float]]

_LABELS = ("type", "label", "token", "value", "name")
"""Attributes that may hold the label, in this order; without any, the first attribute does."""


def recognise(source: Source) -> bool:
    """Whether the file has Anvil's head and tracks."""
    return "<annotation" in source.head and "<body" in source.text and "<track" in source.text


def read(source: Source) -> Reading:
    """Reads the elements of all tracks that have times."""
    root = parse_xml(source)
    video = source.video
    for element in root.walk():
        if element.tag == "video" and file_name(element.get("src")):
            video = source.name_of(element.get("src"))
    events: list[Event] = []
    warnings: list[str] = []
    times: dict[str, Times] = {}
    body = root.first("body")
    for track in [] if body is None else [e for e in body.walk() if e.tag == "track"]:
        name = track.get("name")
        times[name] = {}
        for number, element in enumerate(track.all("el")):
            span = _span(source, track, element, times)
            if span is None:
                warnings.append(f"track {name}: elements without times are left out")
                continue
            index = whole_number(element.get("index"))
            times[name][number if index is None else index] = span
            values = {one.get("name"): one.text for one in element.all("attribute") if one.text}
            key = next((key for key in _LABELS if key in values), next(iter(values), None))
            if key is None:
                warnings.append(f"track {name}: elements without attributes are left out")
                continue
            label = values.pop(key)
            comment = element.first("comment")
            events.append(
                source.event(
                    f"line {element.line}",
                    label,
                    *span,
                    tier=name,
                    modifiers=tuple(values.values()),
                    comment="" if comment is None else comment.text,
                )
            )
    return Reading((VideoAnnotations(video, tuple(events)),), counted(warnings))


def _span(
    source: Source, track: Element, element: Element, times: dict[str, Times]
) -> tuple[float, float] | None:
    """An element's own times in seconds, or those of the elements it refers to in another track."""
    first, last = element.get("start"), element.get("end")
    other = track.get("ref")
    if other:
        start_text = element.get("ref") or first
        begin, stop = whole_number(start_text), whole_number(last or start_text)
        if begin is None or stop is None:
            return None
        spans = times.get(other, {})
        if begin not in spans or stop not in spans:
            raise source.fault(
                f"refers to elements {begin} to {stop} of track {other!r}, which do not exist",
                f"line {element.line}",
                "save it again with Anvil",
            )
        return spans[begin][0], spans[stop][1]
    start, end = read_time(first) if first else None, read_time(last) if last else None
    return None if start is None or end is None else (start, end)
