"""SRT and WebVTT subtitles: one cue per interval, with the label as its text.

Parsed by hand: libraries drop cues they dislike, and errors have to name the line.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uvast.exchange.clock import format_clock, later_by_a_millisecond, read_time
from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, Written, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.exchange.source import Source, Target

_ARROW = re.compile(r"\s*([\d:.,]+)\s*-->\s*([\d:.,]+)(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>|<\d[\d:.]*>")


@dataclass
class _Cue:
    line: int
    start: float
    end: float
    text: list[str] = field(default_factory=list)


def recognise_vtt(source: Source) -> bool:
    """Whether the file has WebVTT's first line."""
    return re.match(r"WEBVTT(?:[ \t].*)?(?:\n|$)", source.head) is not None


def recognise_srt(source: Source) -> bool:
    """Whether the file starts with a number and a line of times."""
    lines = source.head.lstrip().split("\n", 2)
    return len(lines) > 1 and lines[0].strip().isdigit() and _ARROW.fullmatch(lines[1]) is not None


def read_srt(source: Source) -> Reading:
    """Reads SRT, without formatting tags."""
    events, warnings = [], []
    for cue in _cues(source):
        label = _TAG.sub("", " ".join(cue.text)).strip()
        if not label:
            warnings.append("a cue without text is left out")
            continue
        events.append(source.event(f"line {cue.line}", label, cue.start, cue.end))
    return Reading((VideoAnnotations(source.video, tuple(events)),), counted(warnings))


def read_vtt(source: Source) -> Reading:
    """Reads WebVTT: a voice (`<v Anna>`) is the tier; other tags are removed."""
    events, warnings = [], []
    for cue in _cues(source):
        text = " ".join(cue.text)
        voice = _VOICE.match(text.strip())
        label = html.unescape(_TAG.sub("", text)).strip()
        if not label:
            warnings.append("a cue without text is left out")
            continue
        tier = html.unescape(voice[1]) if voice else ""
        events.append(source.event(f"line {cue.line}", label, cue.start, cue.end, tier=tier))
    return Reading((VideoAnnotations(source.video, tuple(events)),), counted(warnings))


def write_srt(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes one video's intervals as SRT, which cannot escape text that looks like a tag."""
    tags = [event.label for event in videos[0].intervals if _TAG.search(event.label)]
    warnings = [f"SRT reads part of {label!r} as formatting" for label in tags]
    cues = [
        f"{number}\n{_span(event.start, event.stop, ',')}\n{event.label}\n"
        for number, event in enumerate(videos[0].intervals, start=1)
    ]
    return Written("\n".join(cues).encode(), counted(warnings))


def write_vtt(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes one video's intervals as WebVTT."""
    cues = ["WEBVTT\n"]
    for event in videos[0].intervals:
        voice = f"<v {html.escape(event.tier, quote=False)}>" if event.tier else ""
        label = html.escape(event.label, quote=False)
        cues.append(f"{_span(event.start, event.stop, '.')}\n{voice}{label}\n")
    return Written("\n".join(cues).encode())


def _span(start: float, end: float, point: str) -> str:
    end = later_by_a_millisecond(start, end)
    return f"{format_clock(start, point)} --> {format_clock(end, point)}"


def _cues(source: Source) -> Iterator[_Cue]:
    """Cues, which end at an empty line or where the next one starts.

    Text between them (notes, styles, names) is skipped.
    """
    cue: _Cue | None = None
    for number, line in source.lines():
        match = _ARROW.fullmatch(line) if "-->" in line else None
        if match and cue is not None and cue.text and ":" in match[1] and ":" in match[2]:
            if len(cue.text) > 1 and cue.text[-1].isdigit():
                cue.text.pop()  # the number of the cue that starts here, without an empty line
            yield cue
            cue = None
        if match and cue is None:
            start, end = read_time(match[1]), read_time(match[2])
            if start is None or end is None:
                raise source.fault(
                    f"{line.strip()[:60]!r} has no valid times",
                    f"line {number}",
                    "write them as 00:00:01,000 --> 00:00:02,500",
                )
            cue = _Cue(number, start, end)
        elif cue is not None and line.strip():
            cue.text.append(line.strip())
        elif cue is not None:
            yield cue
            cue = None
    if cue is not None:
        yield cue
