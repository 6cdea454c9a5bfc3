"""Durations of a given transcript by exact dynamic programming.

Maximises, over all boundaries, the sum of `alpha log p(action | frame)` plus a length score per
segment and a score per cut; every entry of the transcript gets at least one frame.

As a segment's end moves forwards, its best start never moves back, because the length score is
concave: once a later start is better, it stays better. So each segment costs `O(T log T)`, not
`O(T^2)`. Besides the class tables, memory is `O(sqrt(S) T)`: long transcripts are searched in
blocks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from uvast.durations.length_model import LengthModel
from uvast.durations.result import (
    Durations,
    FloatArray,
    check_classes,
    checked_alpha,
    checked_cut_scores,
    checked_log_probabilities,
    checked_transcript,
)
from uvast.errors import InputError
from uvast.kernels import kernel
from uvast.segments import IntArray, check_timestamps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_ENDS = 2**29
"""Most ends to try over all segments: half a minute, or 5,000 segments in 100,000 frames."""

MAX_STARTS = 2**24
"""Best starts kept at a time (64 MB); if there are more, all but the last are found twice."""


def viterbi(
    log_probabilities: ArrayLike,
    transcript: ArrayLike,
    length_model: LengthModel | None = None,
    *,
    frame_sampling: int = 1,
    alpha: float = 1.0,
    cut_scores: ArrayLike | None = None,
    held: ArrayLike | None = None,
) -> Durations:
    """The best durations of a transcript, exactly.

    Among equally good segmentations, it finds the one whose boundaries all come earliest (the best
    ones form a lattice, so there is one).

    Args:
        log_probabilities: frame scores `(T, C)`; lower ones than `LOG_FLOOR` are raised to it.
        transcript: actions `(S,)`.
        length_model: scores of segment lengths; without one, lengths are not scored.
        frame_sampling: boundaries lie only at multiples of it (and at T). A coarse grid just saves
            time: if the transcript does not fit on it, a finer one is used.
        alpha: the power of the frame probabilities.
        cut_scores: what a segment adds that starts at each frame `(T,)`; the first segment adds
            nothing. On a coarse grid, a cut has the best score of the frames around it.
        held: timestamps `(S,)`: segment i has to contain frame `held[i]`; or, if segments have
            several, the first and last one of each `(S, 2)`.
    """
    frames = checked_log_probabilities(log_probabilities)
    n_frames, n_classes = frames.shape
    actions = checked_transcript(transcript, n_classes, n_frames)
    lengths = LengthModel.none(n_classes) if length_model is None else length_model
    check_classes(n_classes, lengths)
    grid = _grid(n_frames, frame_sampling, len(actions))
    low, high = _boundary_ranges(actions, grid, n_frames, held)
    _check_effort(low, high, n_frames)

    classes, rows = np.unique(actions, return_inverse=True)
    length_scores = np.zeros((len(classes), n_frames + 1))
    length_scores[:, 1:] = lengths.score(classes[:, None], np.arange(1, n_frames + 1))
    prefix = np.zeros((len(classes), n_frames + 1))
    np.multiply(frames.T[classes], checked_alpha(alpha), out=prefix[:, 1:])
    del frames  # as large as the sums, if it is a copy
    np.cumsum(prefix[:, 1:], axis=1, out=prefix[:, 1:])
    if len(grid) <= n_frames:
        prefix = np.ascontiguousarray(prefix[:, grid])
    at_cuts = _best_around(checked_cut_scores(cut_scores, n_frames), grid)
    tables = (prefix, length_scores, at_cuts)
    ends, score = _search(tables, rows, grid, (low, high), _segments_in_block(low, high))
    return Durations(np.diff(grid[ends], prepend=0), float(score))


def _grid(n_frames: int, frame_sampling: int, n_segments: int) -> IntArray:
    """Where boundaries may lie: 0, the multiples of `frame_sampling` or of a step that fits, T."""
    if frame_sampling < 1:
        raise InputError(f"frame sampling is {frame_sampling}, not at least 1")
    step = min(frame_sampling, n_frames // n_segments)
    return np.append(np.arange(0, n_frames, step), n_frames).astype(np.int64)


def _best_around(cut_scores: FloatArray, grid: IntArray) -> FloatArray:
    """The best score among the frames nearest to each place of the grid `(N,)`.

    A frame half-way counts for the later place. The ends of the video, where no cut is, have 0.
    """
    at_cuts = np.zeros(len(grid))
    middles = (grid[:-1] + grid[1:] + 1) // 2  # the first frame of each place but the first
    if len(grid) > 2:
        inner = np.maximum.reduceat(cut_scores[: middles[-1]], middles[:-1])
        at_cuts[1:-1] = inner
    return at_cuts


def _check_effort(low: IntArray, high: IntArray, n_frames: int) -> None:
    """Refuses what would take minutes, such as the transcript of an hour of noise."""
    if (high - low + 1).sum() > MAX_ENDS:
        raise InputError(
            f"a transcript of {len(low):,} actions for {n_frames:,} frames takes too long",
            remedy="it looks like noise: smooth the frame labels with mode_filter=25, or use "
            "semi-markov decoding, which finds its own transcript",
        )


def _boundary_ranges(
    actions: IntArray, grid: IntArray, n_frames: int, held: ArrayLike | None
) -> tuple[IntArray, IntArray]:
    """First and last place in `grid` of each segment's end, two arrays `(S,)`."""
    n_segments, last = len(actions), len(grid) - 1
    steps = np.arange(n_segments)
    low, high = steps + 1, steps + last - n_segments + 1
    if held is not None:
        first_held, last_held = _checked_held(held, n_segments, n_frames)
        # Segment i ends after its own timestamps and not after the next one's.
        after = np.searchsorted(grid, last_held, side="right")
        until = np.append(np.searchsorted(grid, first_held[1:], side="right") - 1, last)
        low = np.maximum.accumulate(np.maximum(low, after) - steps) + steps
        high = np.minimum.accumulate((np.minimum(high, until) - steps)[::-1])[::-1] + steps
    if (low > high).any():
        raise InputError(
            f"{n_segments} segments do not fit between boundaries {grid[1]} frames apart",
            remedy="lower frame_sampling",
        )
    low[-1] = last
    return low, high


def _checked_held(held: ArrayLike, n_segments: int, n_frames: int) -> tuple[IntArray, IntArray]:
    """The first and the last timestamp of each segment, two arrays `(S,)`."""
    given = np.asarray(held)
    if given.ndim == 0 or given.shape[1:] not in ((), (2,)):
        raise InputError(f"timestamps of shape {given.shape}, not (S,) or (S, 2)")
    if len(given) != n_segments:
        raise InputError(f"{len(given)} timestamps for {n_segments} segments")
    first, last = (given, given) if given.ndim == 1 else (given[:, 0], given[:, 1])
    first, last = check_timestamps(first, n_frames), check_timestamps(last, n_frames)
    if (first > last).any() or (last[:-1] >= first[1:]).any():
        raise InputError("timestamps of segments that overlap", remedy="order the timestamps")
    return first, last


def _segments_in_block(low: IntArray, high: IntArray) -> int:
    """All segments, unless their best starts are too many to keep; at least sqrt(S)."""
    n_segments, n_ends = len(low), int((high - low).max()) + 1
    return min(n_segments, max(MAX_STARTS // n_ends, math.isqrt(n_segments - 1) + 1))


@kernel
def _best_starts(
    before: FloatArray,
    length_scores: FloatArray,
    grid: IntArray,
    start_range: tuple[int, int],
    end_range: tuple[int, int],
    best: FloatArray,
    starts: NDArray[np.int32],
) -> None:
    """Fills `best[t] = max over s < t of before[s] + length_scores[grid[t] - grid[s]]`.

    The first best s never falls as t grows. So the stride is halved again and again: the ends at
    its odd multiples search only between the best starts of their neighbours, found at larger
    strides. `starts[k]` is the first best s of the k-th end of the range. `before` and `best` are
    `(N,)` over the grid, `length_scores (T + 1,)`, `starts (n_ends,)`.
    """
    first_end, last_end = end_range
    n_ends = last_end - first_end + 1
    stride = 1
    while stride < n_ends:
        stride *= 2
    while stride > 0:
        for k in range(stride - 1, n_ends, 2 * stride):
            t = first_end + k
            first = starts[k - stride] if k >= stride else start_range[0]
            last = starts[k + stride] if k + stride < n_ends else start_range[1]
            best_score, best_start = -np.inf, first
            for s in range(first, min(last, t - 1) + 1):
                score = before[s] + length_scores[grid[t] - grid[s]]
                if score > best_score:
                    best_score, best_start = score, s
            best[t] = best_score
            starts[k] = best_start
        stride //= 2


@kernel
def _advance(
    tables: tuple[FloatArray, FloatArray, FloatArray],
    rows: IntArray,
    grid: IntArray,
    ranges: tuple[IntArray, IntArray],
    segments: tuple[int, int],
    best: FloatArray,
    starts: NDArray[np.int32],
) -> None:
    """Moves `best` from the ends before the segments `[first, stop)` to the ends of the last one.

    `starts[i - first]` gets the best starts of segment i, for each end of its range. `best` is
    `(N,)` over the grid, `starts (stop - first, n_ends)`; tables are those of `_search`.
    """
    prefix, length_scores, cut_scores = tables
    low, high = ranges
    first, stop = segments
    before = np.empty(len(grid))
    for i in range(first, stop):
        start_range = (low[i - 1], high[i - 1]) if i > 0 else (0, 0)
        sums = prefix[rows[i]]
        for s in range(start_range[0], start_range[1] + 1):
            before[s] = best[s] - sums[s] + cut_scores[s]
        _best_starts(
            before,
            length_scores[rows[i]],
            grid,
            start_range,
            (low[i], high[i]),
            best,
            starts[i - first],
        )
        for t in range(low[i], high[i] + 1):
            best[t] += sums[t]


@kernel
def _search(
    tables: tuple[FloatArray, FloatArray, FloatArray],
    rows: IntArray,
    grid: IntArray,
    ranges: tuple[IntArray, IntArray],
    block: int,
) -> tuple[IntArray, float]:
    """Places in `grid` of the segments' ends `(S,)`, and their score.

    Best starts are kept for one block of segments at a time, to trace them back. The scores before
    each block are kept as well, to find its starts again.

    Args:
        tables: sums of the frame scores before each place of the grid (classes, N), length scores
            by class and length (classes, T + 1), and scores of cuts at each place (N,).
        rows: the class of each segment, as a row of these tables `(S,)`.
        grid: frames where boundaries may lie `(N,)`.
        ranges: first and last place of each segment's end, both `(S,)` and increasing.
        block: segments in a block.
    """
    n_segments, n_places = len(rows), len(grid)
    low, high = ranges
    starts = np.empty((block, (high - low).max() + 1), dtype=np.int32)
    kept = np.empty(((n_segments - 1) // block + 1, n_places))
    best = np.zeros(n_places)
    for first in range(0, n_segments, block):
        kept[first // block] = best
        segments = (first, min(first + block, n_segments))
        _advance(tables, rows, grid, ranges, segments, best, starts)
    score = best[-1]
    ends = np.empty(n_segments, dtype=np.int64)
    end = n_places - 1
    for first in range((n_segments - 1) // block * block, -1, -block):
        stop = min(first + block, n_segments)
        if stop < n_segments:
            best[:] = kept[first // block]
            _advance(tables, rows, grid, ranges, (first, stop), best, starts)
        for i in range(stop - 1, first - 1, -1):
            ends[i] = end
            end = starts[i - first, end - low[i]]
    return ends, score
