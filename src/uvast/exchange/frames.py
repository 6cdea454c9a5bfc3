"""Annotations in seconds <-> labels and timestamps of a video's frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import InputError, LabelError
from uvast.exchange.frame_times import ConstantRate
from uvast.exchange.overlaps import Overlaps, first_conflict, painted
from uvast.exchange.records import Event, Span, VideoAnnotations
from uvast.exchange.rules import Gaps, overlap_error, point_labels
from uvast.segments import UNLABELLED, Segmentation
from uvast.vocabulary import BACKGROUND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.exchange.frame_times import FrameTimes
    from uvast.segments import IntArray

MOST_FRAMES = 100_000_000
"""Per video: a month at 30 a second. With more, times probably do not count from its start."""

_TOLERANCE = 0.02
"""Label and frame counts may differ by this share: containers and tools count differently."""


@dataclass(frozen=True, eq=False)
class FrameLabels:
    """The labels of a video's frames, where they are known.

    Args:
        names: class names.
        labels: indices into `names` `(T,)`, `UNLABELLED` where nobody looked.
        notes: what was changed on the way, one sentence each.
    """

    names: tuple[str, ...]
    labels: IntArray
    notes: tuple[str, ...] = ()

    @cached_property
    def segmentation(self) -> Segmentation:
        """The segments of a video whose frames are all known."""
        if (self.labels == UNLABELLED).any():
            raise InputError("a video with unknown frames has no segmentation")
        return Segmentation.from_labels(self.labels)

    @cached_property
    def unknown(self) -> tuple[tuple[int, int], ...]:
        """The spans of frames `[start, end)` that nobody looked at."""
        runs = Segmentation.from_labels(self.labels).segments
        return tuple((run.start, run.end) for run in runs if run.action == UNLABELLED)


def count_frames(video: VideoAnnotations, times: FrameTimes) -> int:
    """T: from the video itself, else from the length in the file, else up to the last event."""
    n_frames, what = times.n_frames, "has"
    if n_frames is None:
        observed = video.observed[-1].end if video.observed else 0.0
        end = video.duration or max(video.end, observed)
        n_frames = max(int(times.nearest_edges([end])[0]), 1 if video.events else 0)
        what = f"ends at {end:g} s and has"
    if n_frames > MOST_FRAMES:
        raise LabelError(
            f"{what} more than {MOST_FRAMES // 10**6} million frames",
            where=video.video,
            remedy="times count seconds from the video's start; correct them, or the frame rate",
        )
    return n_frames


def guessed_length(video: VideoAnnotations, times: FrameTimes) -> tuple[str, ...]:
    """A note if the video's length is unknown, so that the frames end with the last event."""
    if times.n_frames is not None or video.duration is not None:
        return ()
    return (f"{video.video}: its length is not known, so its frames end with the last interval",)


def other_length(n_labels: int, times: FrameTimes) -> tuple[str, ...]:
    """A note if there are more or fewer labels than frames; often they are at another rate."""
    n_frames = times.n_frames
    if n_frames is None or abs(n_labels - n_frames) <= _TOLERANCE * max(n_labels, n_frames):
        return ()
    return (
        f"has labels for {n_labels} frames, but the video has {n_frames}; if they are at another "
        "rate, pass it with --fps",
    )


def frame_spans(
    video: VideoAnnotations, times: FrameTimes, n_frames: int
) -> tuple[IntArray, IntArray]:
    """The frames `[start, end)` of all intervals, `(N,)` each; equal if an interval has none."""
    starts = np.minimum(times.nearest_edges([e.start for e in video.intervals]), n_frames)
    ends = np.minimum(times.nearest_edges([e.stop for e in video.intervals]), n_frames)
    return starts, ends


def lost_intervals(video: VideoAnnotations, n_lost: int) -> tuple[str, ...]:
    """A note if intervals have no frame."""
    note = f"{video.video}: {n_lost} intervals cover no frame or lie after the end"
    return (note,) if n_lost else ()


def frame_labels(
    video: VideoAnnotations,
    times: FrameTimes,
    *,
    names: Sequence[str] | None = None,
    gaps: Gaps = "background",
    background: str = BACKGROUND,
    overlaps: Overlaps = "error",
) -> FrameLabels:
    """Turns intervals into frame labels.

    Args:
        video: its intervals; points do not label frames.
        times: when its frames are shown.
        names: the class names; None for those of this video, sorted, background first.
        gaps: whether frames without an interval are background or unknown. Frames outside the
            observed spans are always unknown.
        background: the name of the background class.
        overlaps: which interval counts if several cover a frame.
    """
    n_frames = count_frames(video, times)
    intervals = video.intervals
    names = _names(video, names, background if gaps == "background" else None)
    ids = {name: index for index, name in enumerate(names)}
    starts, ends = frame_spans(video, times, n_frames)
    kept = np.flatnonzero(ends > starts).tolist()
    spans = list(zip(starts[kept].tolist(), ends[kept].tolist(), strict=True))
    conflict = first_conflict(spans, [intervals[index].label for index in kept])
    if conflict is not None and overlaps == "error":
        raise overlap_error(video.video, *(intervals[kept[index]] for index in conflict))
    labels = np.full(n_frames, ids[background] if gaps == "background" else UNLABELLED)
    for first, last in _unobserved(video, times, n_frames):
        labels[first:last] = UNLABELLED
    for index, start, end in painted(spans, overlaps):
        labels[int(start) : int(end)] = ids[intervals[kept[index]].label]
    notes = (f"{video.video}: intervals overlap, the {overlaps} counts",) if conflict else ()
    lost = lost_intervals(video, len(intervals) - len(kept))
    return FrameLabels(names, labels, (*notes, *lost))


def from_frame_labels(
    video: str, labels: IntArray, names: Sequence[str], times: FrameTimes
) -> VideoAnnotations:
    """Turns frame labels `(T,)` into intervals; unknown frames count as not observed.

    Args:
        video: its name.
        labels: indices into `names`, or `UNLABELLED`.
        names: class names.
        times: when its frames are shown.
    """
    runs = Segmentation.from_labels(labels).segments
    edges = times.edges(np.arange(len(labels) + 1)).tolist()
    known = [run for run in runs if run.action != UNLABELLED]
    return VideoAnnotations(
        video,
        tuple(Event(names[run.action], edges[run.start], edges[run.end]) for run in known),
        observed=tuple(Span(edges[run.start], edges[run.end]) for run in known),
        frame_rate=rate_of(times),
        duration=edges[-1] if len(labels) else None,
    )


@dataclass(frozen=True, eq=False)
class FrameTimestamps:
    """One annotated frame per segment, as in data/timestamps files.

    Args:
        timestamps: frames `(S,)`, strictly increasing.
        labels: what happens there.
    """

    timestamps: IntArray
    labels: tuple[str, ...]


def frame_timestamps(video: VideoAnnotations, times: FrameTimes) -> FrameTimestamps:
    """Turns points into timestamps, if their labels are never intervals."""
    only = set(point_labels(video))
    points = [event for event in video.points if event.label in only]
    frames = times.frames_at([event.start for event in points])
    twice = [frame for frame, count in Counter(frames.tolist()).items() if count > 1]
    if twice:
        pair = [e for e, frame in zip(points, frames, strict=True) if frame == twice[0]]
        raise LabelError(
            f"{pair[0].label!r} and {pair[1].label!r} are both at frame {twice[0]}",
            where=video.video,
            remedy="a frame has one timestamp: move or remove one of them, or choose a --tier",
        )
    return FrameTimestamps(frames, tuple(event.label for event in points))


def rate_of(times: FrameTimes) -> float | None:
    """The constant rate, or None for times that vary."""
    return float(times.rate) if isinstance(times, ConstantRate) else None


def _names(
    video: VideoAnnotations, names: Sequence[str] | None, background: str | None
) -> tuple[str, ...]:
    own = sorted({event.label for event in video.intervals})
    first = () if background is None else (background,)
    if names is None:
        return (*first, *(name for name in own if name not in first))
    absent = sorted({*own, *first} - set(names))
    if absent:
        raise LabelError(
            f"label {absent[0]!r} is not among the classes",
            where=video.video,
            remedy=f"add it or map it to one of {', '.join(names[:12])}",
        )
    return tuple(names)


def _unobserved(video: VideoAnnotations, times: FrameTimes, n_frames: int) -> list[tuple[int, int]]:
    if video.observed is None:
        return []
    edges = [0]
    for span in video.observed:
        edges += times.nearest_edges([span.start, span.end]).tolist()
    edges.append(n_frames)
    return [(edges[i], edges[i + 1]) for i in range(0, len(edges), 2) if edges[i] < edges[i + 1]]
