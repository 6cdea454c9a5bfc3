"""The list of videos, quick also for hundreds: what files tell is looked up once a second."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.web.documents import Document
from uvast.web.job_views import job_view, run_views
from uvast.web.label_next import LabelNext

if TYPE_CHECKING:
    from uvast.projects import ProjectVideo
    from uvast.web.app import App

N_JOBS = 50
"""Jobs in the list; older ones are of no interest."""


@dataclass(frozen=True)
class _Facts:
    """What the files of a video tell."""

    seconds: float | None
    has_video: bool
    has_features: bool
    playable: bool
    predicted: bool
    uncertainty: float | None
    error: str | None


class Overview:
    """The project as the list shows it.

    Args:
        app: the project.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._next = LabelNext(app)
        self._facts: dict[str, _Facts] = {}
        self._rows: dict[str, tuple[Document, _Facts, bytes]] = {}
        self._slow: dict[str, object] = {}

    def refresh(self) -> bool:
        """Looks at the files again; whether anything is different."""
        facts = {video.name: self._look_at(video) for video in self._app.project.videos}
        slow: dict[str, object] = {
            "runs": run_views(self._app.project.path),
            "next": self._next.find(),
        }
        is_new = facts != self._facts or slow != self._slow
        if facts == self._facts:
            facts = self._facts  # the very same records: rows are kept by them
        self._facts, self._slow = facts, slow
        return is_new

    def json(self) -> bytes:
        """All of it."""
        app = self._app
        if not self._facts:
            self.refresh()
        documents = app.store.documents
        facts = self._facts
        rows = [
            self._row(name, documents.get(name) or Document(name), one)
            for name, one in facts.items()
        ]
        rest = {
            "name": app.project.path.resolve().name,
            "path": str(app.project.path.resolve()),
            "classes": [vars(one) for one in app.store.classes],
            "jobs": [job_view(app, job) for job in app.jobs.all[:N_JOBS]],
            "author": app.author,
            "version": app.store.number,
            **self._slow,
        }
        head = json.dumps(rest, ensure_ascii=False).encode()
        return b'{"videos": [' + b", ".join(rows) + b"], " + head[1:]

    def _row(self, name: str, document: Document, facts: _Facts) -> bytes:
        known = self._rows.get(name)
        if known is None or known[0] is not document or known[1] is not facts:
            content = json.dumps(_row_view(document, facts), ensure_ascii=False).encode()
            known = self._rows[name] = document, facts, content
        return known[2]

    def _look_at(self, video: ProjectVideo) -> _Facts:
        app, name = self._app, video.name
        found, fault = app.predictions.of(name), app.store.fault(name)
        segments = () if found is None else found.segments
        total = sum(one.uncertainty for one in segments)
        return _Facts(
            seconds=app.media.seconds(video),
            has_video=video.is_video and video.path.is_file(),
            has_features=app.project.features_path(name).is_file(),
            playable=app.media.may_play(video),
            predicted=found is not None,
            uncertainty=round(total / len(segments), 4) if segments else None,
            error=None if fault is None else str(fault),
        )


def _row_view(document: Document, facts: _Facts) -> dict[str, object]:
    n_clicks, n_segments = len(document.clicks), len(document.segments)
    if document.reviewed:
        state = "reviewed"
    elif n_segments or n_clicks:
        state = "labelled" if n_segments else "clicks"
    else:
        state = "predicted" if facts.predicted else "new"
    return {
        "name": document.video,
        "state": state,
        "n_clicks": n_clicks,
        "n_segments": n_segments,
        **vars(facts),
    }
