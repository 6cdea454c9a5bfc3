"""Scores of a folder of predictions, whoever made them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data import Dataset
from uvast.errors import MissingFileError
from uvast.evaluation.predictions import find_predictions, folder_of_split, read_prediction
from uvast.evaluation.scoring import score_sides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.evaluation.scores import ScoreProtocol, Scores
    from uvast.evaluation.scoring import Evaluation
    from uvast.segments import Segmentation

_N_SHOWN = 10


@dataclass(frozen=True, eq=False)
class ReadPredictions:
    """The predictions of a folder, with what they are scored against.

    Args:
        truths: the ground truth of each video at the source rate.
        predictions: split to video to segmentation at the source rate.
        sides: split to the videos on its test side; under None for a dataset without splits.
    """

    truths: Mapping[str, Segmentation]
    predictions: Mapping[int | None, Mapping[str, Segmentation]]
    sides: Mapping[int | None, tuple[str, ...]]


def evaluate(
    predictions: Path | str,
    dataset: Dataset | Path | str,
    split: int | None = None,
    *,
    protocol: ScoreProtocol = "standard",
    per_class: bool = False,
    confusion: bool = False,
) -> Scores:
    """Scores a folder of predictions on the test side of one split, or of all.

    Args:
        predictions: a folder of `<video>.txt` or `<video>` files (see `read_prediction`); the
            predictions of split N may lie in a folder `splitN` or `split_N` inside.
        dataset: a dataset or its folder.
        split: which split's test side. None: the mean over all splits, which the predictions have
            to cover; all videos if the dataset has no splits.
        protocol: `standard`, or `legacy` to compare with published numbers.
        per_class: also F1 of each class.
        confusion: also the frame confusion `(C, C)`.
    """
    return evaluate_in_detail(
        predictions, dataset, split, protocol=protocol, per_class=per_class, confusion=confusion
    ).scores


def evaluate_in_detail(
    predictions: Path | str,
    dataset: Dataset | Path | str,
    split: int | None = None,
    *,
    protocol: ScoreProtocol = "standard",
    per_class: bool = False,
    confusion: bool = False,
) -> Evaluation:
    """As `evaluate`, with the scores of each split and of each video."""
    if isinstance(dataset, Path | str):
        dataset = Dataset.open(Path(dataset))
    found = read_predictions(predictions, dataset, split)
    return score_sides(
        found.truths,
        found.predictions,
        found.sides,
        dataset.vocabulary,
        protocol=protocol,
        per_class=per_class,
        confusion=confusion,
    )


def read_predictions(
    folder: Path | str, dataset: Dataset, split: int | None = None
) -> ReadPredictions:
    """Reads the predictions of one split's test side, or of all; arguments as `evaluate` has."""
    sides = _sides(dataset, split)
    files = _prediction_files(Path(folder), sides, asked_for=split)
    truths = {
        video: dataset.source_segmentation(video) for videos in sides.values() for video in videos
    }

    def read(video: str, path: Path) -> Segmentation:
        return read_prediction(
            path,
            dataset.vocabulary,
            n_frames=truths[video].n_frames,
            sampling_rate=dataset.spec.sampling_rate,
            untrimmed=dataset.trimmed.get(video, ()),
        )

    predictions = {
        number: {video: read(video, path) for video, path in paths.items()}
        for number, paths in files.items()
    }
    return ReadPredictions(truths, predictions, sides)


def _sides(dataset: Dataset, split: int | None) -> dict[int | None, tuple[str, ...]]:
    """The videos to score, by split; under None for a dataset without splits."""
    if split is not None:
        return {split: dataset.side(split, "test")}
    if not dataset.splits:
        return {None: tuple(dataset.names)}
    return {number: dataset.side(number, "test") for number in sorted(dataset.splits)}


def _prediction_files(
    folder: Path, sides: Mapping[int | None, tuple[str, ...]], *, asked_for: int | None
) -> dict[int | None, dict[str, Path]]:
    """The files of each side; an error that names all videos without a prediction."""
    found = {
        number: find_predictions(folder_of_split(folder, number), videos)
        for number, videos in sides.items()
    }
    absent = {
        number: [video for video, path in of_side.items() if path is None]
        for number, of_side in found.items()
    }
    names = list(dict.fromkeys(video for videos in absent.values() for video in videos))
    if names:
        n_videos = len({video for videos in sides.values() for video in videos})
        if len(names) == n_videos and (folder / "run.json").is_file():
            raise MissingFileError(
                "is a run, not a folder of predictions",
                where=folder,
                remedy=f"segment first: uvast segment {folder} DATASET --out predictions",
            )
        shown = ", ".join(names[:_N_SHOWN]) + (", …" if len(names) > _N_SHOWN else "")
        covered = [str(number) for number, videos in absent.items() if not videos]
        remedy = "predict them too"
        if len(names) == n_videos:
            remedy = f"files are called like {names[0]}.txt or {names[0]}"
        elif asked_for is None and covered:
            remedy += f", or score a split that is covered: --split {' or '.join(covered)}"
        raise MissingFileError(
            f"{len(names)} of {n_videos} videos have no prediction ({shown})",
            where=folder,
            remedy=remedy,
        )
    return {
        number: {video: path for video, path in of_side.items() if path is not None}
        for number, of_side in found.items()
    }
