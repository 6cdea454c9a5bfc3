"""What every cut between timestamps costs, given the pseudo-segmentations so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.segments import run_starts
from uvast.supervision.class_model import ClassFit, VideoView, gap_difference
from uvast.supervision.distances import TIE
from uvast.supervision.k_medoids import cut_costs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from uvast.config import MetricName
    from uvast.data import Timestamps
    from uvast.segments import IntArray, Segmentation
    from uvast.supervision.class_model import ClassModel, Read
    from uvast.supervision.distances import FloatArray

    Views = Mapping[str, Callable[[], VideoView]]


@dataclass(frozen=True, eq=False)
class GapCosts:
    """The cuts of one video and what they cost.

    Args:
        transcript: the actions `(S,)`, neighbours differ.
        n_frames: T.
        firsts: the first frame that each cut may be at `(S - 1,)`.
        costs: of each cut, those of the frames from there on.
    """

    transcript: IntArray
    n_frames: int
    firsts: tuple[int, ...]
    costs: tuple[FloatArray, ...]


def video_views(read: Read, timestamps: Mapping[str, Timestamps], metric: MetricName) -> Views:
    """What makes each video's view, when it is wanted: no more than one is held at a time."""

    def view_of(name: str) -> Callable[[], VideoView]:
        return lambda: VideoView.of(read(name), len(timestamps[name]), metric)

    return {name: view_of(name) for name in timestamps}


def fitted_model(views: Views, targets: Mapping[str, Segmentation]) -> ClassModel:
    """The class model of pseudo-segmentations; every video is read once."""
    fit = ClassFit(1 + max(int(one.transcript.max()) for one in targets.values()))
    for name, target in targets.items():
        fit.add(views[name](), target.transcript, target.durations)
    return fit.model()


def gap_costs(
    video: VideoView,
    timestamps: Timestamps,
    target: Segmentation,
    model: ClassModel,
    prior: float,
) -> GapCosts:
    """The cuts of one video; clicks of one action in a row are one segment.

    Args:
        video: its features.
        timestamps: of the video.
        target: its present pseudo-segmentation, merged.
        model: of the classes.
        prior: the weight of the pull to the midpoint.
    """
    starts = run_starts(timestamps.transcript)
    lasts = timestamps.frames[np.append(starts[1:], len(timestamps)) - 1].tolist()
    following = timestamps.frames[starts[1:]].tolist()
    actions = target.transcript.tolist()
    ends = np.cumsum(target.durations).tolist()
    means = [
        video.local(slice(start, end)).mean(axis=0)
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    costs = []
    for left, (start, end) in enumerate(zip(lasts[:-1], following, strict=True)):
        right = left + 1
        sides, both = (means[left], means[right]), (actions[left], actions[right])
        difference = gap_difference(video, slice(start, end), sides, both, model)
        costs.append(cut_costs(difference, prior, tie=TIE))
    firsts = tuple(last + 1 for last in lasts[:-1])
    return GapCosts(target.transcript, target.n_frames, firsts, tuple(costs))
