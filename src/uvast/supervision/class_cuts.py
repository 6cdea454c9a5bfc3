"""Pseudo-segmentations from class models shared by all videos (beyond the paper).

K-medoids looks at one video at a time. But the timestamps say which segments, anywhere in the
data, show the same action. So cuts and models take turns, starting from k-medoids: each frame
between two timestamps is compared with the means of the two segments around it, and with a diagonal
Gaussian for each of the two classes, fitted on the current segments of all videos. Each cue is
measured in units of its mean absolute difference over the two segments, and their sum decides the
cut. Two things follow from the timestamps alone. The prior does not pull to the midpoint, as in
k-medoids, which would make long actions too short, but to where the two classes' mean lengths
divide the gap (see `click_lengths`). And the cut is moved by how far people cut from where features
change between these two classes (see `click_offsets`), once the cuts have settled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.config import SupervisionConfig
from uvast.segments import Segmentation
from uvast.supervision.class_model import ClassFit
from uvast.supervision.click_offsets import CutRange, click_offsets, offsets_help
from uvast.supervision.gap_view import gap_views
from uvast.supervision.k_medoids import constrained_k_medoids
from uvast.supervision.video_view import Scale, VideoView, smoothed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from uvast.config import MetricName
    from uvast.data import Timestamps
    from uvast.segments import IntArray
    from uvast.supervision.class_model import ClassModel

    Read = Callable[[str], NDArray[np.floating[Any]]]

N_ROUNDS = 10
N_OFFSET_ROUNDS = 3
# the most frames from one timestamp to the next that k-medoids looks at
_LONG_GAP = 2000


def fit_class_model(
    read: Read,
    timestamps: Mapping[str, Timestamps],
    *,
    metric: MetricName = "euclidean",
    prior: float = SupervisionConfig.prior,
    offsets: float = SupervisionConfig.offsets,
    n_rounds: int = N_ROUNDS,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, IntArray], ClassModel]:
    """Durations `(S,)` of each video, and the last class model, for `cut_again`.

    Every round reads every video once; only one is held at a time.

    Args:
        read: returns a video's features `(T, F)`.
        timestamps: of each video.
        metric: how frames are compared with their segments: by `euclidean` distance, or by
            direction alone (`cosine`).
        prior: the weight of the pull to where mean lengths divide a gap.
        offsets: how far, as a share of an action's mean length, cuts usually are from where the
            features change; 0 leaves them there.
        n_rounds: the most rounds before offsets; they end early when no cut moves.
        progress: called with how many times a video has been read, and the most that may be.
    """
    n_done, n_most = count(1), (1 + n_rounds + N_OFFSET_ROUNDS) * len(timestamps)

    def told() -> None:
        if progress is not None:
            progress(next(n_done), n_most)

    cuts = _Cuts(read, timestamps, metric, prior, told)
    seen = cuts.round(None)
    model = seen.fit.model()
    for _ in range(n_rounds):
        seen = cuts.round(model)
        if not seen.moved:
            break
        model = seen.fit.model()
    if offsets_help(seen.ranges, model.lengths, deviation=offsets):
        for _ in range(N_OFFSET_ROUNDS):
            found = click_offsets(seen.ranges, model.lengths, deviation=offsets)
            model = replace(seen.fit.model(), offsets=found)
            seen = cuts.round(model)
            if not seen.moved:
                break
    return cuts.durations, model


@dataclass(frozen=True)
class _Seen:
    """What one reading of all videos has shown.

    Args:
        fit: the sums for the next class model.
        ranges: where each cut may be; none after the first reading.
        moved: whether any cut has moved.
    """

    fit: ClassFit
    ranges: list[CutRange]
    moved: bool


class _Cuts:
    """The present cuts of all videos."""

    def __init__(
        self,
        read: Read,
        timestamps: Mapping[str, Timestamps],
        metric: MetricName,
        prior: float,
        told: Callable[[], None],
    ) -> None:
        self._read = read
        self._timestamps = timestamps
        self._metric: MetricName = metric
        self._prior = prior
        self._told = told
        self._n_classes = 1 + max(int(entry.transcript.max()) for entry in timestamps.values())
        self._scales: dict[str, Scale] = {}
        self.durations: dict[str, IntArray] = {}

    def round(self, model: ClassModel | None) -> _Seen:
        """Reads every video once and cuts it again; without a model, by k-medoids."""
        fit, ranges, moved = ClassFit(self._n_classes), list[CutRange](), False
        for name, entry in self._timestamps.items():
            video = self._view(name, len(entry))
            before = self.durations.get(name)
            if model is None or before is None:
                found = _start(video, entry.frames, self._prior)
            else:
                gaps = range(len(entry) - 1)
                found, known = _cut(video, entry, before, model, gaps, self._prior)
                ranges += known
            moved |= before is None or not np.array_equal(found, before)
            self.durations[name] = found
            fit.add(video, entry, Segmentation(entry.transcript, found))
            self._told()
        return _Seen(fit, ranges, moved)

    def _view(self, name: str, n_segments: int) -> VideoView:
        frames = smoothed(self._read(name), n_segments)
        if name not in self._scales:
            self._scales[name] = Scale.of(frames)
        return VideoView(frames, self._scales[name], self._metric)


def cut_again(
    video: VideoView,
    timestamps: Timestamps,
    durations: IntArray,
    model: ClassModel | None,
    gaps: Sequence[int],
    *,
    prior: float = SupervisionConfig.prior,
    step: int = 1,
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
        step: how many frames of the model's videos one frame of this video stands for.
    """
    return _cut(video, timestamps, durations, model, gaps, prior, step=step)[0]


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
    gaps: Sequence[int],
    prior: float,
    *,
    step: int = 1,
) -> tuple[IntArray, list[CutRange]]:
    """New durations `(S,)`, and where the cut of each gap may be."""
    cuts, ranges = np.cumsum(durations), []
    present = Segmentation(timestamps.transcript, durations)
    between = np.stack((timestamps.frames[:-1], timestamps.frames[1:]), axis=1)
    views = gap_views(video, present, between, model, gaps=gaps, step=step)
    for left, view in zip(gaps, views, strict=True):
        cuts[left] = view.cut(prior)
        ranges.append(view.range)
    return np.diff(cuts, prepend=0), ranges
