"""When the frames of a video are shown, from its packets alone: hours of video in a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.features.frames import presentation_times
from uvast.features.video_file import open_video

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_CLOCKED = ("mp4", "matroska")


def packet_times(path: Path) -> NDArray[np.float64]:
    """When each frame of a video is shown, in seconds since its start `(n_frames,)`.

    The same as `presentation_times`, which decodes every picture; it is asked where packets do not
    tell: damaged ones, and containers without presentation times of their own.
    """
    found = _told_by_packets(path)
    return presentation_times(path) if found is None else found


def _told_by_packets(path: Path) -> NDArray[np.float64] | None:
    with open_video(path) as (container, stream):
        names = container.format.name.split(",")
        by_order = "avi" in names  # as `FrameReader` has it
        if stream.time_base is None or not (by_order or any(one in names for one in _CLOCKED)):
            return None
        packets = [packet for packet in container.demux(stream) if packet.size]
        told = [packet.dts if by_order else packet.pts for packet in packets]
        stamps = sorted(stamp for stamp in told if stamp is not None)
        sound = (
            len(set(stamps)) == len(packets) > 0
            and packets[0].is_keyframe
            and not any(packet.is_corrupt or packet.is_discard for packet in packets)
            and stamps[0] >= 0
        )
        if not sound:
            return None
        start = stamps[0] if by_order else 0
        return (np.array(stamps, dtype=np.float64) - start) * float(stream.time_base)
