"""Small pictures of a video at given moments: a film strip, in about a second."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import CorruptFileError
from uvast.features.clock import Clock, due, slack_of
from uvast.features.extractor import Picture
from uvast.features.extras import extra
from uvast.features.frames import Scaler
from uvast.features.video_file import CONVERT, no_pictures, nominal_rate, open_video, shown_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

    from uvast.features.extractor import Pictures

WIDTH = 96
"""The width of a picture in pixels."""
IMAGE_TYPE = "image/webp"
_MOST_PIXELS = 150e6
"""Decoded for a strip, in about a second. Long and large videos are seen at their key frames."""
_MOST_OFF = 10.0
"""The most seconds from a moment to the key frame that stands in for it."""
_TALLEST = 4
"""The largest height, as a multiple of the width."""
_QUALITY = 70


def film_strip(path: Path, times: Sequence[float], width: int = WIDTH) -> list[bytes]:
    """What a player shows at each of the times, each as a WebP file; see `film_pictures`."""
    return [_encoded(one) for one in film_pictures(path, times, width)]


def film_pictures(
    path: Path, times: Sequence[float], width: int, n_shared: int | None = None
) -> Iterator[Pictures]:
    """What a player shows at each of the times, each `(H, W, 3)`.

    Where decoding up to a moment would take long, its nearest key frame stands in, up to ten
    seconds away; a video whose key frames are farther apart is an error.

    Args:
        path: the video.
        times: in seconds since its start; quickest if they are sorted.
        width: of the pictures in pixels; their height follows from the video's shape.
        n_shared: the number of moments that share about a second of decoding; None for all of
            them.
    """
    with open_video(path) as (container, stream):
        player = _Player(container, stream, max(1, n_shared or len(times)))
        if player.frame is None:
            raise no_pictures(path)
        wide, high = shown_size(player.frame, stream)
        height = min(max(1, round(width * high / wide)), _TALLEST * width)
        scaled = Scaler(Picture(height, width), stream)
        for time in times:
            picture = scaled(player.shown_at(time))
            if player.seconds_off(time) > _MOST_OFF:
                raise CorruptFileError(
                    f"has no key frame near second {time:.0f}", where=path, remedy=CONVERT
                )
            yield picture


def exact_picture(path: Path, seconds: float, width: int | None = None) -> Pictures:
    """The frame that a player shows at a moment `(H, W, 3)`, however long decoding takes.

    Args:
        path: the video.
        seconds: since its start.
        width: in pixels; None for the video's own.
    """
    with open_video(path) as (container, stream):
        player = _Player(container, stream, 1)
        if player.frame is None:
            raise no_pictures(path)
        wide, high = shown_size(player.frame, stream)
        width = width or wide
        height = min(max(1, round(width * high / wide)), _TALLEST * width)
        return Scaler(Picture(height, width), stream)(player.exactly_at(seconds))


class _Player:
    """Goes through a video, and jumps where that is quicker.

    Attributes:
        frame: the one that is shown; None if the video has none.
    """

    def __init__(self, container: InputContainer, stream: VideoStream, n_moments: int) -> None:
        self._container = container
        self._stream = stream
        self._rate = nominal_rate(stream)
        self._slack = slack_of(self._rate)
        self._clock = Clock(container, self._rate)
        self._frames = self._timed_frames()
        first = next(self._frames, None)
        self.frame: VideoFrame | None = None if first is None else first[0]
        self._time = 0.0 if first is None else first[1]
        self._next = next(self._frames, None)
        self._most_seconds = 0.0
        if self.frame is not None:
            n_pixels = max(1, self.frame.width * self.frame.height * n_moments)
            self._most_seconds = _MOST_PIXELS / n_pixels / self._rate

    def shown_at(self, seconds: float) -> VideoFrame:
        """The frame that is shown at a moment, or the key frame nearest to it."""
        if not self._time <= seconds <= self._time + self._most_seconds:
            self._jump(seconds)
        if seconds - self._time <= self._most_seconds:
            self._go_to(seconds)
        assert self.frame is not None, "looked at first"
        return self.frame

    def exactly_at(self, seconds: float) -> VideoFrame:
        """The frame that is shown at a moment, however long the way to it."""
        if seconds + self._slack < self._time or seconds > self._time + 1.0:
            self._seek(seconds, backward=True)
            if self._time > seconds:  # this key frame may not be due yet: go one back
                self._seek(max(0.0, seconds - 2 * self._slack), backward=True)
            if self._time > seconds + self._slack:  # a file without an index: from the start
                self._seek(0.0, backward=True)
        self._go_to(seconds)
        assert self.frame is not None, "looked at first"
        return self.frame

    def seconds_off(self, seconds: float) -> float:
        """How long before or after a moment the frame is shown."""
        if self._next is None:  # the last one stays
            return max(0.0, self._time - seconds)
        return max(0.0, self._time - seconds, seconds - self._next[1])

    def _jump(self, seconds: float) -> None:
        """Seeks the key frame before a moment, or after it if that is nearer and the way long."""
        self._seek(seconds, backward=True)
        if self._time > seconds + self._slack:  # a file without an index: look a little earlier
            self._seek(max(0.0, seconds - self._most_seconds), backward=True)
        before = abs(seconds - self._time)
        if before > self._most_seconds:
            self._seek(seconds, backward=False)
            if abs(seconds - self._time) > before:
                self._seek(seconds, backward=True)

    def _seek(self, seconds: float, *, backward: bool) -> None:
        base = float(self._stream.time_base or 1)
        place = int((seconds + self._slack + self._clock.start) / base)
        self._time, self._next = np.inf, None
        try:
            self._container.seek(place, backward=backward, stream=self._stream)
        except extra("av").error.FFmpegError:
            return  # nothing comes after it, or this kind of file does not allow jumps
        self._frames = self._timed_frames()
        # pictures before the first key frame depend on ones that were not decoded
        found = next((one for one in self._frames if one[0].key_frame), None)
        if found is not None:
            self._advance(found)

    def _go_to(self, seconds: float) -> None:
        """Advances frame by frame to the one that is shown at a moment."""
        while self._next is not None:
            if due(self._time, self._next[1], self._slack) > seconds + self._slack:
                return
            self._advance(self._next)

    def _advance(self, to: tuple[VideoFrame, float]) -> None:
        self.frame, self._time = to
        self._next = next(self._frames, None)

    def _timed_frames(self) -> Iterator[tuple[VideoFrame, float]]:
        """The frames from here on; those that cannot be decoded are skipped."""
        last = -np.inf
        packets = self._container.demux(self._stream)
        while True:
            try:
                packet = next(packets, None)
                frames = () if packet is None else packet.decode()
            except extra("av").error.InvalidDataError:
                continue
            if packet is None:
                return
            for frame in frames:
                last = self._clock.time(frame, last)
                yield frame, last


def _encoded(picture: Pictures) -> bytes:
    """A picture `(H, W, 3)` as a WebP file."""
    content = io.BytesIO()
    extra("PIL.Image").fromarray(picture).save(content, "WEBP", quality=_QUALITY)
    return content.getvalue()
