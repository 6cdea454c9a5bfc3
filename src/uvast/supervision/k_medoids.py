"""K-medoids on the frames of a video, started at its timestamps (the paper's algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import InputError
from uvast.segments import check_timestamps, midpoint_durations
from uvast.supervision.distances import metric_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from uvast.config import MetricName
    from uvast.segments import IntArray
    from uvast.supervision.distances import FloatArray, Metric


@dataclass(frozen=True, eq=False)
class KMedoids:
    """The result of constrained k-medoids.

    Args:
        durations: frames per segment `(S,)`; they sum to T.
        medoids: the frame at the centre of each segment `(S,)`.
        iterations: how often cuts and medoids were computed; the last one changed no medoid,
            unless the cap was reached.
        cost: total distance of the frames to the medoids of their segments.
    """

    durations: IntArray
    medoids: IntArray
    iterations: int
    cost: float


@dataclass(frozen=True, eq=False)
class Clusters:
    """The result of unconstrained k-medoids.

    Args:
        assignment: the cluster of each frame `(T,)`; cluster i started at timestamp i.
        medoids: the frame at the centre of each cluster `(S,)`.
        iterations: as in `KMedoids`.
        cost: total distance of the frames to the medoids of their clusters.
    """

    assignment: IntArray
    medoids: IntArray
    iterations: int
    cost: float


def constrained_k_medoids(
    features: ArrayLike,
    timestamps: ArrayLike,
    metric: MetricName = "euclidean",
    prior: float = 0.0,
    max_iterations: int = 300,
) -> KMedoids:
    """Cuts a video between its timestamps, so that the frames of a segment are alike.

    Medoids start at the timestamps. The cut between two neighbours is where the total distance of
    the frames before it to the left medoid and of the frames after it to the right one is least;
    then each segment's medoid is the frame with the least total distance to the segment. Both
    steps take the first on ties, and repeat until nothing changes. A cut lies between the two
    medoids and between the two timestamps. Without a prior, the cost never rises.

    Args:
        features: `(T, F)`.
        timestamps: one frame per segment `(S,)`, increasing.
        metric: `euclidean` or `cosine`.
        prior: the weight beta of a pull to the midpoint of neighbouring timestamps; it adds
            `4 beta gap ((cut - midpoint) / gap)^2` to the cost of a cut, in units of the mean
            absolute difference of the two distances over the gap. 0 is the paper's algorithm.
        max_iterations: the cap.
    """
    if not 0 <= prior < np.inf:
        raise InputError(f"a prior of {prior}", remedy="choose a number of at least 0")
    distances = metric_of(features, metric)
    frames = _checked(timestamps, distances.n_frames, max_iterations)
    search = _Search(distances, frames, prior)
    iterations = 0
    changed = True
    while changed and iterations < max_iterations:
        iterations += 1
        search.move_cuts()
        changed = search.move_medoids()
    return KMedoids(
        np.diff(search.cuts), search.medoids.copy(), iterations, float(search.costs.sum())
    )


def unconstrained_k_medoids(
    features: ArrayLike,
    timestamps: ArrayLike,
    metric: MetricName = "euclidean",
    max_iterations: int = 300,
) -> Clusters:
    """Plain k-medoids from the same start: each frame belongs to its nearest medoid.

    It only serves as a comparison for `constrained_k_medoids`, whose arguments it shares. On ties,
    the first medoid and the first frame win. A cluster without frames, whose medoid is a copy of an
    earlier one, keeps its medoid.
    """
    distances = metric_of(features, metric)
    medoids = _checked(timestamps, distances.n_frames, max_iterations).copy()
    everything = slice(0, distances.n_frames)
    table = np.stack([distances.from_frame(frame, everything) for frame in medoids.tolist()])
    iterations = 0
    changed = True
    while changed and iterations < max_iterations:
        iterations += 1
        changed = False
        assignment = np.argmax(table <= table.min(axis=0) + distances.tie, axis=0)
        for cluster in range(len(medoids)):
            members = np.flatnonzero(assignment == cluster)
            if not len(members):
                continue
            medoid = members[first_least(distances.totals(members), distances.tie)]
            if medoid != medoids[cluster]:
                medoids[cluster], changed = medoid, True
                table[cluster] = distances.from_frame(int(medoid), everything)
    cost = table[assignment, np.arange(distances.n_frames)].sum()
    return Clusters(assignment.astype(np.int64), medoids, iterations, float(cost))


class _Search:
    """The cuts and medoids of one video, with the distances that are already known.

    Segment i never extends beyond the timestamps of its neighbours: its `reach`. Distances to its
    medoid are kept for these frames only.
    """

    def __init__(self, distances: Metric, timestamps: IntArray, prior: float) -> None:
        n_frames, n_segments = distances.n_frames, len(timestamps)
        self._distances, self._prior = distances, prior
        self._timestamps = timestamps
        starts = np.concatenate(([0], timestamps[:-1])).tolist()
        ends = np.append(timestamps[1:] + 1, n_frames).tolist()
        self._reach = [slice(*both) for both in zip(starts, ends, strict=True)]
        self.medoids: IntArray = timestamps.copy()
        self.cuts: IntArray = np.cumsum(
            np.concatenate(([0], midpoint_durations(timestamps, n_frames)))
        )
        self.costs: FloatArray = np.zeros(n_segments)
        self._to_medoid = [self._measure(segment) for segment in range(n_segments)]
        self._totals: list[FloatArray | None] = [None] * n_segments
        self._segments = [slice(*both) for both in zip(self.cuts[:-1], self.cuts[1:], strict=True)]

    def move_cuts(self) -> None:
        """Puts every cut where it costs least."""
        for left in range(len(self.medoids) - 1):
            self.cuts[left + 1] = self._best_cut(left)

    def move_medoids(self) -> bool:
        """Puts every medoid where it costs least; returns whether any has changed."""
        changed = False
        for segment in range(len(self.medoids)):
            totals = self._segment_totals(segment)
            place = first_least(totals, self._distances.tie)
            medoid = self.cuts[segment] + place
            self.costs[segment] = totals[place]
            if medoid != self.medoids[segment]:
                self.medoids[segment], changed = medoid, True
                self._to_medoid[segment] = self._measure(segment)
        return changed

    def _measure(self, segment: int) -> FloatArray:
        return self._distances.from_frame(int(self.medoids[segment]), self._reach[segment])

    def _segment_totals(self, segment: int) -> FloatArray:
        old, known = self._segments[segment], self._totals[segment]
        new = slice(int(self.cuts[segment]), int(self.cuts[segment + 1]))
        if known is None:
            known = self._distances.totals(new)
        elif new != old:
            known = self._distances.moved_totals(known, old, new)
        self._totals[segment], self._segments[segment] = known, new
        return known

    def _best_cut(self, left: int) -> int:
        """The best cut between a segment and the next: the latter's first frame."""
        start, end = self._timestamps[left], self._timestamps[left + 1]
        gap = end - start
        to_left = self._to_medoid[left][start - self._reach[left].start :][:gap]
        to_right = self._to_medoid[left + 1][start - self._reach[left + 1].start :][:gap]
        first = max(start, self.medoids[left]) + 1 - start
        last = min(end, self.medoids[left + 1]) - start
        n_left = best_cut(
            to_left - to_right, self._prior, tie=self._distances.tie, first=first, last=last
        )
        return int(start + n_left)


def best_cut(
    difference: FloatArray,
    prior: float,
    *,
    tie: float,
    first: int = 1,
    last: int | None = None,
    share: float = 0.5,
) -> int:
    """How many frames of a gap belong to its left timestamp, at the lowest cost.

    The gap holds the left timestamp and every frame before the right one. The prior adds
    `4 prior gap ((cut - middle) / gap)^2` to the cost of a cut, in units of the mean absolute
    difference.

    Args:
        difference: what each frame costs on the left, minus what it costs on the right `(gap,)`.
        prior: the weight of the pull to the middle.
        tie: the largest difference of mean costs that counts as a tie; then the first cut wins.
        first: the fewest frames on the left.
        last: the most frames on the left; None leaves only the right timestamp to the right.
        share: where the middle is, as a share of the way from one timestamp to the other.
    """
    last = len(difference) if last is None else last
    costs = cut_costs(difference, prior, tie=tie, share=share)[first - 1 : last]
    return first + first_least(costs, tie)


def cut_costs(difference: FloatArray, prior: float, *, tie: float, share: float) -> FloatArray:
    """The cost of each cut of a gap `(gap,)`, from one frame on the left up; see `best_cut`."""
    gap = len(difference)
    costs: FloatArray = np.cumsum(difference)
    if prior:
        places = np.arange(1, gap + 1) - (0.5 + share * gap)
        unit = np.abs(difference).mean()
        # if all frames are as near to one side as to the other, the prior decides alone
        costs += 4 * prior * (unit if unit > tie else 1.0) * places**2 / gap
    return costs


def first_least(values: FloatArray, tie: float) -> int:
    """The index of the first least value; values are sums of up to `len(values)` distances."""
    return int(np.argmax(values <= values.min() + tie * len(values)))


def _checked(timestamps: ArrayLike, n_frames: int, max_iterations: int) -> IntArray:
    if max_iterations < 1:
        raise InputError(f"{max_iterations} iterations", remedy="choose at least 1")
    return check_timestamps(timestamps, n_frames)
