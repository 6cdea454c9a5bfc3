"""Predictions on disk: frame labels (txt), tables of segments (csv), everything (json)."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from uvast.data.label_files import write_labels
from uvast.errors import ConfigError
from uvast.files import check_absent, write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from uvast.inference.prediction import Prediction

FORMATS = ("txt", "csv", "json")
CSV_COLUMNS = ("label", "start", "end", "confidence", "start_seconds", "end_seconds")


def parse_formats(text: str | None, *, bare: bool) -> tuple[str, ...]:
    """`txt,csv` -> the formats, checked; None takes the usual ones.

    Args:
        text: by commas.
        bare: whether the predictions are bare transcripts, which have no labels of frames.
    """
    if text is None:
        return ("json",) if bare else ("txt", "json")
    formats = tuple(part.strip() for part in text.split(","))
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise ConfigError(
            f"no format {unknown[0]!r}",
            where="--format",
            remedy=f"choose from {', '.join(FORMATS)}",
        )
    if bare and "txt" in formats:
        raise ConfigError(
            "txt has a label a frame, and durations 'none' give no frames",
            where="--format",
            remedy="choose csv or json, or other --durations",
        )
    return formats


def output_path(folder: Path, name: str, suffix: str) -> Path:
    """Where a video's prediction goes; names with dots keep them."""
    return folder / f"{name}.{suffix}"


def check_free(folder: Path, names: Iterable[str], formats: Sequence[str]) -> None:
    """Refuses to start if a prediction would be overwritten."""
    check_absent(*(output_path(folder, name, suffix) for name in names for suffix in formats))


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
