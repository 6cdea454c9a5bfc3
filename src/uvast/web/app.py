"""What request handlers share: the project, its state, live updates and background work."""

from __future__ import annotations

import threading
import time
import traceback
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from uvast.errors import UvastError
from uvast.web.jobs import Job, Jobs
from uvast.web.label_next import LabelNext
from uvast.web.live import News, encoded
from uvast.web.media import Media
from uvast.web.overview import Overview
from uvast.web.predictions import Predictions
from uvast.web.rounds import keep_round
from uvast.web.segmenting import PseudoSegmenter
from uvast.web.states import Delta, State, States
from uvast.web.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from uvast.exchange import FrameTimes
    from uvast.projects import Project
    from uvast.web.interchange import Outgoing
    from uvast.web.notes import Note
    from uvast.web.security import Door

SECONDS_BETWEEN_SAVES = 1.0
ROUNDS_BETWEEN_LOOKS = 3
"""Looking at the files of all videos is slow for hundreds; after a job it is done at once."""

MOST_TOLD = 50
"""Changed videos that are announced one by one; with more, clients reload everything."""


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
    states: States = field(init=False)
    label_next: LabelNext = field(init=False)
    overview: Overview = field(init=False)
    exports: dict[str, Outgoing] = field(default_factory=dict)
    plans_said: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.media = Media(self.project)
        self.store = Store(self.project, self._tell, self._times_of)
        self.predictions = Predictions(self.project.path / "predictions")
        self.jobs = Jobs(self.project.path / "app" / "jobs", self._tell_job)
        self.pseudo = PseudoSegmenter(self.project, self.media, self._tell_pseudo)
        self.states = States(self, self._tell_state)
        self.label_next = LabelNext(self)
        self.overview = Overview(self)
        self._changed_at = time.monotonic()
        self._files_changed = threading.Event()
        self._n_rounds = 0
        self._segmented = threading.Event()
        self._faults: dict[Callable[[], object], str] = {}
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="uvast saver", daemon=True)

    def begin(self) -> None:
        """Starts the background work."""
        self.news.begin()
        self._keeper.start()

    def end(self) -> None:
        """Stops the background work, and saves; a second call does nothing."""
        if not self._over.is_set():
            self._over.set()
            if self._keeper.is_alive():
                self._keeper.join()
            if self._segmented.is_set():
                self._try(self._keep_round)
            self.pseudo.close()
            self.media.close()
            self.store.close()

    def _keep(self) -> None:
        """Saves what is new, and looks for what others changed, every second."""
        duties: tuple[Callable[[], object], ...] = (
            self.store.refresh,
            partial(self.store.save, rested=True),
            self.jobs.step,
            self._tell_progress,
            self.states.refresh,
            self._cut_anew,
        )
        while not self._over.wait(SECONDS_BETWEEN_SAVES):
            for duty in chain(duties, self._due()):
                self._try(duty)

    def _due(self) -> Iterator[Callable[[], object]]:
        """What is not done every second."""
        if self._segmented.is_set():
            self._segmented.clear()
            yield self._keep_round
        self._n_rounds += 1
        if self._files_changed.is_set() or self._n_rounds % ROUNDS_BETWEEN_LOOKS == 0:
            self._files_changed.clear()
            yield self._look_at_files

    def _try(self, duty: Callable[[], object]) -> None:
        """Runs a duty whose failure does not stop the others; each fault is reported once.

        It is reported again if another fault, or success, came in between.
        """
        try:
            duty()
        except Exception as error:  # even a bug
            is_bug = not isinstance(error, UvastError)
            text = f"a fault of the app, see its terminal: {error!r}" if is_bug else str(error)
            if self._faults.get(duty) != text:
                self._faults[duty] = text
                if is_bug:
                    traceback.print_exc()
                self.news.tell(encoded({"error": text}))
        else:
            self._faults.pop(duty, None)

    def _keep_round(self) -> None:
        keep_round(self)

    def _look_at_files(self) -> None:
        if self.overview.refresh():
            self.news.tell(encoded({"project": self.store.number}))

    def _cut_anew(self) -> None:
        idle = all(job.is_over for job in self.jobs.all)
        self.pseudo.step(self.store.number, self._changed_at, idle=idle)

    def _times_of(self, name: str) -> FrameTimes | None:
        return self.media.frame_times(self.project.video(name))

    def _tell_pseudo(self, name: str) -> None:
        self.states.refresh([name])

    def _tell_state(self, state: State, delta: Delta | None) -> None:
        """Tells the clients that look at the video."""
        about = {"video": state.document.video, "version": state.document.version}
        item = encoded({**about, "stamp": state.stamp})
        self.news.tell(item if delta is None else item[:-1] + b', "delta": ' + delta.json + b"}")

    def _tell(self, note: Note) -> None:
        """Sends all clients new rows, or asks them to reload where rows do not say enough."""
        self._changed_at = time.monotonic()
        if len(note.versions) > MOST_TOLD:
            self.news.tell(encoded({"reload": True}))
        else:
            self.states.refresh(list(note.versions))
            for video, version in note.versions.items():
                row = self.overview.row(video) or b"null"
                item = encoded({"video": video, "version": version})
                self.news.tell(item[:-1] + b', "row": ' + row + b"}")
        if note.classes or note.sentence:
            sentence = {"note": note.sentence} if note.sentence else {}
            self.news.tell(encoded({"project": note.number, **sentence}))

    def _tell_job(self, job: Job) -> None:
        """Called while jobs are locked: what takes long is left to the keeper."""
        self.news.tell(encoded({"job": job.number, "state": job.state}))
        self._files_changed.set()
        if job.kind == "segment" and job.state == "done":
            self._segmented.set()

    def _tell_progress(self) -> None:
        for job in self.jobs.all:
            if job.state == "running":
                share = self.jobs.progress(job.number).share
                news = {"job": job.number, "state": job.state, "progress": share}
                self.news.tell(encoded(news))
