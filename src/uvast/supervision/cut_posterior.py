"""Where cuts between timestamps may be, not only where they are likeliest (beyond the paper).

Of the targets as they are, class models are fitted once more. What a cut costs under them and the
pull to the midpoint (see `class_model`), over a temperature, is its negative log-probability. The
frames around a cut then belong to either side with some probability. Cuts that are drawn anew for
every epoch teach just that: the mean of a loss over draws is the loss of the soft labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.segments import Segmentation
from uvast.supervision.gap_costs import fitted_model, gap_costs, video_views

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.config import MetricName
    from uvast.data import Timestamps
    from uvast.segments import IntArray
    from uvast.supervision.class_model import Read
    from uvast.supervision.distances import FloatArray
    from uvast.supervision.gap_costs import GapCosts


@dataclass(frozen=True, eq=False)
class CutPosterior:
    """The cuts of one video, which are independent of each other.

    Args:
        transcript: the actions `(S,)`, neighbours differ.
        n_frames: T.
        firsts: the first frame that each cut may be at `(S - 1,)`.
        probabilities: of each cut, those of the frames from there on.
    """

    transcript: IntArray
    n_frames: int
    firsts: tuple[int, ...]
    probabilities: tuple[FloatArray, ...]

    def draw(self, generator: np.random.Generator) -> Segmentation:
        """A segmentation with every cut drawn."""
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
        read: gives a video's features `(T, F)`.
        timestamps: of each video.
        targets: the present pseudo-segmentation of each, merged.
        temperature: costs are divided by it; near 0 every cut is certain.
        metric: how frames are compared with their segments.
        prior: the weight of the pull to the midpoint.
    """
    views = video_views(read, timestamps, metric)
    model = fitted_model(views, targets)
    return {
        name: _posterior(
            gap_costs(views[name](), timestamps[name], target, model, prior), temperature
        )
        for name, target in targets.items()
    }


def _posterior(gaps: GapCosts, temperature: float) -> CutPosterior:
    probabilities = []
    for costs in gaps.costs:
        weights = np.exp((costs.min() - costs) / temperature)
        probabilities.append(weights / weights.sum())
    return CutPosterior(gaps.transcript, gaps.n_frames, gaps.firsts, tuple(probabilities))
