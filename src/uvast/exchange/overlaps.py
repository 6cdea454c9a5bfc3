"""Decides which of several intervals counts where they overlap."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Overlaps = Literal["error", "first", "last", "longest"]
OVERLAPS: tuple[Overlaps, ...] = get_args(Overlaps)
"""An error; or the interval that starts first, starts last, or is the longest."""


class Piece(NamedTuple):
    """A stretch of time that belongs to one interval: its place in the list, start, end."""

    place: int
    start: float
    end: float


def first_conflict(
    spans: Sequence[tuple[float, float]], labels: Sequence[str]
) -> tuple[int, int] | None:
    """The places of the first two intervals that overlap and differ in label; None without any."""
    open_ends: list[tuple[float, int]] = []
    latest: dict[str, tuple[float, int]] = {}
    for index in sorted(range(len(spans)), key=lambda i: spans[i]):
        start, end = spans[index]
        while open_ends and open_ends[0][0] <= start:
            _, over = heappop(open_ends)
            if latest.get(labels[over], (0, -1))[1] == over:
                del latest[labels[over]]
        for label, (_, other) in latest.items():
            if label != labels[index]:
                return other, index
        heappush(open_ends, (end, index))
        if end > latest.get(labels[index], (-1.0, 0))[0]:
            latest[labels[index]] = (end, index)
    return None


def painted(spans: Sequence[tuple[float, float]], how: Overlaps) -> Iterator[Piece]:
    """The pieces that remain of the intervals, in order of time and without overlap.

    An interval covered in the middle by another continues after it, as a second piece.

    Args:
        spans: start and end of each interval, `start < end`.
        how: which one counts; `error` (nothing overlaps) works as `first`.
    """

    def rank(index: int) -> tuple[float, ...]:
        start, end = spans[index]
        if how == "last":
            return (-start, -index)
        return (start - end, start, index) if how == "longest" else (start, index)

    by_start = sorted(range(len(spans)), key=lambda i: spans[i][0])
    cuts = sorted({time for span in spans for time in span})
    waiting: list[tuple[tuple[float, ...], int]] = []
    piece: Piece | None = None
    n_started = 0
    for start, end in pairwise(cuts):
        while n_started < len(by_start) and spans[by_start[n_started]][0] <= start:
            index = by_start[n_started]
            heappush(waiting, (rank(index), index))
            n_started += 1
        while waiting and spans[waiting[0][1]][1] <= start:
            heappop(waiting)
        top = waiting[0][1] if waiting else None
        if piece is not None and piece.place == top and piece.end == start:
            piece = piece._replace(end=end)
            continue
        if piece is not None:
            yield piece
        piece = None if top is None else Piece(top, start, end)
    if piece is not None:
        yield piece
