"""Timestamps: annotated frames, brought to the model's rate.

The rules: a video's timestamps are in order, inside the video, and no frame has two; anything else
is an error that names the video. Each timestamp starts its own segment:

- Several in one segment are neighbours with one label, which become one segment when the
  pseudo-segmentation is merged. Two that fall on one frame at the model's rate count once.
- A segment without a timestamp is unknown: its frames go to the timestamps beside it.
- So do background gaps without a timestamp; a timestamp with a background label keeps a gap.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pydantic

from uvast.errors import InputError, MissingFileError, TimestampError
from uvast.sampling import nearest_sampled
from uvast.segments import check_timestamps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from uvast.data.spec import DatasetSpec
    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary

# more frames than any video has, and few enough for every integer type
_LARGEST = 2**48


@dataclass(frozen=True)
class Annotation:
    """One annotated frame as written in a file: a frame number or a time, and usually a label.

    Args:
        frame: the frame's number, from 0; None if `time` is given.
        time: seconds from the start; None if `frame` is given.
        label: the class name; None in the published files, which leave it to the ground truth.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(extra="forbid")

    frame: int | None = None
    time: float | None = None
    label: str | None = None


@dataclass(frozen=True, eq=False)
class Timestamps:
    """A video's annotated frames at the model's rate.

    Args:
        frames: frame indices `(S,)`, increasing.
        transcript: the class id of each `(S,)`.
    """

    frames: IntArray
    transcript: IntArray

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Timestamps):
            return NotImplemented
        return np.array_equal(self.frames, other.frames) and np.array_equal(
            self.transcript, other.transcript
        )

    def __hash__(self) -> int:
        return hash((self.frames.tobytes(), self.transcript.tobytes()))

    def __len__(self) -> int:
        return len(self.frames)


def annotate(
    timestamps: Timestamps, vocabulary: Vocabulary, *, sampling_rate: int = 1
) -> tuple[Annotation, ...]:
    """Timestamps as written in a file; `sampling_rate` brings them back to the source rate."""
    labels = vocabulary.decode(timestamps.transcript.tolist())
    return tuple(
        Annotation(frame=frame * sampling_rate, label=label)
        for frame, label in zip(timestamps.frames.tolist(), labels, strict=True)
    )


def resolve_timestamps(
    video: str,
    annotations: Sequence[Annotation],
    *,
    spec: DatasetSpec,
    sampling_rate: int,
    vocabulary: Vocabulary,
    source_frames: int,
    source_labels: Callable[[], IntArray],
    where: Path,
    stretches: Sequence[tuple[int, int]] | None = None,
) -> list[Timestamps]:
    """Converts one video's annotations to frames and class ids at the model's rate.

    Args:
        video: its name, for errors.
        annotations: as read from a file.
        spec: says what the annotations count.
        sampling_rate: the model's.
        vocabulary: gives the class ids.
        source_frames: the video's length at the source rate.
        source_labels: reads the ground truth; called only if an annotation has no label.
        where: the file, for errors.
        stretches: the source frames `[start, end)` that are labelled, None for all.

    Returns:
        The timestamps of each stretch, counted from its start, or those of the video. Annotations
        outside the stretches are not looked up.
    """
    place = f"{where}, video {video}"
    frames = [source_frame(entry, spec, place) for entry in annotations]
    truth, end = None, source_frames
    if any(entry.label is None for entry in annotations):
        truth = _ground_truth(source_labels, place)
        end = min(end, len(truth))
    # times are finer than sub-sampled frames: two may fall on one and still be in order
    unit = 1 if any(entry.frame is None for entry in annotations) else frames_a_unit(spec)
    try:
        check_timestamps(
            [frame // unit for frame in frames],
            -(-end // unit),
            names=[
                f"timestamp {entry.frame}"
                if entry.time is None
                else f"time {entry.time:g} s (frame {frame})"
                for entry, frame in zip(annotations, frames, strict=True)
            ],
        )
    except InputError as error:
        remedy = error.remedy
        if any(entry.time is not None for entry in annotations):
            remedy = f"{remedy}; frames_per_second is {spec.frames_per_second:g} in dataset.toml"
        raise TimestampError(error.what, where=place, remedy=remedy) from None
    found = []
    for start, stop in [(0, end)] if stretches is None else stretches:
        part = slice(bisect_left(frames, start), bisect_left(frames, stop))
        ids = [
            int(truth[frame])
            if truth is not None and entry.label is None
            else vocabulary.id_of(entry.label or "", where=place)
            for entry, frame in zip(annotations[part], frames[part], strict=True)
        ]
        inside = np.array(frames[part], np.int64)
        found.append(_at_rate(inside, np.array(ids, np.int64), sampling_rate, place, (start, stop)))
    return found


def joined_timestamps(parts: Sequence[Timestamps]) -> Timestamps:
    """The timestamps of one video, from those of its parts in order."""
    return Timestamps(
        np.concatenate([one.frames for one in parts]),
        np.concatenate([one.transcript for one in parts]),
    )


def source_frame(entry: Annotation, spec: DatasetSpec, place: str) -> int:
    """The source frame of an annotation; `place` names its video in errors."""
    if entry.frame is not None:
        position: float = entry.frame * frames_a_unit(spec)
    elif entry.time is None or not abs(entry.time) <= _LARGEST:
        raise TimestampError(
            f"time {_shown(entry.time)} is not a time",
            where=place,
            remedy="give seconds from the start",
        )
    elif spec.frames_per_second is None:
        raise TimestampError(
            "gives a time in seconds, but the frame rate is unknown",
            where=place,
            remedy="set frames_per_second in dataset.toml",
        )
    else:
        # 0.1 s at 30 frames a second is frame 3, although 0.1 * 30 may be stored a little below 3
        position = entry.time * spec.frames_per_second + 1e-6
    if abs(position) > _LARGEST:
        raise TimestampError(
            f"timestamp {_shown(position)} is not a frame of any video",
            where=place,
            remedy="timestamps count frames from 0",
        )
    return math.floor(position)


def frames_a_unit(spec: DatasetSpec) -> int:
    """How many source frames one step of a file's frame numbers stands for."""
    return spec.sampling_rate if spec.timestamps_rate == "sampled" else 1


def _at_rate(
    frames: IntArray, ids: IntArray, rate: int, place: str, part: tuple[int, int]
) -> Timestamps:
    """Source frames and class ids `(S,)` at the model's rate, counted from the part's start.

    A timestamp goes to the nearest frame, or to the one before if the next timestamp needs that.
    """
    start, stop = part
    before = (frames - start) // rate
    sampled = nearest_sampled(frames - start, rate, stop - start)
    for earlier, later in reversed(list(pairwise(range(len(ids))))):
        # one that has stepped back takes those of its own label along
        if sampled[earlier] > sampled[later] - int(ids[earlier] != ids[later]):
            sampled[earlier] = before[earlier]
    together = np.flatnonzero(sampled[1:] == sampled[:-1]) + 1
    for later in together[ids[together] != ids[together - 1]].tolist():
        raise TimestampError(
            f"timestamps {frames[later - 1]} and {frames[later]} have different labels but fall on "
            f"the same frame at sampling rate {rate}",
            where=place,
            remedy="remove one of them or choose a lower sampling rate",
        )
    return Timestamps(np.delete(sampled, together), np.delete(ids, together))


def _ground_truth(source_labels: Callable[[], IntArray], place: str) -> IntArray:
    try:
        return source_labels()
    except MissingFileError:
        raise TimestampError(
            "has timestamps without labels, and no ground truth to take them from",
            where=place,
            remedy="add labels to the timestamps",
        ) from None


def _shown(number: float | None) -> str:
    """A number of any size in few digits, which neither `str` nor `float` can promise."""
    return "None" if number is None else f"{Decimal(number):.3g}"
