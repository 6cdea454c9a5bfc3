"""Audacity label tracks: `start⇥end⇥label` in seconds; a point's end equals its start.

Parsed by hand: three columns; lines starting with a backslash (frequency ranges) are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from uvast.exchange.clock import read_signed_time
from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, Written, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange.source import Source, Target

_LINE = re.compile(r"-?\d+(?:[.,]\d+)?\t-?\d+(?:[.,]\d+)?(?:\t.*)?")


def recognise(source: Source) -> bool:
    """Whether the first line is that of a label track."""
    return _LINE.fullmatch(source.head.lstrip("\n").partition("\n")[0]) is not None


def read(source: Source) -> Reading:
    """Reads a label track."""
    events, warnings = [], []
    for number, line in source.lines():
        if not line.strip():
            continue
        if line.startswith("\\"):
            warnings.append("frequency ranges are left out")
            continue
        start, end, label = (*line.split("\t", 2), "", "")[:3]
        seconds = read_signed_time(start), read_signed_time(end)
        if seconds[0] is None or seconds[1] is None:
            raise source.fault(
                f"{line[:60]!r} is not start, end and label",
                f"line {number}",
                "separate them by tabs, with times in seconds",
            )
        if not label.strip():
            warnings.append("a label without text is left out")
            continue
        events.append(source.event(f"line {number}", label, seconds[0], seconds[1]))
    return Reading((VideoAnnotations(source.video, tuple(events)),), counted(warnings))


def write(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes one video's label track."""
    lines = [f"{event.start:.6f}\t{event.stop:.6f}\t{event.label}\n" for event in videos[0].events]
    return Written("".join(lines).encode())
