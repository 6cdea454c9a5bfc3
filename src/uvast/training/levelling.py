"""Whether training videos should each be brought to their own scale (`train.scaling = "auto"`).

Recordings of other cameras, sensors or units look alike only then; elsewhere it throws away what
tells actions apart. A linear classifier of single frames asks the training side itself: does it
recognise held-out videos more often if all videos are at their own scale?
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.folds import known_subjects
from uvast.data.scaling import Moments
from uvast.errors import InputError
from uvast.training.folds import make_folds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from uvast.data import Dataset
    from uvast.data.folds import Fold
    from uvast.segments import IntArray, Segmentation

    Array = NDArray[np.float64]

MOST_FRAMES = 10_000
MOST_VALUES = 4_000_000
"""Enough to compare two linear classifiers; the frames of long videos are thinned out."""
N_FOLDS = 5
RIDGE = 0.01
"""The penalty of a weight, as a share of the mean variance of the inputs."""
LEAST_GAIN = 0.1
"""The share of frames that has to be gained: a network copes with small differences by itself
(docs/choices.md, "Scaling by video")."""
STANDARD_ERRORS = 2.0


def videos_differ(dataset: Dataset, targets: Mapping[str, Segmentation]) -> bool:
    """Whether levelled videos are recognised so much more often that it is no accident.

    Args:
        dataset: not levelled.
        targets: the samples to learn from, and what is learned. Nothing else is read.
    """
    samples: dict[str, list[str]] = {}
    for name in targets:
        samples.setdefault(dataset.video_of(name), []).append(name)
    folds = _folds(dataset, tuple(samples))
    if not folds:
        return False
    held_out = [[samples[video] for video in fold.held_out] for fold in folds]
    as_they_are, own_scale = (
        _shares_right([_frames(seen, targets, videos) for videos in held_out])
        for seen in (dataset, dataset.levelled())
    )
    gains = own_scale - as_they_are
    error = float(gains.std(ddof=1)) / math.sqrt(len(gains))
    return float(gains.mean()) > max(LEAST_GAIN, STANDARD_ERRORS * error)


@dataclass(frozen=True, eq=False)
class _Frames:
    """The frames of the videos of one fold, one video after the other.

    Args:
        features: `(N, F)`.
        labels: their classes `(N,)`.
        starts: the first frame of each video `(V,)`.
    """

    features: Array
    labels: IntArray
    starts: IntArray


def _folds(dataset: Dataset, videos: tuple[str, ...]) -> tuple[Fold, ...]:
    """Folds of whole videos, and of whole subjects where these are known."""
    try:
        subjects = known_subjects(videos, dataset.spec.group_by, dataset.splits)
    except InputError:  # names that do not tell the subjects must not stop a run
        subjects = None
    return make_folds(videos, N_FOLDS, subjects)


def _frames(
    dataset: Dataset, targets: Mapping[str, Segmentation], videos: Sequence[Sequence[str]]
) -> _Frames:
    """Every so many frames of the samples of each video that a fold holds out."""
    most = min(MOST_FRAMES, MOST_VALUES // dataset.n_features)
    step = -(-sum(one.n_frames for one in targets.values()) // most)
    features, labels, lengths = [], [], []
    for samples in videos:
        own = [targets[name].labels[::step] for name in samples]
        labels += own
        lengths.append(sum(map(len, own)))
        features += [
            dataset.video(name, labels=False).features[: targets[name].n_frames : step]
            for name in samples
        ]
    starts = np.cumsum([0, *lengths[:-1]])
    return _Frames(np.concatenate(features).astype(np.float64), np.concatenate(labels), starts)


def _shares_right(parts: Sequence[_Frames]) -> Array:
    """The share of each video's frames that the other parts teach to recognise `(V,)`."""
    found = []
    for part in parts:
        others = [one for one in parts if one is not part]
        features = np.concatenate([one.features for one in others])
        labels = np.concatenate([one.labels for one in others])
        right = _recognised(features, labels, part.features) == part.labels
        found.append(np.add.reduceat(right, part.starts) / np.diff(part.starts, append=len(right)))
    return np.concatenate(found)


def _recognised(features: Array, labels: IntArray, others: Array) -> IntArray:
    """The classes of other frames `(M, F)` by a ridge regression on frames `(N, F)` with labels.

    All classes count the same.
    """
    moments = Moments.of(features)
    deviation = np.where(moments.is_constant, np.inf, moments.deviation)
    inputs, asked = (
        np.pad((one - moments.mean) / deviation, ((0, 0), (0, 1)), constant_values=1.0)
        for one in (features, others)
    )
    counts = np.bincount(labels)
    weighted = inputs / counts[labels][:, None]
    gram = inputs.T @ weighted
    gram += RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
    learned = np.linalg.solve(gram, weighted.T @ np.eye(len(counts))[labels])
    classes: IntArray = (asked @ learned).argmax(1)
    return classes
