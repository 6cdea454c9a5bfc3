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

from uvast.config import SupervisionConfig
from uvast.segments import Segmentation, run_starts
from uvast.supervision.class_model import ClassFit
from uvast.supervision.click_offsets import click_offsets, offsets_help
from uvast.supervision.gap_view import gap_views
from uvast.supervision.video_view import VideoView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.config import MetricName
    from uvast.data import Timestamps
    from uvast.segments import IntArray
    from uvast.supervision.class_cuts import Read
    from uvast.supervision.distances import FloatArray
    from uvast.supervision.gap_view import GapView


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
    prior: float = SupervisionConfig.prior,
    offsets: float = SupervisionConfig.offsets,
) -> dict[str, CutPosterior]:
    """The cuts of videos whose pseudo-segmentations are known; each video is read twice.

    Args:
        read: returns a video's features `(T, F)`.
        timestamps: of each video.
        targets: the current pseudo-segmentation of each, merged.
        temperature: costs are divided by it; near 0 every cut is certain.
        metric: how frames are compared with their segments.
        prior: the weight of the pull to where mean lengths divide a gap.
        offsets: how far cuts usually are from where the features change; see `click_offsets`.
    """

    def view(name: str) -> VideoView:  # made on demand: only one is held at a time
        return VideoView.of(read(name), len(timestamps[name]), metric)

    fit = ClassFit(1 + max(int(one.transcript.max()) for one in targets.values()))
    for name, target in targets.items():
        fit.add(view(name), timestamps[name], target)
    model = fit.model()
    seen = {
        name: tuple(gap_views(view(name), target, _around_cuts(timestamps[name]), model))
        for name, target in targets.items()
    }
    ranges = [one.range for views in seen.values() for one in views]
    if not offsets_help(ranges, model.lengths, deviation=offsets):
        offsets = 0.0
    found = click_offsets(ranges, model.lengths, deviation=offsets)
    return {
        name: _posterior(target, [one.moved(found) for one in seen[name]], prior, temperature)
        for name, target in targets.items()
    }


def _around_cuts(timestamps: Timestamps) -> IntArray:
    """The timestamps before and after each cut `(S - 1, 2)`; those of one action have none."""
    later = run_starts(timestamps.transcript)[1:]
    return np.stack((timestamps.frames[later - 1], timestamps.frames[later]), axis=1)


def _posterior(
    target: Segmentation, views: Sequence[GapView], prior: float, temperature: float
) -> CutPosterior:
    """The cuts of one video."""
    probabilities = []
    for one in views:
        costs = one.costs(prior)
        weights = np.exp((costs.min() - costs) / temperature)
        probabilities.append(weights / weights.sum())
    firsts = tuple(one.timestamps[0] + 1 for one in views)
    return CutPosterior(target.transcript, target.n_frames, firsts, tuple(probabilities))
