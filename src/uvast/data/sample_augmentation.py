"""How a training sample changes in an epoch, before it is scaled and put into a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.time_warp import TimeMap
from uvast.data.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from uvast.data.recombination import SegmentPool
    from uvast.data.symmetry import Symmetry
    from uvast.data.video import Video
    from uvast.segments import Segmentation

_PIECES, _TIME, _MIRROR = 1, 2, 3
"""Each kind has its own random numbers, so that switching one on leaves the others as they are.
(0 would repeat those of dropped frames.)"""


@dataclass(frozen=True)
class SampleAugmentation:
    """How samples change from epoch to epoch.

    Args:
        recombination: probability that a sample is recombined, see `SegmentPool`.
        reordering: probability that a recombined sample has a new transcript.
        speed: largest factor by which time runs faster or slower; 1 changes nothing.
        time_warp: the same for each part of a sample, see `TimeMap.drawn`.
        mirroring: probability that a sample is mirrored.
        symmetry: how to mirror; None if the dataset declares none.
    """

    recombination: float = 0.0
    reordering: float = 0.0
    speed: float = 1.0
    time_warp: float = 1.0
    mirroring: float = 0.0
    symmetry: Symmetry | None = None

    def applied(
        self,
        video: Video,
        segmentation: Segmentation,
        *,
        seed: tuple[int, ...],
        pool: SegmentPool,
        read: Callable[[str], NDArray[np.float32]],
    ) -> tuple[Video, Segmentation]:
        """A sample as an epoch sees it; a pure function of the arguments.

        A recombined or warped sample loses its timestamps.

        Args:
            video: the sample, without labels.
            segmentation: its target.
            seed: of this sample in this epoch.
            pool: the segments to recombine.
            read: gives the features `(T, F)` of any sample of the pool, as long as its target.
        """
        pieces, time, mirror = (
            np.random.default_rng([*seed, kind]) for kind in (_PIECES, _TIME, _MIRROR)
        )
        is_recombined = pieces.random() < self.recombination
        if is_recombined or self.speed > 1 or self.time_warp > 1:
            timeline = Timeline.of(video.name, segmentation)
            if is_recombined:
                timeline = pool.recombined(video.name, pieces, reordering=self.reordering)
            n_frames = timeline.segmentation.n_frames
            warp = TimeMap.drawn(n_frames, time, speed=self.speed, warp=self.time_warp)
            features, segmentation = timeline.rendered(warp, read)
            source_frames = len(features) * video.sampling_rate
            video = replace(video, features=features, source_frames=source_frames, timestamps=None)
        if self.symmetry is not None and mirror.random() < self.mirroring:
            video, segmentation = self.symmetry.mirrored(video, segmentation)
        return video, segmentation
