"""DeepEthogram CSV: a row a frame, a column a behaviour; 1 and 0, and -1 for not labelled.

By hand: the table is numbers, read in one go by numpy.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from uvast.exchange.frames import count_frames, guessed_length, rate_of
from uvast.exchange.records import Event, Span, VideoAnnotations
from uvast.exchange.rules import BACKGROUND
from uvast.exchange.source import Reading, Written
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.source import Source, Target
    from uvast.segments import IntArray

_SUFFIX = "_labels"
_REMEDY = "write 1 where a behaviour happens, 0 where not, -1 where nobody looked"


def recognise(source: Source) -> bool:
    """Whether the header is an index without a name and then background."""
    return source.head.startswith((",background,", ",background\n"))


def read(source: Source) -> Reading:
    """The behaviours of one video, which may overlap; rows of -1 were not observed."""
    rows = csv.reader(io.StringIO(source.text))
    header = next(rows, [])
    if len(header) < 2 or header[1] != BACKGROUND:
        raise source.fault("has no header of behaviours", "line 1", "start it with ',background,'")
    table = _numbers(source, len(header))
    video = source.video.removesuffix(_SUFFIX)
    times = source.times(video)
    edges = times.edges(np.arange(len(table) + 1)).tolist()
    events = tuple(
        Event(name, edges[start], edges[end])
        for name, column in zip(header[2:], table[:, 2:].T, strict=True)
        for start, end in _runs(column == 1)
    )
    observed = tuple(
        Span(edges[s], edges[e]) for s, e in _runs(table[:, 1:].min(axis=1, initial=1) >= 0)
    )
    record = VideoAnnotations(
        video,
        events,
        observed,
        frame_rate=rate_of(times),
        duration=edges[-1] if len(table) else None,
    )
    return Reading((record,))


def write(videos: Sequence[VideoAnnotations], target: Target) -> Written:
    """The intervals of one video; the background column is 1 where no behaviour is."""
    video = videos[0]
    times = target.times(video)
    n_frames = count_frames(video, times)
    names = sorted({event.label for event in video.intervals} - {target.background})
    places = {name: index for index, name in enumerate(names)}
    table = np.zeros((n_frames, len(names)), dtype=np.int64)
    known = np.full(n_frames, target.gaps == "background" and video.observed is None)
    for span in video.observed or ():
        known[_frames(times, span)] = True
    for event in video.intervals:
        frames = _frames(times, Span(event.start, event.start + event.seconds))
        known[frames] = True
        if event.label != target.background:
            table[frames, places[event.label]] = 1
    table = np.column_stack([~table.any(axis=1), table])
    table[~known] = -1
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["", BACKGROUND, *names])
    writer.writerows([index, *row] for index, row in enumerate(table.tolist()))
    return Written(out.getvalue().encode(), guessed_length(video, times))


def _frames(times: FrameTimes, span: Span) -> slice:
    start, end = times.nearest_edges([span.start, span.end]).tolist()
    return slice(start, end)


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    runs = Segmentation.from_labels(flags).segments
    return [(run.start, run.end) for run in runs if run.action]


def _numbers(source: Source, n_columns: int) -> IntArray:
    found = []
    for number, line in source.lines():
        if number == 1 or not line:
            continue
        cells = line.split(",")
        try:
            row = [int(float(cell)) for cell in cells]
        except (ValueError, OverflowError):
            row = []
        if len(row) != n_columns or not all(-1 <= value <= 1 for value in row[1:]):
            raise source.fault(f"{line[:60]!r} is no row of labels", f"line {number}", _REMEDY)
        found.append(row)
    return np.array(found, dtype=np.int64).reshape(len(found), n_columns)
