"""Predictions on disk: frame labels (txt), tables of segments (csv), everything (json).

The manifest beside them, `segmentation.json`, says which model made them, how, and from what.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import pydantic
from pydantic import Field

from uvast.data.label_files import write_labels
from uvast.errors import ConfigError
from uvast.files import is_present, read_record, write_json, write_text
from uvast.files.names import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.inference.prediction import Prediction

FORMATS = ("txt", "csv", "json")
CSV_COLUMNS = ("label", "start", "end", "confidence", "start_seconds", "end_seconds")


_Name = Annotated[str, Field(min_length=1, max_length=1_000)]
_Path = Annotated[str, Field(min_length=1, max_length=10_000)]
_Names = Annotated[tuple[_Name, ...], Field(max_length=1_000_000)]
_Option = bool | int | float | _Name | Annotated[tuple[float, ...], Field(max_length=1_000)]


@dataclass(frozen=True)
class Manifest:
    """Where the predictions of a folder come from.

    Args:
        model: the run folder or checkpoint, absolute.
        checkpoint: the SHA-256 of the checkpoint file.
        options: the settings of decoding, by name.
        formats: the files written for each video.
        videos: each video's name and its file of features, absolute. While videos are being
            segmented, or after an interruption, some of them have no prediction yet.
        dataset: the dataset they are from, absolute; None for files and folders of features.
        split: the split whose test side they are; None for all videos.
        train: the videos the model was trained on; empty if its run folder is not known.
        validation: the videos that chose its epoch.
        unlabelled: the videos it learned from without their labels.
        unfamiliar: videos whose features are not of the kind that the model was trained on.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(allow_inf_nan=False)
    model: _Path
    checkpoint: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    options: dict[_Name, _Option]
    formats: _Names
    videos: dict[_Name, _Path]
    dataset: _Path | None = None
    split: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    train: _Names = ()
    validation: _Names = ()
    unfamiliar: _Names = ()
    unlabelled: _Names = ()

    def difference(self, other: Manifest) -> str | None:
        """What makes the other's predictions different, such as `alpha is 0.5 there, 0 here`."""
        if self.checkpoint != other.checkpoint:
            return f"by another model, {other.model}"
        for name, ours in self.options.items():
            theirs = other.options.get(name)
            if theirs != ours:
                return f"{name} is {theirs} there, {ours} here"
        return None


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder of predictions; None if it has none."""
    path = folder / MANIFEST
    if not is_present(path):
        return None
    return read_record(path, Manifest, remedy="remove this file; the predictions stay as they are")


def parse_formats(text: str | None, *, bare: bool) -> tuple[str, ...]:
    """`txt,csv` -> the formats, checked; None takes the usual ones.

    `bare` predictions are transcripts alone, without frame labels.
    """
    if text is None:
        return ("json",) if bare else ("txt", "json")
    formats = tuple(part.strip() for part in text.split(","))
    for name in formats:
        if name not in FORMATS:
            remedy = f"choose from {', '.join(FORMATS)}"
            raise ConfigError(f"unknown format {name!r}", where="--format", remedy=remedy)
    if bare and "txt" in formats:
        raise ConfigError(
            "txt holds a label for every frame, but durations 'none' gives only a transcript",
            where="--format",
            remedy="choose csv or json, or another value for --durations",
        )
    return formats


def output_path(folder: Path, name: str, suffix: str) -> Path:
    """Where a video's prediction goes; names with dots keep them."""
    return folder / f"{name}.{suffix}"


def write_prediction(
    folder: Path, name: str, prediction: Prediction, formats: Sequence[str]
) -> None:
    """Writes one video's prediction in each format; `txt` has a line for each source frame."""
    for suffix in formats:
        path = output_path(folder, name, suffix)
        if suffix == "txt":
            assert prediction.segmentation is not None, "checked with the formats"
            write_labels(path, prediction.labels)
        elif suffix == "csv":
            write_text(path, _as_csv(prediction))
        else:
            write_json(path, {"video": name, **prediction.as_dict()})


def _as_csv(prediction: Prediction) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    if prediction.segmentation is None:
        writer.writerows((action, "", "", "", "", "") for action in prediction.actions)
    for segment in prediction.segments:
        seconds = ("" if t is None else f"{t:.3f}" for t in segment[4:])
        writer.writerow((*segment[:3], f"{segment.confidence:.4f}", *seconds))
    return text.getvalue()
