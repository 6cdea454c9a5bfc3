"""Annotations in seconds to the label files of a dataset, at the frames of its features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, repeat, starmap
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.label_files import labels_text, mapping_text
from uvast.data.labelled import LABELLED_FILE, labelled_text
from uvast.data.timestamp_files import timestamps_json
from uvast.data.timestamps import Annotation
from uvast.errors import LabelError
from uvast.exchange.frames import frame_labels, frame_timestamps
from uvast.exchange.rules import point_labels
from uvast.files.names import GROUND_TRUTH
from uvast.segments import UNLABELLED, Segmentation
from uvast.vocabulary import UNLABELLED_WORD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.exchange.frame_times import FrameTimes
    from uvast.exchange.frames import FrameLabels
    from uvast.exchange.records import VideoAnnotations

MAPPING, TIMESTAMPS = "mapping.txt", "timestamps.json"


@dataclass(frozen=True)
class VideoLabels:
    """What training can know about one video.

    Args:
        name: of the video.
        labels: class names, `unlabelled` where nobody has looked, each with its number of frames;
            None if there are only clicks.
        timestamps: the clicks, or the middles of labelled segments.
        stretches: frames `[start, end)` that somebody has looked at; None for the whole video.
        notes: what could not be used, one sentence each.
    """

    name: str
    labels: tuple[tuple[str, int], ...] | None
    timestamps: tuple[Annotation, ...]
    stretches: tuple[tuple[int, int], ...] | None = None
    notes: tuple[str, ...] = ()


def label_video(video: VideoAnnotations, times: FrameTimes, background: str) -> VideoLabels:
    """Labels one video; annotations that contradict each other are an error.

    Any interval makes a video fully labelled: observed frames between intervals are `background`.
    Without intervals, its points are timestamps.
    """
    if UNLABELLED_WORD in video.labels:
        raise LabelError(
            f"{UNLABELLED_WORD!r} cannot be the name of an action",
            where=video.video,
            remedy="rename it",
        )
    return (_full if video.intervals else _clicked)(video, times, background)


def derived_files(
    videos: Sequence[VideoLabels], background: str, named: Sequence[str] = ()
) -> dict[str, str]:
    """The content of a dataset's label files, by their paths in it.

    Args:
        videos: what training can know about each.
        background: the class that comes first.
        named: classes that `dataset.toml` calls background; they exist even if nobody has used
            them yet.
    """
    files = {
        f"{GROUND_TRUTH}/{video.name}.txt": labels_text(
            chain.from_iterable(starmap(repeat, video.labels))
        )
        for video in videos
        if video.labels is not None
    }
    if videos:
        files[TIMESTAMPS] = timestamps_json({video.name: video.timestamps for video in videos})
        files[MAPPING] = mapping_text(class_names(videos, background, named))
    stretches = {v.name: v.stretches for v in videos if v.stretches is not None}
    if stretches:
        files[LABELLED_FILE] = labelled_text(stretches)
    return files


def class_names(videos: Sequence[VideoLabels], background: str, named: Sequence[str]) -> list[str]:
    """The classes that occur or are named, sorted, background first."""
    found = {one.label for video in videos for one in video.timestamps if one.label is not None}
    return sorted(found | set(named), key=lambda name: (name != background, name))


def _full(video: VideoAnnotations, times: FrameTimes, background: str) -> VideoLabels:
    found = frame_labels(video, times, background=background)
    segmentation = Segmentation.from_labels(found.labels)
    runs = segmentation.segments
    known = [run for run in runs if run.action != UNLABELLED]
    if not known:
        raise LabelError(
            "none of its frames has been looked at",
            where=video.video,
            remedy="label at least one whole frame of it",
        )
    names = (*found.names, UNLABELLED_WORD)  # UNLABELLED is -1, the last place
    return VideoLabels(
        video.video,
        tuple((names[run.action], run.end - run.start) for run in runs),
        tuple(
            Annotation(frame=(run.start + run.end - 1) // 2, label=names[run.action])
            for run in known
        ),
        None if len(known) == len(runs) else segmentation.labelled_parts(),
        (*found.notes, *_unused_clicks(video, times, found)),
    )


def _unused_clicks(video: VideoAnnotations, times: FrameTimes, found: FrameLabels) -> Iterator[str]:
    """Notes on clicks in a video with segments; those in a segment of their label add nothing."""
    alone = set(point_labels(video))
    frames = np.minimum(times.frames_at([e.start for e in video.points]), len(found.labels) - 1)
    shown = [found.names[label] if label >= 0 else None for label in found.labels[frames].tolist()]
    pairs = zip(video.points, shown, strict=True)
    lost = [event.label for event, label in pairs if event.label != label]
    for is_alone, rest in (
        (True, "will not be used"),
        (False, "outside of them will not be used; draw segments there"),
    ):
        labels = [label for label in lost if (label in alone) == is_alone]
        if labels:
            names = ", ".join(sorted(set(labels)))
            yield f"{video.video} has segments, so its {_clicks(len(labels))} of {names} {rest}"


def _clicked(video: VideoAnnotations, times: FrameTimes, background: str) -> VideoLabels:
    n_frames = times.n_frames or 0
    end = float(times.edges([n_frames])[0])
    inside = tuple(event for event in video.events if event.start <= end)
    looked_at = frame_labels(video, times, background=background).labels != UNLABELLED
    clicks = frame_timestamps(replace(video, events=inside), times)
    kept = [
        Annotation(frame=frame, label=label)
        for frame, label in zip(clicks.timestamps.tolist(), clicks.labels, strict=True)
        if looked_at[frame]
    ]
    notes = []
    if len(kept) < len(video.events):
        n_lost = len(video.events) - len(kept)
        where = "after its end or outside of what was observed"
        notes.append(f"{video.video}: {_clicks(n_lost)} left out, {where}")
    if not kept:
        raise LabelError(
            "none of its clicks lies within the video",
            where=video.video,
            remedy="correct their times",
        )
    stretches = None
    if not looked_at.all():
        runs = Segmentation.from_labels(looked_at.astype(np.int64)).segments
        holding = [
            run
            for run in runs
            if run.action and any(run.start <= (one.frame or 0) < run.end for one in kept)
        ]
        stretches = tuple((run.start, run.end) for run in holding)
    return VideoLabels(video.video, None, tuple(kept), stretches, tuple(notes))


def _clicks(number: int) -> str:
    return f"{number} click{'' if number == 1 else 's'}"
