"""Where cuts between timestamps may be, not only where they are likeliest (beyond the paper).

Class models are fitted to the current targets once more. What a cut costs under them and the prior
(see `class_cuts`), divided by a temperature, is its negative log-probability. So the frames around
a cut belong to either side with some probability. Drawing new cuts every epoch teaches just that:
the mean of a loss over draws is the loss of the soft labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.segments import Segmentation, run_starts
from uvast.supervision.class_cuts import gap_difference, gap_share
from uvast.supervision.class_model import ClassFit
from uvast.supervision.distances import TIE
from uvast.supervision.k_medoids import cut_costs
from uvast.supervision.video_view import VideoView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.config import MetricName
    from uvast.data import Timestamps
    from uvast.segments import IntArray
    from uvast.supervision.class_cuts import Read
    from uvast.supervision.class_model import ClassModel
    from uvast.supervision.distances import FloatArray


@dataclass(frozen=True, eq=False)
class CutPosterior:
    """The cuts of one video, which are independent of each other.

    Args:
        transcript: the actions `(S,)`; neighbours differ.
        n_frames: T.
        firsts: the first frame where each cut may be `(S - 1,)`.
        probabilities: for each cut, the probabilities of the frames from there on.
    """

    transcript: IntArray
    n_frames: int
    firsts: tuple[int, ...]
    probabilities: tuple[FloatArray, ...]

    def draw(self, generator: np.random.Generator) -> Segmentation:
        """A segmentation whose cuts are drawn at random."""
        cuts = [
            first + int(generator.choice(len(one), p=one))
            for first, one in zip(self.firsts, self.probabilities, strict=True)
        ]
        return Segmentation(self.transcript, np.diff([0, *cuts, self.n_frames]))


def cut_posteriors(
    read: Read,
    timestamps: Mapping[str, Timestamps],
    targets: Mapping[str, Segmentation],
    *,
    temperature: float,
    metric: MetricName = "euclidean",
    prior: float = 0.25,
) -> dict[str, CutPosterior]:
    """The cuts of videos whose pseudo-segmentations are known; each video is read twice.

    Args:
        read: returns a video's features `(T, F)`.
        timestamps: of each video.
        targets: the current pseudo-segmentation of each, merged.
        temperature: costs are divided by it; near 0 every cut is certain.
        metric: how frames are compared with their segments.
        prior: the weight of the pull to where mean lengths divide a gap.
    """

    def view(name: str) -> VideoView:  # made on demand: only one is held at a time
        return VideoView.of(read(name), len(timestamps[name]), metric)

    fit = ClassFit(1 + max(int(one.transcript.max()) for one in targets.values()))
    for name, target in targets.items():
        fit.add(view(name), timestamps[name], target)
    model = fit.model()
    return {
        name: _posterior(view(name), timestamps[name], target, model, prior, temperature)
        for name, target in targets.items()
    }


def _posterior(
    video: VideoView,
    timestamps: Timestamps,
    target: Segmentation,
    model: ClassModel,
    prior: float,
    temperature: float,
) -> CutPosterior:
    """The cuts of one video; consecutive clicks on one action are one segment."""
    starts = run_starts(timestamps.transcript)
    lasts = timestamps.frames[np.append(starts[1:], len(timestamps)) - 1].tolist()
    following = timestamps.frames[starts[1:]].tolist()
    actions = target.transcript.tolist()
    ends = np.cumsum(target.durations).tolist()
    means = [
        video.local(slice(start, end)).mean(axis=0)
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    probabilities = []
    for left, (start, end) in enumerate(zip(lasts[:-1], following, strict=True)):
        sides, both = (means[left], means[left + 1]), (actions[left], actions[left + 1])
        difference = gap_difference(video, slice(start, end), sides, both, model)
        costs = cut_costs(difference, prior, tie=TIE, share=gap_share(both, model))
        weights = np.exp((costs.min() - costs) / temperature)
        probabilities.append(weights / weights.sum())
    firsts = tuple(last + 1 for last in lasts[:-1])
    return CutPosterior(target.transcript, target.n_frames, firsts, tuple(probabilities))
