"""Videos scored with every decoding that fits a model, each encoded once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

from uvast.errors import ConfigError, InputError, UvastError
from uvast.evaluation.evaluate import labelled_sides
from uvast.evaluation.scores import HEADINGS
from uvast.evaluation.scoring import score_sides
from uvast.inference.inputs import DatasetVideo
from uvast.inference.pipeline import segment_with_decodings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uvast.data import Dataset
    from uvast.evaluation.scores import ScoreProtocol
    from uvast.inference import Segmenter
    from uvast.segments import IntArray, Segmentation

COLUMNS = tuple(HEADINGS)


def _whole(scores: dict[str, float]) -> dict[str, float]:
    if tuple(scores) not in (COLUMNS, ("edit",)):
        raise ValueError(f"columns {', '.join(scores) or 'missing'}")
    return scores


ScoreColumns = Annotated[dict[str, Annotated[float, Field(ge=0, le=100)]], AfterValidator(_whole)]
"""Column to number; a bare transcript has only `edit`."""


def score_decodings(
    model: Segmenter,
    dataset: Dataset,
    names: Sequence[str],
    decodings: Mapping[str, Mapping[str, Any]],
    *,
    protocol: ScoreProtocol = "standard",
) -> Iterator[tuple[str, ScoreColumns | UvastError]]:
    """Scores videos with several decodings; each video is encoded once.

    Videos without labels are left out. The dataset must have the model's classes.

    Yields:
        The name of a decoding and its scores, or why it has none.
    """
    if model.vocabulary.names != dataset.vocabulary.names:
        raise ConfigError(
            "does not have the same classes as the model",
            where=dataset.path,
            remedy="restore its classes, or train again",
        )
    try:
        side = labelled_sides(dataset, {None: names})[None]
        truths = {name: dataset.source_segmentation(name) for name in side}
        found = _decoded(model, dataset, side, decodings)
    except UvastError as error:
        for name, changes in decodings.items():
            if len(decodings) == 1:
                yield name, error
            else:  # alone, to see which one fails
                alone = {name: changes}
                yield from score_decodings(model, dataset, names, alone, protocol=protocol)
        return
    side = tuple(sorted(truths))
    for name, predictions in found.items():
        try:
            scored = score_sides(
                truths,
                {None: predictions},
                {None: side},
                dataset.vocabulary,
                protocol=protocol,
            )
        except InputError as error:  # a bare transcript of a partly labelled video
            yield name, error
        else:
            yield name, scored.scores.columns()


def _decoded(
    model: Segmenter,
    dataset: Dataset,
    names: Sequence[str],
    decodings: Mapping[str, Mapping[str, Any]],
) -> dict[str, dict[str, Segmentation | IntArray]]:
    """Decoding to video to segmentation, or to a bare transcript."""
    sources = [DatasetVideo(dataset, name, model.sampling_rate) for name in names]
    options = {name: model.options(**changes) for name, changes in decodings.items()}
    found: dict[str, dict[str, Segmentation | IntArray]] = {name: {} for name in options}
    for name, outcome in segment_with_decodings(model, sources, options):
        if outcome.prediction is None:
            raise outcome.error or UvastError(f"{outcome.name} has no prediction")
        one = outcome.prediction
        found[name][outcome.name] = one.transcript if one.segmentation is None else one.segmentation
    return found
