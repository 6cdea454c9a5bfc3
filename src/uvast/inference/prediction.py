"""What a model says about a video."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uvast.inference.doubts import Doubts
    from uvast.segments import IntArray, Segmentation
    from uvast.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class FramePrediction:
    """The frame head's view of one video.

    Args:
        features: encoder features `(T, D)`; for an ensemble, those of its members side by side.
        log_probabilities: of the classes `(T, C)`.
        boundaries: log-odds that a segment starts at a frame `(T,)`; None if the model has none.
        divergences: how much an ensemble's members disagree, 0 to 1 `(T,)`; None for one model.
        source_log_probabilities: of every source frame `(source_frames, C)`, if all were seen.
        member_log_probabilities: of an ensemble's members `(N, T, C)`; None for one model, and
            after several looks at the video.
    """

    features: NDArray[np.float32]
    log_probabilities: NDArray[np.float32]
    boundaries: NDArray[np.float32] | None = None
    divergences: NDArray[np.float32] | None = None
    source_log_probabilities: NDArray[np.float32] | None = None
    member_log_probabilities: NDArray[np.float32] | None = None

    @property
    def is_sound(self) -> bool:
        """Whether no score is NaN."""
        total = self.log_probabilities.sum()
        return not np.isnan(total if self.boundaries is None else total + self.boundaries.sum())

    @property
    def labels(self) -> IntArray:
        """The likeliest class of each frame `(T,)`."""
        labels: IntArray = self.log_probabilities.argmax(1).astype(np.int64)
        return labels


@dataclass(frozen=True, eq=False)
class DecodedVideo:
    """One video, decoded at the model's rate: a bare transcript `(S,)`, or its segments, too.

    It is not `complete` if `max_segments` stopped greedy search, even if a beam then ended.
    """

    transcript: IntArray
    segmentation: Segmentation | None
    complete: bool = True


class LabelledSegment(NamedTuple):
    """One action of a video, ready to print; `start` and `end` are source frames, half-open."""

    label: str
    start: int
    end: int
    confidence: float
    start_seconds: float | None
    end_seconds: float | None


@dataclass(frozen=True, eq=False)
class Prediction:
    """A video's segmentation at the source frame rate.

    Args:
        transcript: the actions `(S,)`.
        segmentation: their segments; None if only a transcript was asked for.
        confidences: mean posterior of each segment's class over its frames `(S,)`.
        confidence: mean posterior over all frames, between 0 and 1; None without a segmentation.
        vocabulary: the classes.
        frames_per_second: of the source, if known.
        edges: when each source frame starts and the last one ends, in seconds `(T + 1,)`, if known
            more precisely than by the rate.
        complete: False if `max_segments` stopped the decoder (and a beam searched again).
        doubts: where the frame head is unsure; None without a segmentation.
        looks: what each segment looks like, see `uvast.proposals` `(S, L)`; None if not known.
    """

    transcript: IntArray
    segmentation: Segmentation | None
    confidences: NDArray[np.float64]
    confidence: float | None
    vocabulary: Vocabulary
    frames_per_second: float | None = None
    edges: NDArray[np.float64] | None = None
    complete: bool = True
    doubts: Doubts | None = None
    looks: NDArray[np.float64] | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the actions in order."""
        return self.vocabulary.decode(self.transcript)

    @property
    def labels(self) -> tuple[str, ...]:
        """The class name of each source frame."""
        if self.segmentation is None:
            return ()
        return self.vocabulary.decode(self.segmentation.labels)

    @property
    def segments(self) -> tuple[LabelledSegment, ...]:
        """The segments in order."""
        if self.segmentation is None:
            return ()
        names = self.vocabulary.names
        pairs = zip(self.segmentation.segments, self.confidences.tolist(), strict=True)
        return tuple(
            LabelledSegment(
                names[action],
                start,
                end,
                confidence,
                self._seconds(start),
                self._seconds(end),
            )
            for (action, start, end), confidence in pairs
        )

    def _seconds(self, frame: int) -> float | None:
        """When a source frame starts."""
        if self.edges is not None:
            return float(self.edges[frame])
        return None if self.frames_per_second is None else frame / self.frames_per_second

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        numbers = {} if self.doubts is None else self.doubts.by_segment()
        shown: list[dict[str, Any]] = []
        for place, segment in enumerate(self.segments):
            found = segment._asdict()
            found |= {name: float(values[place]) for name, values in numbers.items()}
            found = {name: _rounded(value) for name, value in found.items()}
            if self.looks is not None:
                found["look"] = [float(f"{value:.4g}") for value in self.looks[place].tolist()]
            shown.append(found)
        return {
            "confidence": _rounded(self.confidence),
            "complete": self.complete,
            "frames": None if self.segmentation is None else self.segmentation.n_frames,
            "frames_per_second": self.frames_per_second,
            "transcript": list(self.actions),
            "segments": shown,
            "band": self._band(),
        }

    def _band(self) -> dict[str, Any] | None:
        """The probability over time, if the time is known."""
        if self.doubts is None or self.segmentation is None:
            return None
        seconds = self._seconds(self.segmentation.n_frames)
        if not seconds:
            return None
        values = [_rounded(value) for value in self.doubts.band.tolist()]
        return {"step": seconds / len(values), "probability": values}


def _rounded(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value
