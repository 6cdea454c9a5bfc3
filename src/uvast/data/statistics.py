"""A dataset in numbers: what to know before training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.segments import UNLABELLED

if TYPE_CHECKING:
    from collections.abc import Collection

    from uvast.data.scaling import Moments
    from uvast.data.spec import FeatureAxis
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary


@dataclass(frozen=True)
class ClassStatistics:
    """One class in the labels of all videos, at the source rate.

    `share` is its fraction of all frames; `mean_frames` is per segment, None if it has none.
    """

    name: str
    n_segments: int
    n_frames: int
    share: float
    mean_frames: float | None


@dataclass(frozen=True)
class SplitSize:
    """How many videos are on either side of a split."""

    train: int
    test: int


@dataclass(frozen=True)
class TimestampCount:
    """The dataset's own timestamps: the name of their file, and how much it holds."""

    file: str
    n_videos: int
    n_timestamps: int


@dataclass(frozen=True)
class ChannelStatistics:
    """The channels of the features over all videos, at the model's rate.

    The smallest and largest deviations are of channels that vary; None if all are constant.
    """

    n_constant: int
    min_deviation: float | None
    max_deviation: float | None

    @classmethod
    def of(cls, moments: Moments) -> ChannelStatistics:
        """From the moments of all videos together."""
        varied = moments.deviation[~moments.is_constant]
        least, most = (float(varied.min()), float(varied.max())) if len(varied) else (None, None)
        return cls(int(moments.is_constant.sum()), least, most)


@dataclass(frozen=True)
class Statistics:
    """A dataset in numbers, at the source rate: those of the paper's supplement, and more.

    Args:
        n_classes: classes, background ones included; None if they are unknown.
        n_partial: videos of which only some frames are labelled.
        n_unlabelled: videos without labels.
        min_frames: frames of the shortest video; None if no video can be read.
        min_segments: fewest segments in a labelled video; None without labels.
        n_features: feature width; None without features.
        feature_axis: which axis of the features is time; None without features.
        channels: the scales of the features; None without features.
        background: classes that Edit and F1 leave out.
        classes: one entry per class; empty without labels.
    """

    n_classes: int | None
    n_videos: int
    n_partial: int
    n_unlabelled: int
    min_frames: int | None
    max_frames: int | None
    mean_frames: float | None
    min_segments: int | None
    max_segments: int | None
    n_features: int | None
    feature_axis: FeatureAxis | None
    channels: ChannelStatistics | None
    frames_per_second: float | None
    sampling_rate: int
    background: tuple[str, ...]
    splits: dict[int, SplitSize]
    timestamps: TimestampCount | None
    classes: tuple[ClassStatistics, ...]


def class_statistics(
    truths: Collection[Segmentation], vocabulary: Vocabulary
) -> tuple[ClassStatistics, ...]:
    """Counts the segments and frames of each class; empty without videos."""
    if not truths:
        return ()
    transcript = np.concatenate([truth.transcript for truth in truths])
    durations = np.concatenate([truth.durations for truth in truths])
    n_frames = int(durations[transcript != UNLABELLED].sum())
    found = []
    for index, name in enumerate(vocabulary.names):
        its = durations[transcript == index]
        count, frames = len(its), int(its.sum())
        mean = frames / count if count else None
        found.append(ClassStatistics(name, count, frames, frames / n_frames, mean))
    return tuple(found)
