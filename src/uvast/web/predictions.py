"""Predictions of a project, as `uvast segment` writes them, in seconds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from uvast.errors import UvastError
from uvast.exchange import Event
from uvast.files import read_record
from uvast.proposals import LOOK_WIDTH

if TYPE_CHECKING:
    from pathlib import Path

_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
_Coordinate = Annotated[float, Field(ge=-1e30, le=1e30, allow_inf_nan=False)]
_Label = Annotated[str, Field(min_length=1, max_length=1000)]


@dataclass(frozen=True)
class PredictedSegment:
    """A predicted segment; `entropy` to `divergence` are shares, None if unknown.

    `look` says what it looks like, see `uvast.proposals.segment_looks`; empty if unknown.
    """

    label: _Label
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    confidence: _Share | None = None
    start_seconds: _Seconds | None = None
    end_seconds: _Seconds | None = None
    entropy: _Share | None = None
    agreement: _Share | None = None
    divergence: _Share | None = None
    look: Annotated[tuple[_Coordinate, ...], Field(max_length=LOOK_WIDTH)] = ()

    @property
    def uncertainty(self) -> float:
        """How unsure the model is, 0 to 1; the members of an ensemble may disagree."""
        if self.entropy is not None:
            disagreement = 0.0 if self.agreement is None else 1 - self.agreement
            members = [] if self.divergence is None else [self.divergence]
            return fmean([self.entropy, disagreement, *members])
        return 0.0 if self.confidence is None else 1 - self.confidence


@dataclass(frozen=True)
class Band:
    """The probability of the predicted class over time, one value every `step` seconds."""

    step: Annotated[float, Field(gt=0, le=1e9)]
    probability: tuple[_Share, ...]


@dataclass(frozen=True)
class PredictionFile:
    """What is read from `predictions/NAME.json`."""

    segments: Annotated[tuple[PredictedSegment, ...], Field(max_length=1_000_000)]
    frames_per_second: Annotated[float, Field(gt=0, le=1e6)] | None = None
    band: Band | None = None
    run: Annotated[str, Field(max_length=10_000)] | None = None


class Predictions:
    """The newest prediction of each video, read again when its file changes.

    Args:
        folder: `PROJECT/predictions`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[int, PredictionFile | None]] = {}

    def stamp(self, video: str) -> int:
        """Changes with the file; 0 without one. `video` is a name of the project."""
        try:
            return (self._folder / f"{video}.json").stat().st_mtime_ns
        except OSError:
            return 0

    def of(self, video: str) -> PredictionFile | None:
        """A video's prediction; None without one, or if it cannot be read."""
        stamp = self.stamp(video)
        if video not in self._known or self._known[video][0] != stamp:
            self._known[video] = stamp, self._read(video) if stamp else None
        return self._known[video][1]

    def events(self, video: str) -> tuple[Event, ...]:
        """The predicted segments as events in seconds."""
        return events_of(self.of(video))

    def _read(self, video: str) -> PredictionFile | None:
        with suppress(UvastError):
            return read_record(self._folder / f"{video}.json", PredictionFile)
        return None


def events_of(found: PredictionFile | None) -> tuple[Event, ...]:
    """The segments of a prediction as events in seconds."""
    return () if found is None else tuple(map(_event, timed(found)))


def timed(found: PredictionFile) -> list[PredictedSegment]:
    """The segments whose seconds are known."""
    rate = found.frames_per_second
    segments = [
        one
        if rate is None or one.end_seconds is not None
        else replace(one, start_seconds=one.start / rate, end_seconds=one.end / rate)
        for one in found.segments
    ]
    return [one for one in segments if (one.end_seconds or 0.0) > (one.start_seconds or 0.0)]


def _event(one: PredictedSegment) -> Event:
    return Event(one.label, one.start_seconds or 0.0, one.end_seconds, confidence=one.confidence)
