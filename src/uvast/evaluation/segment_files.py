"""Predictions as tables of segments: the JSON and CSV files that `uvast segment` writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from uvast.errors import CorruptFileError, LabelError
from uvast.files import read_record, read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from uvast.segments import IntArray

SUFFIXES = (".json", ".csv")
_AGAIN = "predict the video again"
_WITH_TIMES = f"{_AGAIN}, with --durations other than none"

_Frame = Annotated[int, Field(ge=0, le=10**9)]
_Label = Annotated[str, Field(min_length=1, max_length=1_000)]
_Rate = Annotated[float, Field(gt=0, le=10**6, allow_inf_nan=False)]
_Seconds = Annotated[float, Field(ge=0, le=10**9, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


@dataclass(frozen=True, eq=False)
class NamedSegments:
    """A prediction with the names of its classes, at the source rate.

    Args:
        labels: the class of each segment, S of them.
        durations: frames per segment `(S,)`.
        confidences: how sure the model is of each segment `(S,)`, 0 to 1; None if unknown.
        frames_per_second: of the source, if known.
    """

    labels: tuple[str, ...]
    durations: IntArray
    confidences: NDArray[np.float64] | None = None
    frames_per_second: float | None = None


@dataclass(frozen=True)
class _Segment:
    """A row of a CSV file, or one segment of a JSON file."""

    label: _Label
    start: _Frame
    end: _Frame
    confidence: _Share | None = None
    end_seconds: _Seconds | None = None


@dataclass(frozen=True)
class _SegmentFile:
    """The fields that are read from a JSON file."""

    segments: tuple[_Segment, ...]
    frames_per_second: _Rate | None = None


def read_segments(path: Path) -> NamedSegments:
    """Reads a prediction in one of the formats of `SUFFIXES`; its segments have to tile."""
    if path.suffix == ".json":
        found = read_record(path, _SegmentFile, remedy=_AGAIN)
        segments, rate = found.segments, found.frames_per_second
    else:
        segments = tuple(read_rows(path, _Segment, remedy=_WITH_TIMES))
        rate = _rate(segments)
    if not segments:
        raise LabelError(
            "holds no segments, at most a bare transcript",
            where=path,
            remedy=_WITH_TIMES,
        )
    end = 0
    for number, one in enumerate(segments, start=1):
        if one.start != end or one.end <= end:
            raise CorruptFileError(
                f"segment {number} covers frames {one.start} to {one.end}, "
                f"the one before ends at {end}",
                where=path,
                remedy="write segments that follow each other without a gap, starting at frame 0",
            )
        end = one.end
    known = [one.confidence for one in segments if one.confidence is not None]
    return NamedSegments(
        tuple(one.label for one in segments),
        np.array([one.end - one.start for one in segments]),
        np.array(known) if len(known) == len(segments) else None,
        rate,
    )


def _rate(segments: Sequence[_Segment]) -> float | None:
    """Frames per second, from the end of the last segment."""
    last = segments[-1] if segments else None
    if last is None or not last.end_seconds:
        return None
    return round(last.end / last.end_seconds, 3)
