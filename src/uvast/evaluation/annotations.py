"""Two sets of annotations of the same videos, compared frame by frame where both are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uvast.errors import LabelError
from uvast.evaluation.agreement import Agreement, Pair, agreement
from uvast.exchange import (
    ConstantRate,
    FrameTimes,
    exact_rate,
    frame_labels,
    match_videos,
)
from uvast.exchange.frames import count_frames, rate_of
from uvast.exchange.names import without_media_suffix
from uvast.segments import UNLABELLED, Segmentation
from uvast.vocabulary import BACKGROUND, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from uvast.exchange import Gaps, Overlaps, VideoAnnotations
    from uvast.segments import IntArray

_INTERVALS = "compare files of intervals, not of points"
USUAL_RATE = 25.0
"""Frames a second where neither side gives a rate."""


class Labelled(NamedTuple):
    """Both sides' labels of a video.

    Args:
        first: class ids of the first side's frames, or `UNLABELLED` `(T,)`.
        second: those of the second side `(T,)`.
        rate: frames a second; None for times that vary.
    """

    first: IntArray
    second: IntArray
    rate: float | None


@dataclass(frozen=True)
class AnnotatorComparison:
    """How far two sets of annotations agree.

    Args:
        agreement: over all videos.
        videos: each video separately, by its name on the first side.
        classes: the labels of both sides.
        notes: what was left out or assumed, one sentence each.
        labels: both sides' labels of each video.
    """

    agreement: Agreement
    videos: dict[str, Agreement]
    classes: Vocabulary
    notes: tuple[str, ...]
    labels: dict[str, Labelled] = field(compare=False, repr=False)

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            **self.agreement.as_dict(),
            "labels": list(self.classes.names),
            "videos": {name: one.as_dict() for name, one in self.videos.items()},
            "notes": list(self.notes),
        }


def compare_annotations(
    first: Sequence[VideoAnnotations],
    second: Sequence[VideoAnnotations],
    *,
    times_of: Callable[[str], FrameTimes | None],
    gaps: Gaps = "background",
    background: str = BACKGROUND,
    overlaps: Overlaps = "error",
) -> AnnotatorComparison:
    """Compares the intervals of two annotators.

    Args:
        first: one annotator's videos.
        second: the other's; videos match by name, with or without suffix. The rest is left out
            and listed.
        times_of: the frame times of a video of the first side, None if unknown.
        gaps: what frames without an interval are.
        background: the name of the background class.
        overlaps: which interval counts if several cover a frame.
    """
    pairs, notes = _paired(first, second)
    classes = _classes([video for pair in pairs for video in pair], background)
    parts: dict[str, list[Pair]] = {}
    labelled: dict[str, Labelled] = {}
    for one, other in pairs:
        times, assumed = _times(one, other, times_of(one.video))
        found = [
            frame_labels(
                video,
                times,
                names=classes.names,
                gaps=gaps,
                background=background,
                overlaps=overlaps,
            )
            for video in (one, other)
        ]
        notes += [*assumed, *(note for side in found for note in side.notes)]
        known = list(_known(found[0].labels, found[1].labels, times))
        n_unknown = len(found[0].labels) - sum(pair.first.n_frames for pair in known)
        if n_unknown:
            notes.append(f"{one.video}: {n_unknown} frames without labels are left out")
        if known:
            parts[one.video] = known
            labelled[one.video] = Labelled(found[0].labels, found[1].labels, rate_of(times))
    if not parts:
        raise LabelError("no frame is labelled by both", remedy="compare videos that both labelled")
    return AnnotatorComparison(
        agreement((pair for known in parts.values() for pair in known), classes),
        {name: agreement(known, classes) for name, known in parts.items()},
        classes,
        tuple(notes),
        labelled,
    )


def _classes(videos: Sequence[VideoAnnotations], background: str) -> Vocabulary:
    """The background and all labels of intervals; refuses videos that have only points."""
    labels = sorted({event.label for video in videos for event in video.intervals})
    if not labels:
        raise LabelError("there are no intervals to compare", remedy=_INTERVALS)
    for one in videos:
        if one.events and not one.intervals:
            raise LabelError(
                "one side has points and no intervals", where=one.video, remedy=_INTERVALS
            )
    return Vocabulary(
        (background, *(label for label in labels if label != background)), (background,)
    )


def _times(
    one: VideoAnnotations, other: VideoAnnotations, times: FrameTimes | None
) -> tuple[FrameTimes, list[str]]:
    """A video's frame times, including how many frames, and what had to be assumed."""
    notes = []
    if times is None:
        rate = one.frame_rate or other.frame_rate
        if rate is None:
            notes.append(f"{one.video}: compared at {USUAL_RATE:g} frames a second")
        times = ConstantRate(exact_rate(rate or USUAL_RATE))
    if isinstance(times, ConstantRate):
        n_frames = max(count_frames(one, times), count_frames(other, times))
        times = ConstantRate(times.rate, n_frames)
    return times, notes


def _paired(
    first: Sequence[VideoAnnotations], second: Sequence[VideoAnnotations]
) -> tuple[list[tuple[VideoAnnotations, VideoAnnotations]], list[str]]:
    """Pairs the videos of both sides; a single video on each side needs no matching name.

    Equal names go first: else `a.mp4` could take an `a` that belongs to another video.
    """
    if len(first) == len(second) == 1:
        names = first[0].video, second[0].video
        is_same = without_media_suffix(names[0]) == without_media_suffix(names[1])
        note = f"{names[0]} is compared with {names[1]}: each side has one video"
        return [(first[0], second[0])], [] if is_same else [note]
    others = {video.video: video for video in second}
    same = {video.video: others.pop(video.video) for video in first if video.video in others}
    pairs, notes = [], []
    for video in first:
        if video.video in same:
            pairs.append((video, same[video.video]))
            continue
        try:
            match = match_videos([video.video], list(others))[video.video]
        except LabelError:
            notes.append(f"{video.video}: only the first side has it")
            continue
        pairs.append((video, others.pop(match)))
    notes += [f"{name}: only the second side has it" for name in others]
    if not pairs:
        raise LabelError(
            f"no video is on both sides ({first[0].video}, … and {second[0].video}, …)"
            if first and second
            else "one side has no videos",
            remedy="give annotations of the same videos, under the same names",
        )
    return pairs, notes


def _known(first: IntArray, second: IntArray, times: FrameTimes) -> Iterator[Pair]:
    """The stretches that both sides have labelled."""
    known = Segmentation.from_labels((first != UNLABELLED) & (second != UNLABELLED))
    for run in known.segments:
        if run.action:
            part = slice(run.start, run.end)
            edges = times.edges(np.arange(run.start, run.end + 1))
            yield Pair(
                Segmentation.from_labels(first[part]), Segmentation.from_labels(second[part]), edges
            )
