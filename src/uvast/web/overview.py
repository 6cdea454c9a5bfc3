"""The list of videos, quick even for hundreds: files are looked at only now and then."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.errors import UvastError, command
from uvast.web.job_views import job_view, run_views
from uvast.web.views import lost, mark_of

if TYPE_CHECKING:
    from uvast.projects import ProjectVideo
    from uvast.web.app import App
    from uvast.web.documents import Document

N_JOBS = 50
"""Jobs in the list; older ones are of no interest."""


@dataclass(frozen=True)
class _Facts:
    """What the files of a video say."""

    v: str
    seconds: float | None
    has_video: bool = False
    missing: bool = False
    has_features: bool = False
    playable: bool = False
    predicted: bool = False
    uncertainty: float | None = None
    error: str | None = None


class Overview:
    """The project as the list shows it.

    Args:
        app: the project.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._path = app.project.path.resolve()
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._facts: dict[str, _Facts] = {}
        self._rows: dict[str, tuple[Document, _Facts, bytes]] = {}
        self._slow: dict[str, object] = {}
        self._last, self._mark = b"", time.time_ns() // 10**6

    def refresh(self) -> bool:
        """Looks at the files again; returns whether anything has changed."""
        with self._looking:  # whoever looked first reports first
            return self._refresh()

    def _refresh(self) -> bool:
        facts = {video.name: self._look_at(video) for video in self._app.project.videos}
        slow: dict[str, object] = {
            "runs": run_views(self._app.project.path),
            "next": self._app.label_next.find(),
        }
        before = self._facts
        is_new = facts != before or slow != self._slow
        # keep the same objects where nothing is new: cached rows go with them
        self._facts = {
            name: before[name] if before.get(name) == one else one for name, one in facts.items()
        }
        self._slow = slow
        return is_new

    def json(self) -> tuple[bytes, int]:
        """The whole list, and a mark that changes with it."""
        app = self._app
        if not self._facts:
            self.refresh()
        rows = [self._row(app.store.known(name), one) for name, one in self._facts.items()]
        rest = {
            "name": self._path.name,
            "path": str(self._path),
            "add_videos": command("init", self._path, "--videos"),
            "classes": [vars(one) for one in app.store.classes],
            "jobs": [job_view(app, job) for job in app.jobs.all[:N_JOBS]],
            "author": app.author,
            "version": app.store.number,
            **self._slow,
            "next": app.label_next.find(),  # as of now, whenever the files were looked at
        }
        head = json.dumps(rest, ensure_ascii=False).encode()
        content = b'{"videos": [' + b", ".join(rows) + b"], " + head[1:]
        with self._lock:
            if content != self._last:
                self._last, self._mark = content, self._mark + 1
            return self._last, self._mark

    def row(self, name: str) -> bytes | None:
        """The row of one video; None if it is not in the list yet."""
        facts = self._facts.get(name)
        return None if facts is None else self._row(self._app.store.known(name), facts)

    def _row(self, document: Document, facts: _Facts) -> bytes:
        known = self._rows.get(document.video)
        if known is None or known[0] is not document or known[1] is not facts:
            content = json.dumps(_row_view(document, facts), ensure_ascii=False).encode()
            known = self._rows[document.video] = document, facts, content
        return known[2]

    def _look_at(self, video: ProjectVideo) -> _Facts:
        """What a video's files say; if they cannot be read, the row says so."""
        try:
            return self._facts_of(video, self._app.store.fault(video.name))
        except (UvastError, OSError) as error:
            return _Facts(mark_of(video), video.seconds or None, error=str(error))

    def _facts_of(self, video: ProjectVideo, fault: UvastError | None) -> _Facts:
        app, name, gone = self._app, video.name, lost(self._app, video)
        found = app.predictions.of(name)
        segments = () if found is None else found.segments
        total = sum(one.uncertainty for one in segments)
        return _Facts(
            v=mark_of(video),
            seconds=app.media.seconds(video),
            has_video=video.is_video and gone is None,
            missing=gone is not None,
            has_features=app.project.features_path(name).is_file(),
            playable=app.media.may_play(video),
            predicted=found is not None,
            uncertainty=round(total / len(segments), 4) if segments else None,
            error=gone if fault is None else str(fault),
        )


def _row_view(document: Document, facts: _Facts) -> dict[str, object]:
    n_clicks, n_segments = len(document.clicks), len(document.segments)
    if document.reviewed:
        state = "reviewed"
    elif n_segments or n_clicks:
        state = "labelled" if n_segments else "clicks"
    elif facts.missing:
        state = "missing"
    else:
        state = "predicted" if facts.predicted else "new"
    return {
        "name": document.video,
        "version": document.version,
        "state": state,
        "n_clicks": n_clicks,
        "n_segments": n_segments,
        **vars(facts),
    }
