"""What a person should look at next: predicted segments, the least sure first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from uvast.exchange.records import joined
from uvast.web.documents import spans_of
from uvast.web.predictions import timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from uvast.projects import ProjectVideo
    from uvast.web.app import App
    from uvast.web.documents import Document
    from uvast.web.predictions import PredictedSegment

MOST_SHOWN = 500


@dataclass(frozen=True)
class Doubtful:
    """A predicted segment that nobody has looked at."""

    video: str
    segment: PredictedSegment
    uncertainty: float
    why: str

    @property
    def view(self) -> dict[str, object]:
        """As the page gets it."""
        one = self.segment
        return {
            "video": self.video,
            "segment": {
                "label": one.label,
                "start": one.start_seconds,
                "end": one.end_seconds,
                "confidence": one.confidence,
            },
            "uncertainty": round(self.uncertainty, 4),
            "why": self.why,
        }


def doubtful(app: App) -> list[Doubtful]:
    """The segments of all videos that were not reviewed, the least sure first."""
    documents = app.store.documents
    found: list[Doubtful] = []
    for name in app.project.names:
        document, prediction = documents.get(name), app.predictions.of(name)
        if prediction is None or (document is not None and document.reviewed):
            continue
        settled = _settled(document, timed(prediction))
        found += [
            Doubtful(name, one, one.uncertainty, _why(one))
            for one, is_settled in zip(timed(prediction), settled, strict=True)
            if not is_settled
        ]
    return sorted(found, key=lambda one: (-one.uncertainty, one.video, one.segment.start))


def next_to_label(app: App) -> dict[str, object] | None:
    """The video and the moment whose click would teach most; None if there is nothing to do.

    With predictions: the middle of the least sure segment, long ones first among equals. Before
    them: a video without labels, then the widest stretch without a click.
    """
    unsure = doubtful(app)
    if unsure:
        best = max(unsure, key=lambda one: one.uncertainty * _seconds(one.segment) ** 0.5)
        middle = ((best.segment.start_seconds or 0) + (best.segment.end_seconds or 0)) / 2
        return {"video": best.video, "seconds": round(middle, 3), "why": best.why}
    documents = app.store.documents
    for video in app.project.videos:
        document = documents.get(video.name)
        if document is None or not document.items:
            return {"video": video.name, "seconds": 0.0, "why": "it has no labels yet"}
    gaps = [
        gap
        for video in app.project.videos
        if not documents[video.name].reviewed
        for gap in _gaps(video, documents[video.name])
    ]
    if not gaps:
        return None
    length, name, middle = max(gaps)
    why = f"{length:.0f} seconds without a click"
    return {"video": name, "seconds": round(middle, 3), "why": why}


def _gaps(video: ProjectVideo, document: Document) -> Iterator[tuple[float, str, float]]:
    """How long nothing is known, the video, and the middle; of videos with clicks alone."""
    if not video.seconds or document.segments:
        return
    edges = [0.0, *(one.event.start for one in document.clicks), video.seconds]
    for start, end in pairwise(edges):
        yield end - start, video.name, (start + end) / 2


def _settled(document: Document | None, segments: Sequence[PredictedSegment]) -> list[bool]:
    """Whether a person has said what happens in most of each segment."""
    if document is None or not document.segments or not segments:
        return [False] * len(segments)
    spans = np.array(joined(spans_of(item.event for item in document.segments)))
    # the seconds that are known up to each edge
    known = np.cumsum(np.stack([np.zeros(len(spans)), spans[:, 1] - spans[:, 0]], axis=1).ravel())
    edges = np.array([(one.start_seconds or 0.0, one.end_seconds or 0.0) for one in segments])
    inside = np.diff(np.interp(edges, spans.ravel(), known), axis=1)[:, 0]
    found: list[bool] = (inside > 0.5 * (edges[:, 1] - edges[:, 0])).tolist()
    return found


def _why(one: PredictedSegment) -> str:
    if one.agreement is not None and one.agreement < 0.5:
        return f"only {one.agreement:.0%} of its frames look like {one.label}"
    if one.divergence is not None and one.divergence > 0.5:
        return f"the members of the ensemble disagree about it (divergence {one.divergence:.2f})"
    if one.entropy is not None and one.entropy > 0.5:
        return f"its frames could be many things (entropy {one.entropy:.2f})"
    if one.confidence is not None:
        return f"the model is {one.confidence:.0%} sure"
    return "the model does not say how sure it is"


def _seconds(one: PredictedSegment) -> float:
    return (one.end_seconds or 0.0) - (one.start_seconds or 0.0)
