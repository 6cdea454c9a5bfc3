"""Pseudo-segmentations that follow the clicks of the videos that are looked at."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uvast.errors import UvastError
from uvast.web.full_passes import FullPass
from uvast.web.pseudo import Pseudo, midpoints, segments_of, stretches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from uvast.exchange import Event, FrameTimes, Span
    from uvast.projects import Project, ProjectVideo
    from uvast.web.cutting import Cutter
    from uvast.web.documents import Document
    from uvast.web.full_pass import NamedModel
    from uvast.web.media import Media

N_READY = 4
"""Videos whose features are held in memory."""

N_FOUND = 100
"""Videos whose pseudo-segmentations are remembered."""

SECONDS_A_SEGMENT = 10.0
"""The length of an action that features are averaged for, until there are clicks enough."""


class _Found(NamedTuple):
    """What was found of a document, and by what."""

    document: Document
    by: tuple[Cutter | None, NamedModel | None]
    pseudo: Pseudo


class PseudoSegmenter:
    """Pseudo-segmentations of all videos; those that are looked at are held ready.

    Args:
        project: its files.
        media: the frames on which clicks stand.
        tell: called with the name of a video whose segments got better.
    """

    def __init__(self, project: Project, media: Media, tell: Callable[[str], None]) -> None:
        self._project = project
        self._media = media
        self._tell = tell
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, "uvast pseudo")
        self._cutters: OrderedDict[str, tuple[int, Cutter | None]] = OrderedDict()
        self._model: NamedModel | None = None
        self._ids: dict[str, int] = {}
        self._pass = FullPass(project)
        self._found: OrderedDict[str, _Found] = OrderedDict()

    def of(self, document: Document, video: ProjectVideo) -> Pseudo:
        """By the features if they are at hand, else by midpoints while they are being read."""
        if not document.clicks:
            return Pseudo()
        cutter = self._cutter(document, video)
        by = (cutter, self._model)
        known = self._found.get(video.name)
        if known is None or known.document is not document or known.by != by:
            known = _Found(document, by, self._cut(document, video, cutter))
            with self._lock:
                self._found[video.name] = known
                self._found.move_to_end(video.name)
                while len(self._found) > N_FOUND:
                    self._found.popitem(last=False)
        return known.pseudo

    def _cut(self, document: Document, video: ProjectVideo, cutter: Cutter | None) -> Pseudo:
        times = self._media.frame_times(video)
        if cutter is None or times is None or times.n_frames != cutter.n_frames:
            return midpoints(document, self._media.seconds(video))
        found: list[Event] = []
        for span, clicks in stretches(document, self._media.seconds(video)):
            found += self._by_features(cutter, times, span, clicks)
        return Pseudo(tuple(found), "features")

    def step(self, number: int, changed_at: float, *, idle: bool) -> None:
        """Called every second: a full pass when there was no change for a while."""
        model = self._pass.step(number, changed_at, idle=idle)
        if model is not None:
            with self._lock:
                self._model = model
                self._ids = {name: number for number, name in enumerate(model.names)}
                names = list(self._cutters)
                for _, cutter in self._cutters.values():
                    if cutter is not None:
                        cutter.forget()
            for name in names:
                self._tell(name)

    def close(self) -> None:
        """Stops work in the background."""
        self._worker.shutdown(cancel_futures=True)
        self._pass.stop()

    def _by_features(
        self, cutter: Cutter, times: FrameTimes, span: Span, clicks: Sequence[Event]
    ) -> list[Event]:
        frames = times.frames_at([one.start for one in clicks]).tolist()
        kept = [
            (frame, click)
            for place, (frame, click) in enumerate(zip(frames, clicks, strict=True))
            if place == 0 or frame > frames[place - 1]
        ]
        with self._lock:
            ids = self._ids
            classes = [ids.setdefault(one.label, len(ids)) for _, one in kept]
            model = None if self._model is None else self._model.model
            cuts = cutter.cuts([frame for frame, _ in kept], classes, model)
        edges = np.clip(times.edges(cuts), span.start, span.end).tolist()
        return segments_of(span, [one for _, one in kept], edges)

    def _cutter(self, document: Document, video: ProjectVideo) -> Cutter | None:
        """The video's features, if they were read; else they will be."""
        path = self._project.features_path(video.name)
        try:
            stamp = path.stat().st_mtime_ns
        except OSError:
            return None
        with self._lock:
            known = self._cutters.get(video.name)
            if known is not None and known[0] == stamp:
                self._cutters.move_to_end(video.name)
                return known[1]
            self._cutters[video.name] = stamp, None
            while len(self._cutters) > N_READY:
                self._cutters.popitem(last=False)
        usual = (self._media.seconds(video) or 0.0) / SECONDS_A_SEGMENT
        n_segments = max(1, round(usual), len(document.clicks))
        self._worker.submit(self._read, video, stamp, n_segments)
        return None

    def _read(self, video: ProjectVideo, stamp: int, n_segments: int) -> None:
        from uvast.web.cutting import Cutter  # compiles its loops: not while the app starts

        try:
            cutter = Cutter(self._media.features(video), n_segments)
        except (UvastError, MemoryError):  # midpoints will do
            return
        with self._lock:
            if self._cutters.get(video.name, (0, None))[0] == stamp:
                self._cutters[video.name] = stamp, cutter
        self._tell(video.name)
