"""Recombined samples: the segments of a video replaced by others of their class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.timeline import Timeline
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from uvast.segments import IntArray

LARGEST_STRETCH = 2
"""The largest factor by which a piece becomes longer or shorter."""


@dataclass(frozen=True, eq=False)
class SegmentPool:
    """All N segments of the samples that a run learns from, ordered by class.

    Args:
        targets: the segmentation of each sample, labels or pseudo-labels.
        actions: the class of each segment `(N,)`, ascending.
        samples: the sample that each comes from `(N,)`, its place in `targets`.
        starts: the first frame of each `(N,)`.
        lengths: how many frames each has `(N,)`.
        next_actions: the class that follows each in its sample `(N,)`.
        is_last: whether none follows `(N,)`.
    """

    targets: Mapping[str, Segmentation]
    actions: IntArray
    samples: IntArray
    starts: IntArray
    lengths: IntArray
    next_actions: IntArray
    is_last: NDArray[np.bool_]

    @classmethod
    def of(cls, targets: Mapping[str, Segmentation]) -> SegmentPool:
        """The segments of all samples."""
        parts = targets.values()
        actions = np.concatenate([one.transcript for one in parts])
        samples = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
        order = np.argsort(actions, kind="stable")
        return cls(
            targets,
            actions[order],
            samples[order],
            np.concatenate([one.starts for one in parts])[order],
            np.concatenate([one.durations for one in parts])[order],
            np.roll(actions, -1)[order],
            (np.diff(samples, append=-1) != 0)[order],
        )

    def recombined(
        self, sample: str, generator: np.random.Generator, *, reordering: float = 0.0
    ) -> Timeline:
        """New pieces for a sample's transcript, or, with probability `reordering`, for a new one.

        Each segment shows one of its class, drawn from all samples, and is as long as another one
        of that class, within `LARGEST_STRETCH`.
        """
        is_new = generator.random() < reordering
        transcript = self._chain(generator) if is_new else self.targets[sample].transcript
        pieces, models = self._alike(transcript, generator), self._alike(transcript, generator)
        lengths = self.lengths[pieces]
        durations = self.lengths[models].clip(
            -(-lengths // LARGEST_STRETCH), lengths * LARGEST_STRETCH
        )
        kept = self._n_fitting(durations) if is_new else len(transcript)
        pieces = pieces[:kept]
        names = tuple(self.targets)
        return Timeline(
            Segmentation(transcript[:kept], durations[:kept]),
            tuple(names[index] for index in self.samples[pieces].tolist()),
            self.starts[pieces],
            self.lengths[pieces],
        )

    def _chain(self, generator: np.random.Generator) -> IntArray:
        """A new transcript, in which every two neighbours are neighbours in some sample.

        It begins as some sample does. Each action is followed by what follows a segment of its
        class, drawn from all samples; if nothing does, the transcript ends. It is never longer than
        the longest transcript of the samples.
        """
        transcripts = [one.transcript for one in self.targets.values()]
        chain = [int(transcripts[generator.integers(len(transcripts))][0])]
        most = max(map(len, transcripts))
        while len(chain) < most:
            (drawn,) = self._alike(np.array(chain[-1:]), generator)
            if self.is_last[drawn]:
                break
            chain.append(int(self.next_actions[drawn]))
        return np.array(chain)

    def _n_fitting(self, durations: IntArray) -> int:
        """How many segments fit into the longest sample; at least one."""
        longest = max(one.n_frames for one in self.targets.values())
        return max(1, int(np.searchsorted(np.cumsum(durations), longest, side="right")))

    def _alike(self, actions: IntArray, generator: np.random.Generator) -> IntArray:
        """A segment of the pool for each action `(S,)`, drawn uniformly from its class."""
        first = np.searchsorted(self.actions, actions, side="left")
        end = np.searchsorted(self.actions, actions, side="right")
        drawn: IntArray = generator.integers(first, end)
        return drawn
