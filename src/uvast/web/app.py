"""What request handlers share: the project, its state, news and work in the background."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from uvast.errors import UvastError
from uvast.web.jobs import Job, Jobs
from uvast.web.live import News
from uvast.web.media import Media
from uvast.web.overview import Overview
from uvast.web.predictions import Predictions
from uvast.web.rounds import keep_round
from uvast.web.segmenting import PseudoSegmenter
from uvast.web.store import Note, Store

if TYPE_CHECKING:
    from uvast.exchange import FrameTimes
    from uvast.projects import Project
    from uvast.web.interchange import Outgoing
    from uvast.web.security import Door

SECONDS_BETWEEN_SAVES = 1.0
ROUNDS_BETWEEN_LOOKS = 3
"""At the files of all videos, which is slow for hundreds; after a job at once."""


@dataclass
class App:
    """A project in the app.

    Args:
        project: its files.
        door: who may come in.
        author: who makes changes that do not name anybody.
    """

    project: Project
    door: Door
    author: str
    news: News = field(default_factory=News)
    store: Store = field(init=False)
    predictions: Predictions = field(init=False)
    media: Media = field(init=False)
    jobs: Jobs = field(init=False)
    pseudo: PseudoSegmenter = field(init=False)
    overview: Overview = field(init=False)
    exports: dict[str, Outgoing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.media = Media(self.project)
        self.store = Store(self.project, self._tell, self._times_of)
        self.predictions = Predictions(self.project.path / "predictions")
        self.jobs = Jobs(self.project.path / "app" / "jobs", self._tell_job)
        self.pseudo = PseudoSegmenter(self.project, self.media, self._tell_video)
        self.overview = Overview(self)
        self._changed_at = time.time()
        self._files_changed = threading.Event()
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="uvast saver", daemon=True)

    def begin(self) -> None:
        """Starts what runs beside the requests."""
        self.news.begin()
        self._keeper.start()

    def end(self) -> None:
        """Stops it, and saves; a second time does nothing."""
        if not self._over.is_set():
            self._over.set()
            if self._keeper.is_alive():
                self._keeper.join()
            self.pseudo.close()
            self.store.close()

    def _keep(self) -> None:
        """Saves what is new, and looks for what others changed, every second."""
        n_rounds = 0
        while not self._over.wait(SECONDS_BETWEEN_SAVES):
            try:
                self.store.refresh()
                self.store.save(rested=True)
                self.jobs.step()
                self._tell_progress()
                n_rounds += 1
                is_due = self._files_changed.is_set() or n_rounds % ROUNDS_BETWEEN_LOOKS == 0
                self._files_changed.clear()
                if is_due and self.overview.refresh():
                    self.news.tell({"project": self.store.number})
                idle = all(job.is_over for job in self.jobs.all)
                self.pseudo.step(self.store.number, self._changed_at, idle=idle)
            except UvastError as error:
                self.news.tell({"error": str(error)})

    def _times_of(self, name: str) -> FrameTimes | None:
        return self.media.frame_times(self.project.video(name))

    def _tell_video(self, name: str) -> None:
        self.news.tell({"video": name, "version": self.store.document(name).version})

    def _tell(self, note: Note) -> None:
        self._changed_at = time.time()
        for video, version in note.versions.items():
            self.news.tell({"video": video, "version": version})
        news: dict[str, object] = {"project": note.number}
        self.news.tell({**news, "note": note.sentence} if note.sentence else news)

    def _tell_job(self, job: Job) -> None:
        self.news.tell({"job": job.number, "state": job.state})
        self._files_changed.set()
        if job.kind == "segment" and job.state == "done":
            keep_round(self)

    def _tell_progress(self) -> None:
        for job in self.jobs.all:
            if job.state == "running":
                share = self.jobs.progress(job.number).share
                self.news.tell({"job": job.number, "state": job.state, "progress": share})
