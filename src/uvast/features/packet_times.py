"""When the frames of a video are shown, from its packets alone: hours of video in a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.features.clock import Clock
from uvast.features.frames import presentation_times
from uvast.features.video_file import nominal_rate, open_video

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def packet_times(path: Path) -> NDArray[np.float64]:
    """When each frame of a video is shown, in seconds since its start `(n_frames,)`.

    The same as `presentation_times`, which decodes every picture and is used only where packets do
    not say: if some are damaged, or have no time of their own.
    """
    found = _told_by_packets(path)
    return presentation_times(path) if found is None else found


def _told_by_packets(path: Path) -> NDArray[np.float64] | None:
    with open_video(path) as (container, stream):
        clock = Clock(container, nominal_rate(stream))
        packets = [one for one in container.demux(stream) if one.size]
        if not packets or not packets[0].is_keyframe or any(one.is_corrupt for one in packets):
            return None
        shown = [one for one in packets if not one.is_discard]
        told = [one.dts if clock.by_order else one.pts for one in shown]
        stamps = np.array([np.nan if one is None else one for one in told], dtype=np.float64)
        if np.isnan(stamps).any() or len(np.unique(stamps)) < len(stamps):
            return None
        times = [clock.time(shown[place], -np.inf) for place in np.argsort(stamps)]
        is_sound = len(times) > 0 and times[0] >= 0
        return np.array(times, dtype=np.float64) if is_sound else None
