"""DeepEthogram CSV: a row per frame, a column per behaviour; 1, 0, or -1 for not labelled.

Parsed by hand: a long video has few different rows, and each is parsed once.
"""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from uvast.exchange.frames import (
    count_frames,
    frame_spans,
    guessed_length,
    lost_intervals,
    other_length,
    rate_of,
)
from uvast.exchange.records import Event, Span, VideoAnnotations
from uvast.exchange.source import Reading, Written
from uvast.segments import Segmentation
from uvast.vocabulary import BACKGROUND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from uvast.exchange.source import Source, Target
    from uvast.segments import IntArray

_SUFFIX = "_labels"
_REMEDY = "write 1 where a behaviour happens, 0 where it does not, -1 where nobody looked"


def recognise(source: Source) -> bool:
    """Whether the header is a nameless index followed by background."""
    return source.head.startswith((",background,", ",background\n"))


def read(source: Source) -> Reading:
    """Reads one video's behaviours, which may overlap; rows of -1 were not observed."""
    rows = csv.reader(io.StringIO(source.text))
    header = next(rows, [])
    if len(header) < 2 or header[1] != BACKGROUND:
        raise source.fault(
            "has no header that names behaviours", "line 1", "start it with ',background,'"
        )
    table = _numbers(source, len(header) - 1)
    video = source.video.removesuffix(_SUFFIX)
    times = source.times(video)
    edges = times.edges(np.arange(len(table) + 1)).tolist()
    events = tuple(
        Event(name, edges[start], edges[end])
        for name, column in zip(header[2:], table[:, 1:].T, strict=True)
        for start, end in _runs(column == 1)
    )
    observed = tuple(Span(edges[s], edges[e]) for s, e in _runs(table.min(axis=1, initial=1) >= 0))
    record = VideoAnnotations(
        video,
        events,
        observed,
        frame_rate=rate_of(times),
        duration=edges[-1] if len(table) else None,
    )
    return Reading((record,), other_length(len(table), times))


def write(videos: Sequence[VideoAnnotations], target: Target) -> Written:
    """Writes one video's intervals; the background column is 1 where there is no behaviour."""
    video = videos[0]
    times = target.times(video)
    n_frames = count_frames(video, times)
    names = sorted({event.label for event in video.intervals} - {target.background})
    places = {name: index for index, name in enumerate(names)}
    table = np.zeros((n_frames, len(names)), dtype=np.int8)
    known = np.full(n_frames, target.gaps == "background" and video.observed is None)
    for span in video.observed or ():
        start, end = times.nearest_edges([span.start, span.end]).tolist()
        known[start:end] = True
    starts, ends = frame_spans(video, times, n_frames)
    for event, start, end in zip(video.intervals, starts.tolist(), ends.tolist(), strict=True):
        known[start:end] = True
        if event.label != target.background:
            table[start:end, places[event.label]] = 1
    table = np.column_stack([~table.any(axis=1), table])
    table[~known] = -1
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(["", BACKGROUND, *names])
    for start, end in _equal_rows(table):
        cells = ",".join(map(str, table[start].tolist()))
        out.writelines(f"{index},{cells}\n" for index in range(start, end))
    lost = lost_intervals(video, int((ends <= starts).sum()))
    return Written(out.getvalue().encode(), (*lost, *guessed_length(video, times)))


def _equal_rows(table: NDArray[np.int8]) -> list[tuple[int, int]]:
    """The runs of identical rows."""
    changes = np.flatnonzero((table[1:] != table[:-1]).any(axis=1)) + 1
    edges = [0, *changes.tolist(), len(table)]
    return list(pairwise(edges)) if len(table) else []


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    runs = Segmentation.from_labels(flags).segments
    return [(run.start, run.end) for run in runs if run.action]


def _numbers(source: Source, n_columns: int) -> IntArray:
    """Labels `(T, columns)` without the index; identical rows are parsed once."""
    known: dict[str, int] = {}
    rows: list[list[int]] = []
    found: list[int] = []
    for number, line in source.lines():
        cells = line.partition(",")[2]
        if number == 1 or not line:
            continue
        place = known.get(cells)
        if place is None:
            place = known[cells] = len(rows)
            rows.append(_row(source, number, cells, n_columns))
        found.append(place)
    values = np.array(rows, dtype=np.int64).reshape(len(rows), n_columns)
    return values[np.array(found, dtype=np.int64)]


def _row(source: Source, number: int, cells: str, n_columns: int) -> list[int]:
    try:
        row = [float(cell) for cell in cells.split(",")]
    except ValueError:
        row = []
    if len(row) != n_columns or not all(value in (-1, 0, 1) for value in row):
        raise source.fault(f"{cells[:60]!r} is not a row of labels", f"line {number}", _REMEDY)
    return [int(value) for value in row]
