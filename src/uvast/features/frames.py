"""Videos, frame by frame: decoded once, scaled inside the decoder's filter graph.

A view at a rate sees, at each of its ticks k / rate, the frame that a player would show then.
Times are seconds since the start of the video.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from uvast.errors import CorruptFileError
from uvast.features.clock import Clock, due, in_seconds, slack_of
from uvast.features.extras import extra
from uvast.features.video_file import (
    last_end,
    no_pictures,
    nominal_rate,
    open_video,
    quarter_turns,
    shown_size,
    stream_seconds,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from av.container import InputContainer
    from av.filter import Graph
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
    from numpy.typing import NDArray

    from uvast.features.extractor import Picture, Pictures, View

_LONGEST_GAP = 3600.0
"""In seconds: no camera pauses for so long."""


class Shown(NamedTuple):
    """A frame that a view sees.

    Args:
        view: its number.
        picture: `(H, W, 3)`, red, green and blue.
        n_ticks: for how many ticks of the view's rate.
        seconds: when the frame comes.
    """

    view: int
    picture: Pictures
    n_ticks: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Grid:
    """Which frame of a video is shown at each tick of a rate.

    Args:
        times: of the ticks, in seconds `(T,)`.
        source_frames: the frame's number `(T,)`.
    """

    times: NDArray[np.float64]
    source_frames: NDArray[np.int64]


class FrameReader:
    """One pass over a video; memory grows by only 8 bytes per frame.

    Args:
        path: the video.
        views: what to see of it.
        n_threads: of the decoder.

    Attributes:
        n_damaged: pieces that could not be decoded, once the pass is over.
        declared: the length in seconds that the container declares, 0 if it declares none.
    """

    def __init__(self, path: Path, views: Sequence[View] = (), *, n_threads: int = 1) -> None:
        self._path = path
        self._views = views
        self._n_threads = n_threads
        self._times = array("d")
        self._end = 0.0
        self._slack = 0.0
        self.n_damaged = 0
        self.declared = 0.0

    def __iter__(self) -> Iterator[Shown]:
        """The frames in order, each for all views that see it."""
        with open_video(self._path, self._n_threads) as (container, stream):
            self.declared = stream_seconds(container, stream)
            self._slack = slack_of(nominal_rate(stream))
            samplers = [_Sampler(view, stream, self._slack) for view in self._views]
            held: VideoFrame | None = None
            for frame, time in self._timed_frames(container, stream):
                if held is not None:
                    end = float(due(self._times[-1], time, self._slack))
                    yield from _shown(samplers, held, self._times[-1], end)
                held = frame
                self._times.append(time)
            if held is None:
                raise no_pictures(self._path)
            self._end = last_end(self._times[-2:], self.declared, nominal_rate(stream))
            if self._end < self.declared:  # the last frame stays, unless the file was cut off
                stays = self._times[-1] + in_seconds(held.duration, held)
                self._end = max(self._end, min(stays, self.declared))
            yield from _shown(samplers, held, self._times[-1], self._end)

    @property
    def seconds(self) -> float:
        """When the last frame ends, or how far the pass has come."""
        return self._end or (self._times[-1] if self._times else 0.0)

    @property
    def remark(self) -> str | None:
        """After the pass, what a user should know about a video that could only partly be read."""
        if self._end < self.declared - max(0.5, 0.02 * self.declared):
            return f"ends after {self._end:.1f} of {self.declared:.1f} seconds"
        return f"{self.n_damaged} damaged places were skipped" if self.n_damaged else None

    @property
    def times(self) -> NDArray[np.float64]:
        """When each frame comes, in seconds `(n_frames,)`."""
        return np.array(self._times, dtype=np.float64)

    def grid(self, rate: float | None) -> Grid:
        """The ticks of a rate, after the pass; None gives one tick per frame."""
        times = self.times
        if rate is None:
            return Grid(times, np.arange(len(times)))
        ticks = np.arange(int(self._end * rate) + 2) / rate
        n_ticks = max(1, int(np.count_nonzero(ticks + self._slack < self._end)))
        ticks = ticks[:n_ticks]  # counted as they were handed out: both round alike
        starts = np.append(times[:1], due(times[:-1], times[1:], self._slack))
        shown = np.searchsorted(starts, ticks + self._slack, side="right") - 1
        return Grid(ticks, np.maximum(shown, 0))

    def _timed_frames(
        self, container: InputContainer, stream: VideoStream
    ) -> Iterator[tuple[VideoFrame, float]]:
        """Frames with strictly increasing times."""
        clock = Clock(container, nominal_rate(stream))
        last = -np.inf
        for frame in self._frames(container, stream):
            time = clock.time(frame, last)
            if time - max(last, 0.0) > _LONGEST_GAP:
                raise CorruptFileError(
                    f"jumps from second {max(last, 0.0):.0f} to {time:.0f}",
                    where=self._path,
                    remedy="cut or convert it",
                )
            last = time
            yield frame, time

    def _frames(self, container: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
        """All frames that can be decoded; the others are skipped, as players do."""
        av = extra("av")
        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    return
                yield from packet.decode()
            except av.error.InvalidDataError:
                self.n_damaged += 1
                if self.n_damaged > 1000 and not self._times:
                    return


class _Sampler:
    """Picks the frames of a view, and scales them."""

    def __init__(self, view: View, stream: VideoStream, slack: float) -> None:
        self._rate = view.rate
        self._slack = slack
        self._n_ticks = 0
        self._scaler = Scaler(view.picture, stream)

    def ticks(self, end: float) -> int:
        """How many ticks come before a frame ends at `end`."""
        if self._rate is None:
            return 1
        before = self._n_ticks
        while self._n_ticks / self._rate + self._slack < end:
            self._n_ticks += 1
        return self._n_ticks - before

    def picture(self, frame: VideoFrame) -> Pictures:
        return self._scaler(frame)


def _shown(
    samplers: list[_Sampler], frame: VideoFrame, start: float, end: float
) -> Iterator[Shown]:
    for number, sampler in enumerate(samplers):
        n_ticks = sampler.ticks(end)
        if n_ticks:
            yield Shown(number, sampler.picture(frame), n_ticks, start)


@dataclass
class Scaler:
    """Turns frames into pictures; the filter graph is rebuilt if their format changes."""

    picture: Picture
    stream: VideoStream
    _graph: Graph | None = None
    _made_for: tuple[object, ...] = field(default=())

    def __call__(self, frame: VideoFrame) -> Pictures:
        """A frame as a picture `(H, W, 3)`, red, green and blue."""
        kind = (frame.width, frame.height, frame.format.name, frame.rotation)
        if self._graph is None or kind != self._made_for:
            self._graph = self._make(frame)
            self._made_for = kind
        self._graph.push(frame)
        scaled = self._graph.vpull()
        return np.asarray(scaled.to_ndarray(), np.uint8)

    def _make(self, frame: VideoFrame) -> Graph:
        graph: Graph = extra("av").filter.Graph()
        source = graph.add_buffer(
            width=frame.width,
            height=frame.height,
            format=frame.format,
            time_base=frame.time_base,
        )
        turns = quarter_turns(frame)
        shown_width, shown_height = shown_size(frame, self.stream)
        height, width = self.picture.scaled(shown_height, shown_width)
        size = (width, height) if turns % 2 == 0 else (height, width)
        steps = [("scale", f"{size[0]}:{size[1]}:flags=bicubic"), *_TURNS[turns]]
        if self.picture.fit == "crop":
            steps.append(("crop", f"{self.picture.width}:{self.picture.height}"))
        steps += [("format", "rgb24"), ("buffersink", "")]
        for name, argument in steps:
            step = graph.add(name, argument) if argument else graph.add(name)
            source.link_to(step)
            source = step
        graph.configure()
        return graph


_TURNS = (
    (),
    (("transpose", "cclock"),),
    (("hflip", ""), ("vflip", "")),
    (("transpose", "clock"),),
)


def presentation_times(path: Path) -> NDArray[np.float64]:
    """When each frame of a video is shown, in seconds since its start `(n_frames,)`."""
    reader = FrameReader(path)
    for _ in reader:
        pass
    return reader.times
