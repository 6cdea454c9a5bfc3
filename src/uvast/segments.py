"""Labels, transcripts, durations, segments and timestamps, and every conversion between them.

A video of T frames has two equal forms: frame labels `(T,)`, or a transcript `(S,)` with integer
durations `(S,)` that sum to T. Ends are half-open everywhere, `[start, end)`; the last end is T.
No other module converts between these forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from uvast.errors import InputError, counted
from uvast.sampling import sampled_length, source_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

IntArray = NDArray[np.int64]

UNLABELLED = -1
"""Replaces the class where nobody looked: neither training nor scoring sees such frames."""


class Segment(NamedTuple):
    """One action over the frames `[start, end)`."""

    action: int
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Segments that tile `[0, T)`.

    Neighbours may share an action (the chunks of a long segment do); `merged` makes them one.

    Args:
        transcript: ordered actions `(S,)`; `UNLABELLED` where a ground truth has none.
        durations: frames per segment `(S,)`, positive.
    """

    transcript: IntArray
    durations: IntArray

    def __post_init__(self) -> None:
        transcript = _frozen_vector(self.transcript, "transcript")
        durations = _frozen_vector(self.durations, "durations")
        if len(transcript) != len(durations):
            raise InputError(
                f"a transcript of {len(transcript)} actions with {len(durations)} durations"
            )
        if len(durations) and durations.min() < 1:
            raise InputError(
                f"a segment of {durations.min()} frames, but every segment needs at least 1"
            )
        object.__setattr__(self, "transcript", transcript)
        object.__setattr__(self, "durations", durations)

    @classmethod
    def from_labels(cls, labels: ArrayLike) -> Segmentation:
        """The maximal runs of frame labels `(T,)`."""
        labels = _frozen_vector(labels, "labels")
        starts = run_starts(labels)
        return cls(labels[starts], np.diff(starts, append=len(labels)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Segmentation):
            return NotImplemented
        return np.array_equal(self.transcript, other.transcript) and np.array_equal(
            self.durations, other.durations
        )

    def __hash__(self) -> int:
        return hash((self.transcript.tobytes(), self.durations.tobytes()))

    def __len__(self) -> int:
        return len(self.transcript)

    @property
    def n_segments(self) -> int:
        """S."""
        return len(self.transcript)

    @cached_property
    def n_frames(self) -> int:
        """T."""
        return int(self.durations.sum())

    @cached_property
    def ends(self) -> IntArray:
        """The frame after each segment's last `(S,)`."""
        return _read_only(np.cumsum(self.durations))

    @cached_property
    def starts(self) -> IntArray:
        """Each segment's first frame `(S,)`."""
        return _read_only(self.ends - self.durations)

    @property
    def labels(self) -> IntArray:
        """The class of each frame `(T,)`."""
        return np.repeat(self.transcript, self.durations)

    @property
    def segment_of_frame(self) -> IntArray:
        """The index of the segment that holds each frame, the hard assignment `(T,)`."""
        return np.repeat(np.arange(len(self)), self.durations)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The segments in order."""
        columns = (self.transcript.tolist(), self.starts.tolist(), self.ends.tolist())
        return tuple(Segment(*row) for row in zip(*columns, strict=True))

    def merged(self) -> Segmentation:
        """Joins neighbours with the same action into one segment."""
        starts = run_starts(self.transcript)
        if len(starts) == len(self):
            return self
        return Segmentation(self.transcript[starts], np.add.reduceat(self.durations, starts))

    def chunked(self, chunk_fraction: float) -> Segmentation:
        """Cuts segments longer than `chunk_fraction * T` into equal chunks, none longer than that.

        A chunk is at least one frame; chunks of one segment differ by at most one frame.
        """
        if not 0 < chunk_fraction <= 1:
            raise InputError(f"a chunk's largest fraction is {chunk_fraction}, not in (0, 1]")
        longest = max(1, int(chunk_fraction * self.n_frames))
        n_chunks = -(-self.durations // longest)
        segment = np.repeat(np.arange(len(self)), n_chunks)
        place = np.arange(len(segment)) - np.repeat(np.cumsum(n_chunks) - n_chunks, n_chunks)
        base, extra = np.divmod(self.durations, n_chunks)
        return Segmentation(self.transcript[segment], base[segment] + (place < extra[segment]))

    def first(self, n_frames: int) -> Segmentation:
        """The first frames; labels may be a little shorter than their features."""
        return self.part(0, n_frames)

    def part(self, start: int, end: int) -> Segmentation:
        """The frames `[start, end)`."""
        if not 0 <= start <= end <= self.n_frames:
            raise InputError(
                f"{start} to {end} are not frames of a segmentation of {self.n_frames}"
            )
        durations = self.ends.clip(max=end) - self.starts.clip(min=start)
        kept = durations > 0
        return Segmentation(self.transcript[kept], durations[kept])

    def labelled_parts(self) -> tuple[tuple[int, int], ...]:
        """The maximal labelled stretches `[start, end)`; in most videos, one with all frames."""
        runs = Segmentation(self.transcript != UNLABELLED, self.durations).merged()
        return tuple((run.start, run.end) for run in runs.segments if run.action)

    def upsampled(self, rate: int, n_frames: int) -> Segmentation:
        """Back to the source rate, of which `[::rate]` was seen: `n_frames` source frames.

        Cuts come to lie midway between the two frames that were seen; see `uvast.sampling`.
        """
        if rate < 1:
            raise InputError(f"a sampling rate of {rate}, not at least 1")
        if self.n_frames != sampled_length(n_frames, rate):
            raise InputError(
                f"{self.n_frames} frames at sampling rate {rate} cannot be {n_frames} source frames"
            )
        starts = source_starts(self.starts, rate)
        return Segmentation(self.transcript, np.diff(starts, append=n_frames))

    def sampled_timestamps(self, generator: np.random.Generator) -> IntArray:
        """One frame drawn uniformly from each segment `(S,)`."""
        return self.starts + generator.integers(0, self.durations)


def run_starts(values: NDArray[np.generic]) -> IntArray:
    """Where the maximal runs of equal neighbours start."""
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.concatenate(([0], changes))[: len(values)].astype(np.int64)


def merge_repeats(transcript: ArrayLike) -> IntArray:
    """`A B B C A A A -> A B C A`."""
    values = np.asarray(transcript, dtype=np.int64)
    return values[run_starts(values)]


def round_durations(fractions: ArrayLike, n_frames: int) -> IntArray:
    """Fractions `(S,)` to integer durations that sum to `n_frames`, by largest remainder.

    Fractions are relative: they need not sum to 1. Every segment gets at least one frame whenever
    `S <= n_frames`; else the largest ones get one frame each. Of equal remainders the first wins.
    """
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.ndim != 1 or not len(shares):
        raise InputError(f"fractions of shape {shares.shape}, not (S,) with at least one segment")
    if not np.isfinite(shares).all() or (shares < 0).any():
        raise InputError("fractions have to be finite and not negative")
    if n_frames < 0:
        raise InputError(f"{n_frames} frames to share out")
    durations = np.zeros(len(shares), dtype=np.int64)
    if len(shares) > n_frames:
        durations[np.argsort(-shares, kind="stable")[:n_frames]] = 1
        return durations
    # The largest is made 1: sums of huge or tiny shares neither overflow nor vanish.
    shares = shares / shares.max() if shares.any() else np.ones_like(shares)
    room = n_frames
    free = np.ones(len(shares), dtype=bool)
    while free.any():
        short = free & (shares * room < shares[free].sum())
        if not short.any():
            break
        durations[short] = 1
        free &= ~short
        room = n_frames - int(durations.sum())
    if free.any():
        durations[free] = _largest_remainder(shares[free], room)
    return durations


def midpoint_durations(timestamps: ArrayLike, n_frames: int) -> IntArray:
    """Durations `(S,)` of the segmentation that cuts half-way between neighbouring timestamps."""
    frames = check_timestamps(timestamps, n_frames)
    cuts = (frames[:-1] + frames[1:] + 1) // 2
    return np.diff(cuts, prepend=0, append=n_frames)


def check_timestamps(
    timestamps: ArrayLike, n_frames: int, *, names: Sequence[str] | None = None
) -> IntArray:
    """Timestamps `(S,)`, checked: at least one, strictly increasing, inside `[0, n_frames)`.

    Errors call each of them by its entry in `names`, else by its number.
    """
    frames = _frozen_vector(timestamps, "timestamps")
    names = [f"timestamp {frame}" for frame in frames.tolist()] if names is None else names
    if not len(frames):
        raise InputError("no timestamps", remedy="annotate at least one frame")
    for index, (earlier, later) in enumerate(pairwise(frames.tolist())):
        if later <= earlier:
            raise InputError(
                f"{names[index + 1]} comes after {names[index].removeprefix('timestamp ')}",
                remedy="order the timestamps, one frame each",
            )
    if frames[0] < 0 or frames[-1] >= n_frames:
        outside = names[0] if frames[0] < 0 else names[-1]
        raise InputError(
            f"{outside} is outside of the video's {counted(n_frames, 'frame')}",
            remedy="timestamps count frames from 0",
        )
    return frames


def _largest_remainder(shares: NDArray[np.float64], total: int) -> IntArray:
    ideal = shares / shares.sum() * total
    durations: IntArray = np.floor(ideal).astype(np.int64)
    order = np.argsort(-(ideal - durations), kind="stable")
    durations[order[: total - int(durations.sum())]] += 1
    return durations


def _frozen_vector(values: ArrayLike, name: str) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} of shape {array.shape}, not of one dimension")
    if array.size and array.dtype.kind not in "iub":
        raise InputError(f"{name} of type {array.dtype}, not integers")
    return _read_only(array.astype(np.int64, copy=True))


def _read_only(array: IntArray) -> IntArray:
    array.flags.writeable = False
    return array
