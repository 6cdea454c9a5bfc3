"""Predictions as `uvast segment` writes them (json, csv, txt), in seconds of their video."""

from __future__ import annotations

import csv
import io
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from uvast.errors import CorruptFileError
from uvast.files import read_json, read_text

if TYPE_CHECKING:
    from pathlib import Path


class TimedSegment(NamedTuple):
    """One action, from `start` to `end` in seconds; its confidence if known."""

    label: str
    start: float
    end: float
    confidence: float | None


class _Row(NamedTuple):
    """A segment in frames, and in seconds if the file says so."""

    label: str
    start: int
    end: int
    confidence: float | None = None
    seconds: tuple[float, float] | None = None


def read_timed_segments(
    path: Path, *, seconds: float, frames_per_second: float | None = None
) -> tuple[TimedSegment, ...]:
    """Reads a prediction.

    Args:
        path: what `uvast segment` wrote, in the format of its suffix; anything but json and csv is
            text, one label per line.
        seconds: the length of the video. If neither the file nor the next argument gives times,
            its frames are spread evenly over that.
        frames_per_second: of the frames that the file counts.
    """
    readers = {".json": _read_json, ".csv": _read_csv}
    try:
        rows = readers.get(path.suffix.lower(), _read_labels)(path)
    except (KeyError, TypeError, ValueError, OverflowError, csv.Error) as error:
        raise _no_prediction(path) from error
    if not rows:
        raise CorruptFileError(
            "holds no segments",
            where=path,
            remedy="segment the video again, with durations",
        )
    step = 1 / frames_per_second if frames_per_second else seconds / rows[-1].end
    return tuple(_timed(row, step, keeps=frames_per_second is None) for row in rows)


def _timed(row: _Row, step: float, *, keeps: bool) -> TimedSegment:
    own = row.seconds if keeps else None
    start, end = (row.start * step, row.end * step) if own is None else own
    return TimedSegment(row.label, start, end, row.confidence)


def _read_json(path: Path) -> list[_Row]:
    content = read_json(path)
    return [_row(segment) for segment in content["segments"]]


def _read_csv(path: Path) -> list[_Row]:
    rows = csv.DictReader(io.StringIO(read_text(path)))
    columns = rows.fieldnames or ()
    if "confidence" not in columns or "video" in columns:  # a table of annotations, in seconds
        raise ValueError("columns of another table")
    return [_row({key: value or None for key, value in row.items()}) for row in rows]


def _read_labels(path: Path) -> list[_Row]:
    labels = read_text(path).split("\n")
    while labels and not labels[-1].strip():
        labels.pop()
    rows: list[_Row] = []
    start = 0
    for label, run in groupby(line.strip() for line in labels):
        end = start + len(list(run))
        rows.append(_Row(label, start, end))
        start = end
    return rows


def _row(values: dict[str, Any]) -> _Row:
    start, end = int(values["start"]), int(values["end"])
    if not 0 <= start < end:
        raise ValueError(f"a segment from {start} to {end}")
    confidence = values.get("confidence")
    come, go = values.get("start_seconds"), values.get("end_seconds")
    return _Row(
        str(values["label"]),
        start,
        end,
        None if confidence is None else float(confidence),
        None if come is None or go is None else (float(come), float(go)),
    )


def _no_prediction(path: Path) -> CorruptFileError:
    return CorruptFileError(
        "is not a prediction", where=path, remedy="name a file that uvast segment wrote"
    )
