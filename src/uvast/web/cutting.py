"""Cuts between the actions of one video, found again in moments after each change.

A video is read and averaged once, when it is opened. Changing a click moves only the cuts to its
neighbours; all others are remembered. The class models come from the last pass over the whole
project, see `uvast.web.full_pass`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from uvast.data import Timestamps
from uvast.sampling import nearest_sampled, source_starts
from uvast.segments import midpoint_durations
from uvast.supervision import VideoView, cut_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.segments import IntArray
    from uvast.supervision import ClassModel
    from uvast.supervision.targets import Features

    Gap = tuple[int, int, int, int]

MOST_BYTES = 96 * 2**20
"""Of a video's averaged features; for longer videos, every few frames will do."""

_N_ROUNDS = 2
_LONGEST_GAP = 600
"""Frames around a cut up to which all are looked at; longer stretches are thinned out."""

_MOST_REMEMBERED = 100_000


class Cutter:
    """The features of one video, and the cuts that were found.

    Args:
        features: `(T, F)`.
        n_segments: about how many segments there are.
    """

    def __init__(self, features: Features, n_segments: int) -> None:
        self.n_frames: int = len(features)
        self._step: int = max(1, -(-features.shape[0] * features.shape[1] * 8 // MOST_BYTES))
        rows = np.asarray(features[:: self._step], dtype=np.float32)
        self._view = VideoView.of(rows, n_segments)
        self._cuts: dict[Gap, int] = {}

    def forget(self) -> None:
        """Forgets all cuts, for a new class model."""
        self._cuts.clear()

    def cuts(
        self, frames: Sequence[int], classes: Sequence[int], model: ClassModel | None
    ) -> list[int]:
        """The frames `(S - 1,)` at which the next segment starts, for clicks on frames `(S,)`."""
        clicks = list(zip(frames, classes, strict=True))
        gaps = [(*left, *right) for left, right in pairwise(clicks)]
        new = [place for place, gap in enumerate(gaps) if gap not in self._cuts]
        if new:
            found = self._cut(clicks, gaps, new, model)
            if len(self._cuts) > _MOST_REMEMBERED:
                self._cuts.clear()
            self._cuts.update({gaps[place]: found[place] for place in new})
            return found
        return [self._cuts[gap] for gap in gaps]

    def _cut(
        self,
        clicks: Sequence[tuple[int, int]],
        gaps: Sequence[Gap],
        new: Sequence[int],
        model: ClassModel | None,
    ) -> list[int]:
        """Cuts the new gaps, each in a small view of the two segments beside it."""
        found = [self._cuts.get(gap, (gap[0] + gap[2] + 1) // 2) for gap in gaps]
        for _ in range(_N_ROUNDS):
            edges = [0, *found, self.n_frames]
            for place in new:
                found[place] = self._between(clicks, edges, place, model)
        return found

    def _between(
        self,
        clicks: Sequence[tuple[int, int]],
        edges: Sequence[int],
        place: int,
        model: ClassModel | None,
    ) -> int:
        (left, left_class), (right, right_class) = clicks[place], clicks[place + 1]
        first, last = edges[place], edges[place + 2]
        step = self._step * max(1, (last - first) // (self._step * _LONGEST_GAP))
        if right - left < 2 * step:
            return (left + right + 1) // 2
        row = first // self._step
        rows = slice(row, -(-last // self._step), step // self._step)
        first = row * self._step  # the frame that the first row shows
        small = VideoView(self._view.frames[rows], self._view.scale, self._view.metric)
        frames = np.array([left, edges[place + 1], right])
        left_row, present, right_row = nearest_sampled(frames - first, step, last - first).tolist()
        marks = np.array([left_row, right_row])
        entry = Timestamps(marks, np.array([left_class, right_class]))
        durations = _both_sides(present, marks, len(small.frames))
        found = cut_again(small, entry, durations, model, [0], step=step)
        cut = first + int(source_starts(found[:1], step)[0])
        return min(max(cut, left + 1), right)


def _both_sides(cut: int, marks: IntArray, n_frames: int) -> IntArray:
    if not marks[0] < cut <= marks[1]:
        return midpoint_durations(marks, n_frames)
    return np.array([cut, n_frames - cut])
