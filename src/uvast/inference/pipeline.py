"""Segments many videos: they are batched by length, and one bad file never stops the others."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.errors import ConfigError, InputError, UvastError
from uvast.features.extraction import extract
from uvast.inference.from_video import Extraction, find_inputs, is_recording
from uvast.inference.option_checks import check_options
from uvast.inference.segmenter import Segmenter, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from uvast.config import DecodeConfig
    from uvast.data import Video
    from uvast.inference.inputs import Source
    from uvast.inference.prediction import Prediction

MAX_BATCH_FRAMES = 40_000
"""The largest padded batch: eight ordinary videos, or one of an hour, stay within a few GB."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of one video: a prediction, or the error that names what is wrong with it.

    `is_familiar` is False if the scale of its features shows that they are not of the kind that
    the model was trained on.
    """

    name: str
    prediction: Prediction | None = None
    error: UvastError | None = None
    is_familiar: bool = True


def segment(
    model: Segmenter | str | Path,
    inputs: Sequence[str | Path] | str | Path,
    *,
    split: int | None = None,
    batch_size: int = 8,
    workers: int = 0,
    **options: Any,
) -> dict[str, Prediction]:
    """Predictions by video of a dataset, feature files, videos, or folders of them.

    The first bad file raises its error. Features of videos are extracted, used and thrown away;
    `uvast segment` keeps them.

    Args:
        model: a loaded model, a run folder, or a checkpoint.
        inputs: one or several paths.
        split: take only the test side of this split of a dataset.
        batch_size: videos encoded together.
        workers: threads that decode in parallel.
        options: any setting of the config's `decode` section, such as `transcript="best"`.
    """
    segmenter = model if isinstance(model, Segmenter) else load(model)
    paths = [inputs] if isinstance(inputs, str | Path) else inputs
    chosen = segmenter.options(**options)
    predictions = {}
    with ExitStack() as stack:
        folder = Path()
        if any(is_recording(Path(path)) for path in paths):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="uvast.")))
        found = find_inputs(
            [Path(path) for path in paths],
            Extraction(segmenter.extractor, folder / "features", str(segmenter.device)),
            n_features=segmenter.n_features,
            sampling_rate=segmenter.sampling_rate,
            split=split,
        )
        for order in found.orders:
            extract(order)
        for outcome in segment_all(
            segmenter, found.sources, chosen, batch_size=batch_size, workers=workers
        ):
            if outcome.prediction is None:
                raise outcome.error or UvastError(f"{outcome.name} has no prediction")
            predictions[outcome.name] = outcome.prediction
    return dict(sorted(predictions.items()))


def segment_all(
    segmenter: Segmenter,
    sources: Sequence[Source],
    options: DecodeConfig,
    *,
    batch_size: int = 8,
    workers: int = 0,
) -> Iterator[Outcome]:
    """Segments videos of similar length together; yields outcomes as they are ready."""
    found = segment_with_decodings(
        segmenter, sources, {"": options}, batch_size=batch_size, workers=workers
    )
    for _, outcome in found:
        yield outcome


def segment_with_decodings(
    segmenter: Segmenter,
    sources: Sequence[Source],
    decodings: Mapping[str, DecodeConfig],
    *,
    batch_size: int = 8,
    workers: int = 0,
) -> Iterator[tuple[str, Outcome]]:
    """Segments videos by several named decodings; each video is read and encoded once.

    Yields the name of a decoding and a video's outcome. A batch is encoded together; `workers` are
    threads that decode in parallel.
    """
    for options in decodings.values():
        check_options(segmenter.module, options)
    readable: list[tuple[int, Source]] = []
    for source in sources:
        try:
            readable.append((source.n_frames(), source))
        except UvastError as error:
            yield from _failed(source.name, error, decodings)
    readable.sort(key=lambda pair: (pair[0], pair[1].name))
    for group in _batches(readable, batch_size):
        videos = []
        for source in group:
            try:
                videos.append(segmenter.checked(source.read(), where=source.path))
            except UvastError as error:
                yield from _failed(source.name, error, decodings)
        if videos:
            yield from _segment_group(segmenter, videos, decodings, workers)


def _segment_group(
    segmenter: Segmenter, videos: list[Video], decodings: Mapping[str, DecodeConfig], workers: int
) -> Iterator[tuple[str, Outcome]]:
    """Segments videos together; if that fails, one by one, and then by one decoding at a time."""
    try:
        predictions = segmenter.segment_by(videos, decodings, workers=workers)
    except ConfigError:
        raise  # it would be the same for every video
    except (UvastError, MemoryError, RuntimeError) as error:
        if len(videos) > 1:
            for video in videos:
                yield from _segment_group(segmenter, [video], decodings, workers)
        elif len(decodings) > 1:
            for name, options in decodings.items():
                yield from _segment_group(segmenter, videos, {name: options}, workers)
        else:
            yield from _failed(videos[0].name, _told(error, videos[0].name), decodings)
        return
    familiar = {video.name: segmenter.is_familiar(video) for video in videos}
    for decoding, found in predictions.items():
        for video, prediction in zip(videos, found, strict=True):
            yield decoding, Outcome(video.name, prediction, is_familiar=familiar[video.name])


def _failed(
    name: str, error: UvastError, decodings: Iterable[str]
) -> Iterator[tuple[str, Outcome]]:
    for decoding in decodings:
        yield decoding, Outcome(name, error=error)


def _told(error: Exception, name: str) -> UvastError:
    """The error with the video it befell.

    Of torch's errors, only a lack of memory is expected; on CPUs it has no class of its own.
    """
    if isinstance(error, UvastError):
        if error.where is not None:
            return error
        return type(error)(error.what, where=name, remedy=error.remedy)
    if not isinstance(error, MemoryError) and "memory" not in str(error):
        raise error
    return InputError(
        "does not fit into memory", where=name, remedy="cut the video, or use a larger machine"
    )


def _batches(videos: list[tuple[int, Source]], batch_size: int) -> Iterator[list[Source]]:
    """Batches of neighbours in length; the longest video of a batch is its last."""
    group: list[Source] = []
    for n_frames, source in videos:
        if group and (len(group) == batch_size or (len(group) + 1) * n_frames > MAX_BATCH_FRAMES):
            yield group
            group = []
        group.append(source)
    if group:
        yield group
