"""`TimestampFit`: how the timestamps of a dataset fit its ground truth, as notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.data.timestamps import frames_a_unit, source_frame
from uvast.segments import UNLABELLED, Segmentation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.data.spec import DatasetSpec
    from uvast.data.timestamps import Annotation, Timestamps
    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary


class TimestampFit:
    """Counts over the videos that have both timestamps and labels."""

    def __init__(self, spec: DatasetSpec, vocabulary: Vocabulary) -> None:
        self._spec = spec
        self._vocabulary = vocabulary
        self._n_segments = 0
        self._n_single = 0
        self._n_compared = 0
        self._wrong: list[str] = []

    def add(
        self, name: str, annotations: Sequence[Annotation], timestamps: Timestamps, labels: IntArray
    ) -> None:
        """Counts one video.

        The annotations are as in the file and free of faults; the timestamps are the same ones as
        source frames. Labels `(source_frames,)` are the ground truth at the source rate;
        unlabelled frames do not count, nor do segments without a timestamp between two frames that
        the model sees.
        """
        unit = frames_a_unit(self._spec)
        segmentation = Segmentation.from_labels(labels[::unit])
        segment_of_frame = segmentation.segment_of_frame
        frames = timestamps.frames[timestamps.frames < len(labels)] // unit
        counts = np.bincount(segment_of_frame[frames], minlength=len(segmentation))
        is_seen = counts > 0
        is_seen[segment_of_frame[:: self._spec.sampling_rate // unit]] = True
        counts = counts[is_seen & (segmentation.transcript != UNLABELLED)]
        self._n_segments += len(counts)
        self._n_single += int((counts == 1).sum())
        for entry in annotations:
            frame = source_frame(entry, self._spec, name)
            if entry.label is None or frame >= len(labels) or labels[frame] == UNLABELLED:
                continue
            self._n_compared += 1
            true = self._vocabulary.names[labels[frame]]
            if entry.label != true:
                self._wrong.append(f"{name}, source frame {frame} is {true}, not {entry.label}")

    def notes(self) -> Iterator[str]:
        """What does not fit."""
        if self._wrong:
            yield (
                f"{len(self._wrong)} of {self._n_compared} timestamps disagree with groundTruth "
                f"(first: {self._wrong[0]})"
            )
        if self._n_single < self._n_segments:
            yield (
                f"{self._n_single} of {self._n_segments} segments hold exactly one timestamp (if "
                "timestamps count sub-sampled frames, set sampling_rate and timestamps_rate in "
                "dataset.toml)"
            )
