"""Cuts that also heed how long each action usually is (beyond the paper).

Timestamps of all videos say how long an action's segments are, about. So lengths and cuts take
turns, from the cuts of the class models on: a log-normal length of each class is fitted on the
present segments of all videos, and every video's cuts are chosen together, by what they cost under
class models (see `gap_costs`) and by the lengths that they leave. The best ones of all are found
exactly, by dynamic programming over the gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.segments import Segmentation
from uvast.supervision.gap_costs import fitted_model, gap_costs, video_views

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from uvast.config import MetricName
    from uvast.data import Timestamps
    from uvast.segments import IntArray
    from uvast.supervision.class_model import Read
    from uvast.supervision.distances import FloatArray
    from uvast.supervision.gap_costs import GapCosts

N_ROUNDS = 5
MOST_PLACES = 2000
"""Of a longer gap, every few frames will do: all pairs of neighbouring cuts are looked at."""
# classes with fewer segments have the mean length of all
_LEAST_SEGMENTS = 5
# segments of all classes that are counted to each class's variance: a few alike are no law
_SHRINKAGE = 3
_LEAST_DEVIATION = 0.25


@dataclass(frozen=True, eq=False)
class LogLengths:
    """Mean and deviation of the logarithm of each class's segment lengths, `(C,)` each."""

    means: FloatArray
    deviations: FloatArray

    @classmethod
    def fit(cls, segmentations: Iterable[Segmentation]) -> LogLengths:
        """Of the segments of all videos; rare classes lean on those of all classes."""
        found = list(segmentations)
        actions = np.concatenate([one.transcript for one in found])
        logs = np.log(np.concatenate([one.durations for one in found]))
        counts = np.bincount(actions)
        own = np.bincount(actions, logs) / np.maximum(counts, 1)
        means = np.where(counts >= _LEAST_SEGMENTS, own, logs.mean())
        squares = np.bincount(actions, (logs - means[actions]) ** 2) + _SHRINKAGE * logs.var()
        deviations = np.sqrt(squares / (counts + _SHRINKAGE))
        return cls(means, np.maximum(deviations, _LEAST_DEVIATION))

    def cost(self, action: int, lengths: IntArray) -> FloatArray:
        """Half the squared distance from the mean, in deviations; no length below 1 is possible."""
        apart = np.log(np.maximum(lengths, 1)) - self.means[action]
        costs: FloatArray = (apart / self.deviations[action]) ** 2 / 2
        return np.where(lengths >= 1, costs, np.inf)


def with_learned_lengths(
    read: Read,
    timestamps: Mapping[str, Timestamps],
    targets: Mapping[str, Segmentation],
    *,
    weight: float,
    metric: MetricName = "euclidean",
    prior: float = 0.25,
    n_rounds: int = N_ROUNDS,
) -> dict[str, Segmentation]:
    """Pseudo-segmentations, merged, cut again with lengths learned over all videos.

    Every round reads every video twice.

    Args:
        read: gives a video's features `(T, F)`.
        timestamps: of each video.
        targets: the pseudo-segmentation of each so far, merged.
        weight: what lengths weigh; frames weigh about 1 each.
        metric: how frames are compared with their segments.
        prior: the weight of the pull to the midpoint.
        n_rounds: the most rounds; they end early when no cut moves.
    """
    views = video_views(read, timestamps, metric)
    found = dict(targets)
    for _ in range(n_rounds):
        model, lengths = fitted_model(views, found), LogLengths.fit(found.values())
        before = found
        found = {
            name: joint_cuts(
                gap_costs(views[name](), timestamps[name], one, model, prior), lengths, weight
            )
            for name, one in before.items()
        }
        if found == before:
            break
    return found


def joint_cuts(gaps: GapCosts, lengths: LogLengths, weight: float) -> Segmentation:
    """The cuts of one video of least cost, together with the lengths of its segments."""
    if not gaps.costs:
        return Segmentation(gaps.transcript, np.array([gaps.n_frames]))
    actions = gaps.transcript.tolist()
    steps = [-(-len(costs) // MOST_PLACES) for costs in gaps.costs]
    places = [
        first + np.arange(0, len(costs), step)
        for first, costs, step in zip(gaps.firsts, gaps.costs, steps, strict=True)
    ]
    own = [costs[::step] for costs, step in zip(gaps.costs, steps, strict=True)]
    best = own[0] + weight * lengths.cost(actions[0], places[0])
    origins: list[IntArray] = []
    for cut in range(1, len(places)):
        between = places[cut][None, :] - places[cut - 1][:, None]
        totals = best[:, None] + weight * lengths.cost(actions[cut], between)
        origins.append(totals.argmin(axis=0))
        best = totals.min(axis=0) + own[cut]
    best = best + weight * lengths.cost(actions[-1], gaps.n_frames - places[-1])
    chosen = [int(best.argmin())]
    for origin in reversed(origins):
        chosen.append(int(origin[chosen[-1]]))
    cuts = [int(one[place]) for one, place in zip(places, reversed(chosen), strict=True)]
    return Segmentation(gaps.transcript, np.diff([0, *cuts, gaps.n_frames]))
