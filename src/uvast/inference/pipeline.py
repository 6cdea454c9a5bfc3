"""Many videos: batched by length, one bad file never stops the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.errors import UvastError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.config import DecodeConfig
    from uvast.inference.inputs import Source
    from uvast.inference.prediction import Prediction
    from uvast.inference.segmenter import Segmenter

MAX_BATCH_FRAMES = 40_000
"""A batch's padded size: eight ordinary videos, or one of an hour, stay within a few GB."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of one video: a prediction, or the error that names what is wrong with it."""

    name: str
    prediction: Prediction | None = None
    error: UvastError | None = None


def segment_all(
    segmenter: Segmenter,
    sources: Sequence[Source],
    options: DecodeConfig,
    *,
    batch_size: int = 8,
    workers: int = 0,
) -> Iterator[Outcome]:
    """Segments videos of like length together; outcomes come as they are ready."""
    readable: list[tuple[int, Source]] = []
    for source in sources:
        try:
            readable.append((source.n_frames(), source))
        except UvastError as error:
            yield Outcome(source.name, error=error)
    readable.sort(key=lambda pair: (pair[0], pair[1].name))
    for group in _batches(readable, batch_size):
        videos = []
        for source in group:
            try:
                videos.append(segmenter.checked(source.read()))
            except UvastError as error:
                yield Outcome(source.name, error=error)
        if videos:
            predictions = segmenter.segment_batch(videos, options, workers=workers)
            for video, prediction in zip(videos, predictions, strict=True):
                yield Outcome(video.name, prediction)


def _batches(videos: list[tuple[int, Source]], batch_size: int) -> Iterator[list[Source]]:
    """Neighbours in length; a batch's longest video is its last."""
    group: list[Source] = []
    for n_frames, source in videos:
        if group and (len(group) == batch_size or (len(group) + 1) * n_frames > MAX_BATCH_FRAMES):
            yield group
            group = []
        group.append(source)
    if group:
        yield group
