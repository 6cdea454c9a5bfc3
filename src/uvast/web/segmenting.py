"""Pseudo-segmentations that follow the clicks in the videos that somebody looks at."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, TypeVar

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
    from uvast.web.media import Media, Stamp

T = TypeVar("T")

N_READY = 4
"""Videos whose features are held in memory."""

N_FOUND = 100
"""Videos whose pseudo-segmentations are remembered."""

SECONDS_A_SEGMENT = 10.0
"""The length of an action that features are averaged for, until there are enough clicks."""


class _Found(NamedTuple):
    """The pseudo-segmentation of a document, and what it was made from.

    Args:
        document: has the clicks.
        stamp: of the features; None without features, or until they are read.
        model: of the classes.
        pseudo: the segments.
    """

    document: Document
    stamp: Stamp | None
    model: NamedModel | None
    pseudo: Pseudo


class PseudoSegmenter:
    """Pseudo-segmentations of all videos; those that somebody looks at are kept ready.

    Args:
        project: its files.
        media: knows the frames that clicks are on.
        tell: called with the name of a video whose segments got better.
    """

    def __init__(self, project: Project, media: Media, tell: Callable[[str], None]) -> None:
        self._project = project
        self._media = media
        self._tell = tell
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, "uvast pseudo")
        self._cutters: OrderedDict[str, tuple[Stamp, Cutter]] = OrderedDict()
        self._asked: dict[str, Stamp] = {}
        self._model: NamedModel | None = None
        self._ids: dict[str, int] = {}
        self._pass = FullPass(project)
        self._found: OrderedDict[str, _Found] = OrderedDict()

    def of(self, document: Document, video: ProjectVideo) -> Pseudo:
        """Cuts by the features if they are loaded, else at midpoints while they are being read."""
        if not document.clicks:
            return Pseudo()
        stamp, model = self._media.stamp(video), self._model
        cutter = self._cutter(video.name, stamp)
        known = self._found.get(video.name)
        is_same = known is not None and known.document is document and known.stamp == stamp
        # without loaded features an earlier model will do: a new one is no reason to read them
        if known is not None and is_same and (known.model is model or cutter is None):
            return known.pseudo
        if cutter is None and stamp is not None:
            self._ask(document, video, stamp)
        pseudo = self._cut(document, video, cutter)
        found = _Found(document, None if cutter is None else stamp, model, pseudo)
        with self._lock:
            _put(self._found, video.name, found, N_FOUND)
        return pseudo

    def _cut(self, document: Document, video: ProjectVideo, cutter: Cutter | None) -> Pseudo:
        times = self._media.frame_times(video)
        if cutter is None or times is None or times.n_frames != cutter.n_frames:
            return midpoints(document, self._media.seconds(video))
        found: list[Event] = []
        for span, clicks in stretches(document, self._media.seconds(video)):
            found += self._by_features(cutter, times, span, clicks)
        return Pseudo(tuple(found), "features")

    def step(self, number: int, changed_at: float, *, idle: bool) -> None:
        """Called every second: starts a full pass if nothing has changed for a while."""
        model = self._pass.step(number, changed_at, idle=idle)
        if model is not None:
            with self._lock:
                self._model = model
                self._ids = {name: number for number, name in enumerate(model.names)}
                names = list(self._cutters)
                for _, cutter in self._cutters.values():
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

    def _cutter(self, name: str, stamp: Stamp | None) -> Cutter | None:
        """A video's features, if they are loaded."""
        with self._lock:
            known = self._cutters.get(name)
            if known is None or known[0] != stamp:
                return None
            self._cutters.move_to_end(name)
            return known[1]

    def _ask(self, document: Document, video: ProjectVideo, stamp: Stamp) -> None:
        """Has features read, but only once: those that cannot be read are not tried again."""
        with self._lock:
            if self._asked.get(video.name) == stamp:
                return
            self._asked[video.name] = stamp
        usual = (self._media.seconds(video) or 0.0) / SECONDS_A_SEGMENT
        n_segments = max(1, round(usual), len(document.clicks))
        self._worker.submit(self._read, video, stamp, n_segments)

    def _read(self, video: ProjectVideo, stamp: Stamp, n_segments: int) -> None:
        from uvast.web.cutting import Cutter  # compiles its loops: not while the app starts

        try:
            cutter = Cutter(self._media.features(video), n_segments)
        except (UvastError, MemoryError):  # midpoints will do
            return
        with self._lock:
            if self._asked.get(video.name) == stamp:
                del self._asked[video.name]
            _put(self._cutters, video.name, (stamp, cutter), N_READY)
        self._tell(video.name)


def _put(kept: OrderedDict[str, T], name: str, value: T, most: int) -> None:
    """Adds a value at the end; drops the first ones if there are too many."""
    kept[name] = value
    kept.move_to_end(name)
    while len(kept) > most:
        kept.popitem(last=False)
