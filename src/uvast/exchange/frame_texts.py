"""Text files that count frames: MS-TCN (a label for every frame) and `start end label` lines.

Parsed by hand: there is nothing but words.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from uvast.exchange.frames import (
    frame_labels,
    from_frame_labels,
    guessed_length,
    other_length,
    rate_of,
)
from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, Written
from uvast.segments import UNLABELLED
from uvast.vocabulary import UNLABELLED_WORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange.source import Source, Target

_INTERVAL = re.compile(r"\s*(\d{1,12})\s+(\d{1,12})\s+(\S.*?)\s*")


def recognise_frame_labels(source: Source) -> bool:
    """Whether the lines look like labels: words, most of them repeated on the next line."""
    lines = source.head.strip().split("\n")
    repeated = sum(line == after for line, after in pairwise(lines))
    return repeated * 2 > len(lines) and not any("\t" in line or "," in line for line in lines[:9])


def read_frame_labels(source: Source) -> Reading:
    """Reads MS-TCN: one line per frame with its label, or uvast's word for unlabelled frames."""
    labels = [line.strip() for _, line in source.lines()]
    while labels and not labels[-1]:
        labels.pop()
    if "" in labels:
        raise source.fault(
            "has no label", f"line {labels.index('') + 1}", "write one label for every frame"
        )
    if not set(labels) - {UNLABELLED_WORD}:
        raise source.fault("holds no labels", None, "label the video first")
    names = tuple(sorted(set(labels) - {UNLABELLED_WORD}))
    ids = {name: index for index, name in enumerate(names)}
    frames = np.array([ids.get(label, UNLABELLED) for label in labels], dtype=np.int64)
    times = source.times(source.video)
    video = from_frame_labels(source.video, frames, names, times)
    return Reading((video,), other_length(len(labels), times))


def write_frame_labels(videos: Sequence[VideoAnnotations], target: Target) -> Written:
    """Writes MS-TCN: a label for every frame of one video."""
    video = videos[0]
    times = target.times(video)
    found = frame_labels(
        video,
        times,
        gaps=target.gaps,
        background=target.background,
        overlaps=target.overlaps,
    )
    if found.unknown:
        first, last = found.unknown[0]
        other = "choose deepethogram, which can leave frames out"
        raise target.fault(
            f"{video.video} has frames that nobody labelled ({first} to {last - 1}), but "
            "MS-TCN text needs a label for every frame",
            f"pass --gaps background or {other}" if target.gaps == "unknown" else other,
        )
    lines = [found.names[index] for index in found.labels.tolist()]
    notes = (*found.notes, *guessed_length(video, times))
    return Written("".join(f"{line}\n" for line in lines).encode(), notes)


def recognise_intervals(source: Source) -> bool:
    """Whether the first line is two whole numbers and a word."""
    first = source.head.lstrip("\n").partition("\n")[0]
    return _INTERVAL.fullmatch(first) is not None


def read_intervals(source: Source) -> Reading:
    """Reads `start end label` split by blanks: frames counted from 1, ends inclusive."""
    found = []
    for number, line in source.lines():
        if not line.strip():
            continue
        match = _INTERVAL.fullmatch(line)
        if match is None or int(match[1]) < 1:
            raise source.fault(
                f"{line.strip()[:60]!r} is not start, end and label",
                f"line {number}",
                "write frames that count from 1, as in '1 40 cut'",
            )
        if int(match[2]) < int(match[1]):
            raise source.fault(
                f"ends at frame {match[2]} and starts at frame {match[1]}", f"line {number}"
            )
        found.append((number, int(match[1]) - 1, int(match[2]), match[3]))
    times = source.times(source.video)
    edges = times.edges([[start, end] for _, start, end, _ in found]).tolist() if found else []
    events = tuple(
        source.event(f"line {number}", label, start, end)
        for (number, _, _, label), (start, end) in zip(found, edges, strict=True)
    )
    return Reading((VideoAnnotations(source.video, events, frame_rate=rate_of(times)),))


def write_intervals(videos: Sequence[VideoAnnotations], target: Target) -> Written:
    """Writes `start end label` for one video; an interval keeps at least one frame."""
    times = target.times(videos[0])
    intervals = videos[0].intervals
    starts = times.nearest_edges([event.start for event in intervals])
    ends = times.nearest_edges([event.stop for event in intervals])
    rows = zip(starts.tolist(), np.maximum(ends, starts + 1).tolist(), intervals, strict=True)
    return Written("".join(f"{s + 1} {e} {event.label}\n" for s, e, event in rows).encode())
