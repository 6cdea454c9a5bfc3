"""Label next: the video whose clicks would teach most, and the moment to begin with."""

from __future__ import annotations

import threading
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from uvast.proposals import (
    LOOK_WIDTH,
    Predicted,
    has_click,
    is_clicked,
    is_known,
    middle_half,
    propose,
)
from uvast.web.predictions import timed
from uvast.web.review import why_unsure
from uvast.web.views import lost

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from uvast.projects import ProjectVideo
    from uvast.proposals import BoolArray, Edges
    from uvast.web.app import App
    from uvast.web.documents import Document
    from uvast.web.predictions import PredictedSegment

    Documents = Mapping[str, Document]


class LabelNext:
    """The proposal; considered again only if labels, predictions or files change.

    Args:
        app: the project.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._seen: tuple[tuple[str, int, int], ...] | None = None
        self._found: dict[str, object] | None = None
        self._gone: frozenset[str] = frozenset()

    def find(self, leaving: str | None = None) -> dict[str, object] | None:
        """The current proposal, as the page gets it; None if there is nothing to do.

        With predictions: what `uvast.proposals` says, and if a video's clicks do not yet stand for
        all of it, the stretch that a single answer covers. Without predictions: a video without
        labels, then the widest stretch without a click. Never a video whose file is missing.

        Args:
            leaving: the video that a person is done with: proposed only if a model is unsure of
                it, or if it is the only one.
        """
        documents, predictions = self._app.store.documents, self._app.predictions
        with self._lock:
            seen = tuple(
                (name, predictions.stamp(name), documents[name].version if name in documents else 0)
                for name in self._app.project.names
            )
            if seen != self._seen or self._is_moved():
                self._gone = frozenset(
                    name for name in self._app.project.names if self._is_gone(name)
                )
                self._found = _by_model(self._app, documents, self._gone)
                self._seen = seen
            found = self._found
        return found or _without_model(self._app, documents, leaving)

    def _is_gone(self, name: str) -> bool:
        return lost(self._app, self._app.project.video(name)) is not None

    def _is_moved(self) -> bool:
        """Whether the file of the proposed video is gone, or one that was gone is back."""
        proposed = None if self._found is None else str(self._found["video"])
        names = set(self._app.project.names)
        return (proposed in names and self._is_gone(str(proposed))) or not all(
            name in names and self._is_gone(name) for name in self._gone
        )


def _by_model(app: App, documents: Documents, gone: frozenset[str]) -> dict[str, object] | None:
    segments = {
        name: found
        for name in app.project.names
        if (prediction := app.predictions.of(name))
        and (found := timed(prediction))
        and name not in gone
    }
    proposal = propose(
        {name: _predicted(found, documents.get(name)) for name, found in segments.items()}
    )
    if proposal is None:
        return None
    name, document = proposal.video, documents.get(proposal.video)
    one = segments[name][proposal.place]
    start, moment, end = middle_half(*_edges(one))
    shown: dict[str, object] = {
        "video": name,
        "seconds": round(moment, 3),
        "why": why_unsure(one)
        if proposal.begun
        else "the model is unsure of this video, and it looks new",
    }
    if not _is_clicked_as_a_whole(document):
        shown["segment"] = {"label": one.label, "start": round(start, 3), "end": round(end, 3)}
    return shown


def _predicted(segments: list[PredictedSegment], document: Document | None) -> Predicted:
    edges = [_edges(one) for one in segments]
    looks = np.zeros((len(segments), LOOK_WIDTH))
    for row, one in zip(looks, segments, strict=True):
        row[: len(one.look)] = one.look
    return Predicted(
        looks,
        np.array([one.uncertainty for one in segments]),
        np.array([end - start for start, end in edges]),
        _known(edges, document),
    )


def _edges(one: PredictedSegment) -> tuple[float, float]:
    return one.start_seconds or 0.0, one.end_seconds or 0.0


def _known(edges: Edges, document: Document | None) -> BoolArray:
    """Where a person has said what happens `(S,)`."""
    if document is None:
        return np.zeros(len(edges), bool)
    if document.reviewed or (document.segments and document.observed is None):
        return np.ones(len(edges), bool)
    if document.segments:
        return is_known(edges, document.observed or ())
    clicks = [one.event.start for one in document.clicks]
    return (is_clicked if _is_clicked_as_a_whole(document) else has_click)(edges, clicks)


def _is_clicked_as_a_whole(document: Document | None) -> bool:
    """Whether its clicks stand for the whole video."""
    return document is not None and bool(document.clicks) and document.observed is None


def _without_model(app: App, documents: Documents, leaving: str | None) -> dict[str, object] | None:
    others = [video for video in app.project.videos if video.name != leaving]
    left = [video for video in app.project.videos if video.name == leaving]
    for some in (others, left):
        for found in chain(_unlabelled(some, documents), _widest_gaps(some, documents)):
            if lost(app, app.project.video(str(found["video"]))) is None:
                return found
    return None


def _unlabelled(videos: list[ProjectVideo], documents: Documents) -> Iterator[dict[str, object]]:
    for video in videos:
        document = documents.get(video.name)
        if document is None or not document.items:
            yield {"video": video.name, "seconds": 0.0, "why": "it has no labels yet"}


def _widest_gaps(videos: list[ProjectVideo], documents: Documents) -> Iterator[dict[str, object]]:
    """The stretches without a click in videos with labels, the widest first."""
    gaps = [
        gap
        for video in videos
        if (document := documents.get(video.name)) and document.items and not document.reviewed
        for gap in _gaps(video, document)
    ]
    for length, name, middle in sorted(gaps, reverse=True):
        why = f"{length:.0f} seconds without a click"
        yield {"video": name, "seconds": round(middle, 3), "why": why}


def _gaps(video: ProjectVideo, document: Document) -> Iterator[tuple[float, str, float]]:
    """The length, video and middle of each stretch without a click; none if it has segments."""
    if not video.seconds or document.segments:
        return
    edges = [0.0, *(one.event.start for one in document.clicks), video.seconds]
    for start, end in pairwise(edges):
        yield end - start, video.name, (start + end) / 2
