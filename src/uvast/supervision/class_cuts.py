"""Pseudo-segmentations from class models shared by all videos (beyond the paper).

K-medoids looks at one video at a time. But the timestamps say which segments, anywhere in the
data, show the same action. So cuts and models take turns, starting from k-medoids: each frame
between two timestamps is compared with the means of the two segments around it, and with a diagonal
Gaussian for each of the two classes, fitted on the current segments of all videos. Each cue is
measured in units of its mean absolute difference over the gap, and their sum decides the cut. The
prior pulls as in k-medoids, but not to the midpoint, which would make long actions too short: it
pulls to where the two classes' mean lengths divide the gap (see `click_lengths`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.segments import Segmentation
from uvast.supervision.class_model import ClassFit
from uvast.supervision.distances import TIE
from uvast.supervision.k_medoids import best_cut, constrained_k_medoids
from uvast.supervision.video_view import Scale, VideoView, smoothed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from uvast.config import MetricName
    from uvast.data import Timestamps
    from uvast.segments import IntArray
    from uvast.supervision.class_model import ClassModel
    from uvast.supervision.distances import FloatArray

    Read = Callable[[str], NDArray[np.floating[Any]]]

N_ROUNDS = 10
# the most frames from one timestamp to the next that k-medoids looks at
_LONG_GAP = 2000


def class_model_durations(
    read: Read,
    timestamps: Mapping[str, Timestamps],
    *,
    metric: MetricName = "euclidean",
    prior: float = 0.25,
    n_rounds: int = N_ROUNDS,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, IntArray]:
    """Durations `(S,)` of each video.

    Every round reads every video once; only one is held at a time.

    Args:
        read: returns a video's features `(T, F)`.
        timestamps: of each video.
        metric: how frames are compared with their segments: by `euclidean` distance, or by
            direction alone (`cosine`).
        prior: the weight of the pull to where mean lengths divide a gap.
        n_rounds: the most rounds; they end early when no cut moves.
        progress: called with how many times a video has been read, and the most that may be.
    """
    return fit_class_model(
        read, timestamps, metric=metric, prior=prior, n_rounds=n_rounds, progress=progress
    )[0]


def fit_class_model(
    read: Read,
    timestamps: Mapping[str, Timestamps],
    *,
    metric: MetricName = "euclidean",
    prior: float = 0.25,
    n_rounds: int = N_ROUNDS,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, IntArray], ClassModel]:
    """Like `class_model_durations`, but also returns the last class model, for `cut_again`."""
    durations: dict[str, IntArray] = {}
    scales: dict[str, Scale] = {}
    n_classes = 1 + max(int(entry.transcript.max()) for entry in timestamps.values())
    model: ClassModel | None = None
    n_done, n_most = 0, (1 + n_rounds) * len(timestamps)
    for _ in range(1 + n_rounds):
        fit = ClassFit(n_classes)
        moved = False
        for name, entry in timestamps.items():
            frames = smoothed(read(name), len(entry))
            if name not in scales:
                scales[name] = Scale.of(frames)
            video = VideoView(frames, scales[name], metric)
            if model is None:
                found = _start(video, entry.frames, prior)
            else:
                found = _cut(video, entry, durations[name], model, prior)
            moved |= name not in durations or not np.array_equal(found, durations[name])
            durations[name] = found
            fit.add(video, entry, Segmentation(entry.transcript, found))
            n_done += 1
            if progress is not None:
                progress(n_done, n_most)
        if not moved:
            break
        model = fit.model()
    assert model is not None, "the first round moves all cuts"
    return durations, model


def cut_again(
    video: VideoView,
    timestamps: Timestamps,
    durations: IntArray,
    model: ClassModel | None,
    gaps: Iterable[int],
    *,
    prior: float = 0.25,
) -> IntArray:
    """Durations `(S,)` of one video after some of its timestamps changed; takes moments.

    Args:
        video: its features.
        timestamps: as they are now.
        durations: the durations so far, or a guess `(S,)`.
        model: the class model; without one, or for a class that it has not seen, the means of the
            segments decide alone.
        gaps: the pairs of timestamps to cut between, by the index of the left one.
        prior: the weight of the pull to where mean lengths divide a gap.
    """
    return _cut(video, timestamps, durations, model, prior, gaps)


def _start(video: VideoView, timestamps: IntArray, prior: float) -> IntArray:
    """Durations `(S,)` by k-medoids.

    Its time is quadratic in the length of segments. Averaged frames differ little from their
    neighbours, so every few frames of a long gap are enough.
    """
    n_frames = len(video.frames)
    if len(timestamps) == 1:
        return np.array([n_frames])
    gaps = pairwise([0, *timestamps.tolist(), n_frames])
    kept = np.concatenate(
        [np.arange(*gap, max(1, -(-(gap[1] - gap[0]) // _LONG_GAP))) for gap in gaps]
    )
    found = constrained_k_medoids(
        video.frames[kept], np.searchsorted(kept, timestamps), video.metric, prior
    ).durations
    return np.diff(kept[np.cumsum(found[:-1])], prepend=0, append=n_frames)


def _cut(
    video: VideoView,
    timestamps: Timestamps,
    durations: IntArray,
    model: ClassModel | None,
    prior: float,
    gaps: Iterable[int] | None = None,
) -> IntArray:
    """New durations `(S,)` from the means of the current segments and the class model."""
    frames, actions = timestamps.frames.tolist(), timestamps.transcript.tolist()
    present = Segmentation(timestamps.transcript, durations).segments
    means: dict[int, FloatArray] = {}
    cuts = [segment.start for segment in present]
    for left in range(len(frames) - 1) if gaps is None else gaps:
        right = left + 1
        for place in (left, right):
            if place not in means:
                _, start, end = present[place]
                means[place] = video.local(slice(start, end)).mean(axis=0)
        gap = slice(frames[left], frames[right])
        sides, both = (means[left], means[right]), (actions[left], actions[right])
        difference = gap_difference(video, gap, sides, both, model)
        share = gap_share(both, model)
        cuts[right] = gap.start + best_cut(difference, prior, tie=TIE, share=share)
    return np.diff(cuts, append=len(video.frames))


def gap_difference(
    video: VideoView,
    gap: slice,
    means: tuple[FloatArray, FloatArray],
    actions: tuple[int, int],
    model: ClassModel | None,
) -> FloatArray:
    """How much better each frame of a gap fits the right side than the left `(gap,)`.

    Args:
        video: its features.
        gap: from the left timestamp to the frame before the right one.
        means: of the segments on both sides, each `(F,)`.
        actions: on both sides.
        model: the class model, see `cut_again`.
    """
    local = video.local(gap)
    closer = _distances(local, means[0]) - _distances(local, means[1])
    difference = _in_units(closer, video.tie)
    if model is not None and model.knows(*actions):
        difference = difference + _in_units(model.difference(video.shared(gap), *actions), TIE)
    return difference


def gap_share(actions: tuple[int, int], model: ClassModel | None) -> float:
    """Where the prior pulls a cut: the share of the gap that the left action takes."""
    return model.share(*actions) if model is not None and model.knows(*actions) else 0.5


def _distances(frames: FloatArray, centre: FloatArray) -> FloatArray:
    """Distances `(n,)` of frames `(n, F)` from one point `(F,)`."""
    apart = frames - centre
    distances: FloatArray = np.sqrt(np.einsum("tf,tf->t", apart, apart))
    return distances


def _in_units(difference: FloatArray, tie: float) -> FloatArray:
    unit = np.abs(difference).mean()
    return difference / unit if unit > tie else np.zeros_like(difference)
