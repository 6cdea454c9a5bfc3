"""When a container's frames are shown, in seconds since the start of the video."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
    from numpy.typing import NDArray

    Times = NDArray[np.float64] | np.float64 | float

_NOTHING = 1e-5
_CLOCKED = ("mp4", "matroska")
"""Containers whose time 0 is the video's start; the clocks of others start anywhere."""


class Clock:
    """When frames are shown, in seconds since the start of the video.

    Attributes:
        by_order: whether frames are shown in the order of the file.
    """

    def __init__(self, container: InputContainer, rate: float) -> None:
        names = container.format.name.split(",")
        # AVI stores no presentation times: frames are shown one after the other
        self.by_order = "avi" in names
        clocked = any(name in names for name in _CLOCKED)
        self._start = None if self.by_order else 0.0 if clocked else _start(container)
        self._step = 1 / rate

    @property
    def start(self) -> float:
        """What the container's own clock shows at the start of the video, once a frame is read."""
        return self._start or 0.0

    def time(self, frame: VideoFrame | Packet[VideoStream], last: float) -> float:
        """The time of a frame that comes after one at `last`, -inf for the first frame."""
        stamp = frame.dts if self.by_order else frame.pts
        time = None if stamp is None else in_seconds(stamp, frame)
        if time is not None:
            if self._start is None:
                self._start = time
            time -= self._start
            time = 0.0 if abs(time) < _NOTHING else time
        if time is None or time <= last:
            return 0.0 if last == -np.inf else last + self._step
        return time


def slack_of(rate: float) -> float:
    """How early, in seconds, a frame may count as shown: clocks are rounded."""
    return 0.25 / rate


def due(before: Times, time: Times, slack: float) -> Times:
    """When frames count as shown, plus the slack: at their times, or later in a burst.

    Where frames follow each other more closely than the rate says, the slack is a quarter of the
    step between them; otherwise several would be over before they come.

    Args:
        before: times of the preceding frames, in seconds.
        time: of the frames.
        slack: of the video's rate.
    """
    step = time - before
    later = time + (slack - 0.25 * step)
    return np.where(step < 3 * slack, later, time)  # three quarters of a usual step


def in_seconds(stamp: int | None, frame: VideoFrame | Packet[VideoStream]) -> float:
    """A stamp in the units of its frame or packet; 0 if there is none."""
    return float(stamp * (frame.time_base or 0)) if stamp else 0.0


def _start(container: InputContainer) -> float:
    return (container.start_time or 0) / 1e6
