"""The frames around one cut, and how much better each of them fits one side than the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from uvast.supervision.click_offsets import CutRange
from uvast.supervision.distances import TIE
from uvast.supervision.k_medoids import cut_costs, first_least

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from uvast.segments import IntArray, Segmentation
    from uvast.supervision.class_model import ClassModel
    from uvast.supervision.distances import FloatArray
    from uvast.supervision.video_view import VideoView


@dataclass(frozen=True, eq=False)
class GapView:
    """Two neighbouring segments, each with a timestamp, as the search for their cut sees them.

    Args:
        actions: of the left and the right segment.
        timestamps: a frame of each; the cut is after the first and not after the second.
        start: where the left segment starts.
        difference: of each frame of both segments, how much better it fits the right one `(n,)`.
        share: where the prior pulls the cut: the share of the gap between the timestamps that the
            left action takes.
        offset: how many frames after the landmark in the features such cuts are.
    """

    actions: tuple[int, int]
    timestamps: tuple[int, int]
    start: int
    difference: FloatArray
    share: float = 0.5
    offset: int = 0

    def moved(self, offsets: FloatArray, *, step: int = 1) -> GapView:
        """The same with the offset of its actions.

        `offsets (C, C)` are in frames of which one frame of this view stands for `step`.
        """
        return replace(self, offset=round(offsets[self.actions] / step))

    def costs(self, prior: float) -> FloatArray:
        """The cost of each cut, from the frame after the first timestamp to the second `(gap,)`."""
        gap = np.arange(*self.timestamps) - self.start
        moved = np.clip(gap - self.offset, 0, len(self.difference) - 1)
        return cut_costs(self.difference[moved], prior, tie=TIE, share=self.share)

    def cut(self, prior: float) -> int:
        """The first frame of the right segment, at the lowest cost."""
        return self.timestamps[0] + 1 + first_least(self.costs(prior), TIE)

    @property
    def range(self) -> CutRange:
        """Where the cut may be, and where the features alone would cut."""
        end = self.start + len(self.difference)
        landmark = self.start + 1 + int(np.argmin(np.cumsum(self.difference[:-1])))
        first, last = self.timestamps
        return CutRange(self.actions, landmark, first + 1, last, self.start, end)


def gap_views(
    video: VideoView,
    segmentation: Segmentation,
    timestamps: IntArray,
    model: ClassModel | None,
    *,
    gaps: Iterable[int] | None = None,
    step: int = 1,
) -> Iterator[GapView]:
    """Views of the gaps of a video, or of some of them.

    Args:
        video: its features.
        segmentation: its present segments.
        timestamps: the last one before and the first one after each cut `(S - 1, 2)`.
        model: the class model; without one, or for a class that it does not know, the means of the
            segments decide alone.
        gaps: which, by the index of the left segment; None is all.
        step: how many frames of the model's videos one frame of this video stands for.
    """
    segments = segmentation.segments
    means: dict[int, FloatArray] = {}
    for left in range(len(segments) - 1) if gaps is None else gaps:
        (one, start, _), (other, _, end) = segments[left : left + 2]
        for place in (left, left + 1):
            if place not in means:
                means[place] = video.local(slice(*segments[place][1:])).mean(axis=0)
        both = slice(start, end)
        local = video.local(both)
        closer = _distances(local, means[left]) - _distances(local, means[left + 1])
        first, last = timestamps[left].tolist()
        view = GapView((one, other), (first, last), start, _in_units(closer, video.tie))
        if model is not None and model.knows(one, other):
            likelier = _in_units(model.difference(video.shared(both), one, other), TIE)
            view = replace(
                view,
                difference=view.difference + likelier,
                share=model.share(one, other),
            ).moved(model.offsets, step=step)
        yield view


def _distances(frames: FloatArray, centre: FloatArray) -> FloatArray:
    """Distances `(n,)` of frames `(n, F)` from one point `(F,)`."""
    apart = frames - centre
    distances: FloatArray = np.sqrt(np.einsum("tf,tf->t", apart, apart))
    return distances


def _in_units(difference: FloatArray, tie: float) -> FloatArray:
    unit = np.abs(difference).mean()
    return difference / unit if unit > tie else np.zeros_like(difference)
