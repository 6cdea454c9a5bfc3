"""A folder of predictions, whoever made them, to a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.data import Dataset
from uvast.evaluation import (
    evaluate_in_detail,
    find_predictions,
    folder_of_split,
    read_prediction,
)
from uvast.report.compare import compare
from uvast.report.content import Report

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.segments import Segmentation


def report_predictions(folder: Path, dataset: Dataset | Path, split: int | None = None) -> Report:
    """A report on predictions.

    Args:
        folder: as `uvast evaluate` reads it.
        dataset: a dataset or its folder.
        split: which split's test side; None: all splits, or all videos without splits.
    """
    data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
    evaluate_in_detail(folder, data, split)  # names every video that is missing or wrong, once
    numbers = [split] if split is not None or not data.splits else sorted(data.splits)
    sides = {number: data.side(number, "test") for number in numbers}
    truths: dict[str, Segmentation] = {}
    predicted: dict[str, Segmentation] = {}
    for number, names in sides.items():
        for name, path in find_predictions(folder_of_split(folder, number), names).items():
            assert path is not None, "the evaluation found it"
            true = truths[name] = data.source_segmentation(name)
            predicted[name] = read_prediction(
                path,
                data.vocabulary,
                n_frames=true.n_frames,
                sampling_rate=data.spec.sampling_rate,
                untrimmed=data.trimmed.get(name, ()),
            )
    trimmed = data.trim_summary()
    return Report(
        title=folder.resolve().name,
        facts={
            "Predictions": str(folder),
            "Dataset": str(data.path),
            "Scored": scored_side(split, n_videos=len(truths), n_splits=len(data.splits)),
        },
        notes=() if trimmed is None else (f"{trimmed}.",),
        vocabulary=data.vocabulary,
        frames_per_second=data.spec.frames_per_second,
        comparison=compare(
            truths,
            {folder.resolve().name: predicted},
            data.vocabulary,
            sides=list(sides.values()),
        ),
    )


def scored_side(split: int | None, *, n_videos: int, n_splits: int) -> str:
    """What was scored, in words."""
    if split is not None:
        return f"{n_videos} videos, the test side of split {split}"
    if n_splits:
        return f"{n_videos} videos, the mean over {n_splits} splits"
    return f"{n_videos} videos, all of them"
