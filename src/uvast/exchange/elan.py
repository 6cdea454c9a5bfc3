"""ELAN .eaf: tiers of annotations between time slots, in milliseconds.

Parsed by hand from the guarded tree: pympi reads with `xml.etree`, which expands entities, and
drops what it does not know. The tests compare with it.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape, quoteattr

from uvast.exchange.clock import later_by_a_millisecond
from uvast.exchange.records import Event, VideoAnnotations
from uvast.exchange.source import Reading, Written, counted
from uvast.exchange.video_paths import file_name, parts_of
from uvast.exchange.whole_numbers import whole_number
from uvast.exchange.xml_tree import parse_xml

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from uvast.exchange.source import Source, Target
    from uvast.exchange.xml_tree import Element

    Times = dict[str, tuple[float, float]]

DEFAULT_TIER = "default"
"""ELAN's own name for a new file's tier; events without a tier go there."""

_SUFFIX_TYPES = {"mp4": "video/mp4", "mpg": "video/mpeg", "mov": "video/quicktime"}
_CONSTRAINTS = (
    ("Time_Subdivision", "Time subdivision of parent annotation's time interval"),
    ("Symbolic_Subdivision", "Symbolic subdivision of a parent annotation"),
    ("Symbolic_Association", "1-1 association with a parent annotation"),
    ("Included_In", "Time alignable annotations within the parent annotation's time interval"),
)


def recognise(source: Source) -> bool:
    """Whether the root is ELAN's."""
    return "<ANNOTATION_DOCUMENT" in source.head


def read(source: Source) -> Reading:
    """Reads all tiers; an annotation that refers to another takes its time."""
    root = parse_xml(source)
    header = root.first("HEADER")
    units = "milliseconds" if header is None else header.get("TIME_UNITS", "milliseconds")
    if root.tag != "ANNOTATION_DOCUMENT" or units != "milliseconds":
        raise source.fault(
            f"counts time in {units!r}"
            if root.tag == "ANNOTATION_DOCUMENT"
            else "is not an ELAN file",
            f"line {root.line}",
            "save it again with ELAN, in milliseconds",
        )
    video, origin = _media(source, header)
    slots, warnings = _slots(source, root)
    times = _annotation_times(source, root, slots)
    events = []
    for tier in root.all("TIER"):
        name = tier.get("TIER_ID")
        for annotation in tier.all("ANNOTATION"):
            inner = annotation.children[0] if annotation.children else annotation
            value = inner.first("ANNOTATION_VALUE")
            if value is None or not value.text:
                warnings.append(f"tier {name}: an annotation without text is left out")
                continue
            start, end = (time + origin for time in times[inner.get("ANNOTATION_ID")])
            events.append(
                source.event(
                    f"line {inner.line}",
                    value.text,
                    start,
                    end,
                    tier="" if name == DEFAULT_TIER else name,
                    annotator=tier.get("ANNOTATOR"),
                )
            )
    return Reading((VideoAnnotations(video, tuple(events)),), counted(warnings))


def _media(source: Source, header: Element | None) -> tuple[str, float]:
    """The video's name, and the seconds into it where the time line starts."""
    media = [] if header is None else list(header.all("MEDIA_DESCRIPTOR"))
    for one in sorted(media, key=_rank):
        url = one.get("MEDIA_URL") or one.get("RELATIVE_MEDIA_URL")
        if file_name(url):
            origin = whole_number(one.get("TIME_ORIGIN"))
            path = "/".join(map(unquote, parts_of(url)))
            return source.name_of(path), (origin or 0) / 1000
    return source.video, 0.0


def _rank(medium: Element) -> int:
    """Video before audio; between them what ELAN calls unknown, which may be either."""
    kind = medium.get("MIME_TYPE")
    return kind.startswith("audio") - kind.startswith("video")


def _slots(source: Source, root: Element) -> tuple[dict[str, float], list[str]]:
    """Each time slot in seconds; slots without a value are spread evenly between their neighbours.

    ELAN leaves a slot open between annotations that subdivide a stretch of time.
    """
    order = root.first("TIME_ORDER")
    values: dict[str, float | None] = {}
    for slot in [] if order is None else order.all("TIME_SLOT"):
        text = slot.get("TIME_VALUE")
        value = whole_number(text)
        if text and value is None:
            raise source.fault(f"TIME_VALUE {text[:60]!r} is not a number", f"line {slot.line}")
        values[slot.get("TIME_SLOT_ID")] = None if value is None else value / 1000
    place = {slot: index for index, slot in enumerate(values)}
    seconds = {slot: value for slot, value in values.items() if value is not None}
    warnings = []
    for tier in root.all("TIER"):
        used = {
            inner.get(name): inner
            for annotation in tier.all("ANNOTATION")
            for inner in annotation.all("ALIGNABLE_ANNOTATION")
            for name in ("TIME_SLOT_REF1", "TIME_SLOT_REF2")
        }
        for name, inner in used.items():
            if name not in place:
                raise source.fault(f"time slot {name!r} does not exist", f"line {inner.line}")
        chain = sorted(used, key=place.__getitem__)
        known = [index for index, slot in enumerate(chain) if slot in seconds]
        for left, right in pairwise(known):
            step = (seconds[chain[right]] - seconds[chain[left]]) / (right - left)
            for index in range(left + 1, right):
                seconds[chain[index]] = seconds[chain[left]] + step * (index - left)
                warnings.append(
                    f"tier {tier.get('TIER_ID')}: a time that ELAN leaves open is placed evenly "
                    "between its neighbours"
                )
        lost = next((slot for slot in chain if slot not in seconds), None)
        if lost is not None:
            raise source.fault(
                f"time slot {lost!r} has no time and no neighbours that have one",
                f"line {used[lost].line}",
                "give the annotation a time in ELAN",
            )
    return seconds, warnings


def _annotation_times(source: Source, root: Element, slots: dict[str, float]) -> Times:
    """Each annotation's start and end; those that subdivide another share its time evenly."""
    times: Times = {}
    waiting: dict[tuple[int, str], list[Element]] = defaultdict(list)
    for number, tier in enumerate(root.all("TIER")):
        for annotation in tier.all("ANNOTATION"):
            for inner in annotation.children:
                if inner.tag == "ALIGNABLE_ANNOTATION":
                    first, second = inner.get("TIME_SLOT_REF1"), inner.get("TIME_SLOT_REF2")
                    times[inner.get("ANNOTATION_ID")] = slots[first], slots[second]
                elif inner.tag == "REF_ANNOTATION":
                    waiting[number, inner.get("ANNOTATION_REF")].append(inner)
    while waiting:
        ready = [key for key in waiting if key[1] in times]
        if not ready:
            (_, parent), children = next(iter(waiting.items()))
            raise source.fault(
                f"refers to annotation {parent!r}, which has no time", f"line {children[0].line}"
            )
        for key in ready:
            children = waiting.pop(key)
            start, end = times[key[1]]
            step = (end - start) / len(children)
            for index, child in enumerate(children):
                last = end if index + 1 == len(children) else start + step * (index + 1)
                times[child.get("ANNOTATION_ID")] = start + step * index, last
    return times


def write(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes one video's intervals; those that overlap within a tier go to an extra tier."""
    video = videos[0]
    tiers, warnings = _tiers(video.intervals)
    numbered = enumerate((event for events in tiers.values() for event in events), start=1)
    edges = sorted(
        (round(time * 1000), side, number)
        for number, event in numbered
        for side, time in ((0, event.start), (1, _end(event)))
    )
    slot_of = {(number, side): f"ts{n}" for n, (_, side, number) in enumerate(edges, start=1)}
    slots = "".join(
        f'        <TIME_SLOT TIME_SLOT_ID="ts{n}" TIME_VALUE="{time}"/>\n'
        for n, (time, *_) in enumerate(edges, start=1)
    )
    body, number = [], 0
    for name, events in tiers.items():
        annotator = events[0].annotator if events else ""
        who = f" ANNOTATOR={quoteattr(annotator)}" if annotator else ""
        body.append(f'    <TIER{who} LINGUISTIC_TYPE_REF="default-lt" TIER_ID={quoteattr(name)}>\n')
        for event in events:
            number += 1
            first, second = slot_of[number, 0], slot_of[number, 1]
            body.append(
                "        <ANNOTATION>\n"
                f'            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a{number}" '
                f'TIME_SLOT_REF1="{first}" TIME_SLOT_REF2="{second}">\n'
                f"                <ANNOTATION_VALUE>{escape(event.label)}</ANNOTATION_VALUE>\n"
                "            </ALIGNABLE_ANNOTATION>\n        </ANNOTATION>\n"
            )
        body.append("    </TIER>\n")
    text = _frame(video.video, slots, "".join(body), number)
    return Written(text.encode(), tuple(warnings))


def _end(event: Event) -> float:
    return later_by_a_millisecond(event.start, event.stop)


def _tiers(intervals: Iterable[Event]) -> tuple[dict[str, list[Event]], list[str]]:
    """Events by tier; an ELAN tier has one annotator and no two annotations at a time."""
    lanes: dict[str, list[list[Event]]] = defaultdict(list)
    for event in intervals:
        for lane in lanes[event.tier or DEFAULT_TIER]:
            free = round(_end(lane[-1]) * 1000) <= round(event.start * 1000)
            if free and lane[-1].annotator == event.annotator:
                lane.append(event)
                break
        else:
            lanes[event.tier or DEFAULT_TIER].append([event])
    tiers = {name: of_tier[0] for name, of_tier in lanes.items()} or {DEFAULT_TIER: []}
    warnings = []
    for name, of_tier in lanes.items():
        for number, lane in enumerate(of_tier[1:], start=2):
            further = f"{name} ({number})"
            while further in tiers:
                further += "'"
            tiers[further] = lane
            warnings.append(
                f"tier {name}: an ELAN tier has one annotator and one annotation at a time; "
                f"{len(lane)} go to tier {further}"
            )
    return tiers, warnings


def _frame(video: str, slots: str, tiers: str, last: int) -> str:
    kind = _SUFFIX_TYPES.get(video.rpartition(".")[2].lower(), "video/*")
    url = quoteattr(f"./{quote(video)}")
    constraints = "".join(
        f"    <CONSTRAINT DESCRIPTION={quoteattr(text)} STEREOTYPE={quoteattr(name)}/>\n"
        for name, text in _CONSTRAINTS
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ANNOTATION_DOCUMENT AUTHOR="" DATE="1970-01-01T00:00:00+00:00" FORMAT="3.0" '
        'VERSION="3.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xsi:noNamespaceSchemaLocation="http://www.mpi.nl/tools/elan/EAFv3.0.xsd">\n'
        '    <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">\n'
        f'        <MEDIA_DESCRIPTOR MEDIA_URL={url} MIME_TYPE="{kind}" '
        f"RELATIVE_MEDIA_URL={url}/>\n"
        f'        <PROPERTY NAME="lastUsedAnnotationId">{last}</PROPERTY>\n'
        "    </HEADER>\n"
        f"    <TIME_ORDER>\n{slots}    </TIME_ORDER>\n{tiers}"
        '    <LINGUISTIC_TYPE GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="default-lt" '
        f'TIME_ALIGNABLE="true"/>\n{constraints}</ANNOTATION_DOCUMENT>\n'
    )
