"""Scores of a folder of predictions, whoever made them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data import Dataset
from uvast.errors import LabelError, MissingFileError, command
from uvast.evaluation.predictions import find_predictions, folder_of_split, read_prediction
from uvast.evaluation.scoring import score_sides
from uvast.evaluation.segment_errors import find_errors, sum_errors
from uvast.files.names import RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.evaluation.predictions import Track
    from uvast.evaluation.scores import ScoreProtocol, Scores
    from uvast.evaluation.scoring import Evaluation
    from uvast.evaluation.segment_errors import SegmentErrors
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary

_N_SHOWN = 10


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
            predictions of split N may be in a subfolder `splitN` or `split_N`.
        dataset: a dataset or its folder.
        split: which split's test side. None: the mean over all splits, which the predictions have
            to cover; all videos if the dataset has no splits. Videos without labels are left out.
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
    errors: bool = False,
) -> Evaluation:
    """Like `evaluate`, with the scores of each split and video, and the errors if asked for."""
    if isinstance(dataset, Path | str):
        dataset = Dataset.open(Path(dataset))
    every = sides_to_score(dataset, split)
    sides = labelled_sides(dataset, every)
    files = prediction_files(Path(predictions), sides, asked_for=split)
    truths = {
        video: dataset.source_segmentation(video) for videos in sides.values() for video in videos
    }
    found = {
        number: {
            video: read_for_dataset(path, dataset, video, truths[video].n_frames).segmentation
            for video, path in paths.items()
        }
        for number, paths in files.items()
    }
    evaluation = score_sides(
        truths,
        found,
        sides,
        dataset.vocabulary,
        protocol=protocol,
        per_class=per_class,
        confusion=confusion,
    )
    asked_for = dict.fromkeys(video for videos in every.values() for video in videos)
    return replace(
        evaluation,
        unlabelled=tuple(name for name in asked_for if name not in truths),
        errors=_errors(truths, found, dataset.vocabulary) if errors else None,
    )


def _errors(
    truths: Mapping[str, Segmentation],
    predictions: Mapping[int | None, Mapping[str, Segmentation]],
    vocabulary: Vocabulary,
) -> SegmentErrors:
    return sum_errors(
        find_errors(predicted, truths[video], vocabulary)
        for of_split in predictions.values()
        for video, predicted in of_split.items()
    )


def sides_to_score(dataset: Dataset, split: int | None) -> dict[int | None, tuple[str, ...]]:
    """The videos to score, by split; the key is None for a dataset without splits."""
    if split is not None:
        return {split: dataset.side(split, "test")}
    if not dataset.splits:
        return {None: tuple(dataset.names)}
    return {number: dataset.side(number, "test") for number in sorted(dataset.splits)}


def labelled_sides(
    dataset: Dataset, sides: Mapping[int | None, Sequence[str]]
) -> dict[int | None, tuple[str, ...]]:
    """The videos to score that have labels; a side without any is left out."""
    labelled = {
        number: tuple(name for name in names if dataset.has_labels(name))
        for number, names in sides.items()
    }
    found = {number: names for number, names in labelled.items() if names}
    if not found:
        raise LabelError(
            "has no labels for any of the videos to score",
            where=dataset.path,
            remedy="label some of them, or choose another split",
        )
    return found


def read_for_dataset(path: Path, dataset: Dataset, video: str, n_frames: int) -> Track:
    """Reads a prediction of a dataset's video, which has `n_frames` frames at the source rate."""
    return read_prediction(
        path,
        dataset.vocabulary,
        n_frames=n_frames,
        sampling_rate=dataset.spec.sampling_rate,
        untrimmed=dataset.trimmed.get(video, ()),
    )


def prediction_files(
    folder: Path,
    sides: Mapping[int | None, Sequence[str]],
    *,
    asked_for: int | None,
    tables_first: bool = False,
) -> dict[int | None, dict[str, Path]]:
    """The prediction files of each side; an error names all videos without one.

    If the user asked for no split, it also names the splits that are covered.
    """
    found: dict[int | None, dict[str, Path]] = {
        number: find_predictions(folder_of_split(folder, number), videos, tables_first=tables_first)
        for number, videos in sides.items()
    }
    absent = {
        number: [video for video in videos if video not in found[number]]
        for number, videos in sides.items()
    }
    names = list(dict.fromkeys(video for videos in absent.values() for video in videos))
    if names:
        n_videos = len({video for videos in sides.values() for video in videos})
        if len(names) == n_videos and (folder / RUN_FILE).is_file():
            raise MissingFileError(
                "is a run, not a folder of predictions",
                where=folder,
                remedy="segment first: "
                + command("segment", folder, "DATASET", "--out", "predictions"),
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
    return found
