"""Label next: the video and the moment whose answer would teach most."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from uvast.exchange import Span
from uvast.proposals import Candidates, is_known, middle_half, propose
from uvast.web.predictions import timed
from uvast.web.review import why_unsure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from uvast.projects import ProjectVideo
    from uvast.web.app import App
    from uvast.web.documents import Document, Spans
    from uvast.web.predictions import PredictedSegment

_EVERYTHING = (Span(0.0, 1e9),)
_UNSURE = 0.25


class LabelNext:
    """The proposal, thought over again only when labels or predictions are new.

    Args:
        app: the project.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._seen: tuple[tuple[str, int, int], ...] | None = None
        self._found: dict[str, object] | None = None

    def find(self) -> dict[str, object] | None:
        """As the page gets it; None if there is nothing to do.

        With predictions: what `uvast.proposals` says, with the segment to name. Before them: a
        video without labels, then the widest stretch without a click.
        """
        documents, predictions = self._app.store.documents, self._app.predictions
        seen = tuple(
            (name, predictions.stamp(name), documents[name].version if name in documents else 0)
            for name in self._app.project.names
        )
        if seen != self._seen:
            self._found = _by_model(self._app) or _without_model(self._app)
            self._seen = seen
        return self._found


def _by_model(app: App) -> dict[str, object] | None:
    places: list[tuple[str, PredictedSegment]] = []
    known: list[bool] = []
    for name in app.project.names:
        prediction = app.predictions.of(name)
        if prediction is None:
            continue
        segments = timed(prediction)
        places += [(name, one) for one in segments]
        edges = [(one.start_seconds or 0.0, one.end_seconds or 0.0) for one in segments]
        known += is_known(edges, _labelled(app.store.documents.get(name))).tolist()
    if not places:
        return None
    segments = [one for _, one in places]
    found = propose(
        Candidates(
            _looks(segments),
            np.array([one.uncertainty for one in segments]),
            np.array([(one.end_seconds or 0.0) - (one.start_seconds or 0.0) for one in segments]),
            np.array(known),
        )
    )
    return _view(*places[found[0]]) if found else None


def _view(name: str, one: PredictedSegment) -> dict[str, object]:
    start, moment, end = middle_half(one.start_seconds or 0.0, one.end_seconds or 0.0)
    is_unsure = one.uncertainty >= _UNSURE
    return {
        "video": name,
        "seconds": round(moment, 3),
        "segment": {"label": one.label, "start": round(start, 3), "end": round(end, 3)},
        "why": why_unsure(one) if is_unsure else "the model is unsure of others that look like it",
    }


def _labelled(document: Document | None) -> Spans:
    """Where a person has said what happens: clicks alone stand for the whole video."""
    if document is None:
        return ()
    if document.reviewed or (document.items and document.observed is None):
        return _EVERYTHING
    return document.observed or ()


def _looks(segments: list[PredictedSegment]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """`(N, L)`; those of other models, which have another width, look like nothing."""
    width = Counter(len(one.look) for one in segments).most_common(1)[0][0]
    looks = np.zeros((len(segments), width))
    for place, one in enumerate(segments):
        if len(one.look) == width:
            looks[place] = one.look
    return looks


def _without_model(app: App) -> dict[str, object] | None:
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
