"""Single pictures of videos: exactly frame i as JPEG, film strips, and when each frame is shown.

Times come from the packets of a file, without decoding: the same as
`uvast.features.presentation_times`, in a hundredth of the time.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import CorruptFileError, InputError
from uvast.features.extras import extra
from uvast.features.frames import packet_times, timed_frames
from uvast.features.video_file import open_video, quarter_turns, shown_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream
    from numpy.typing import NDArray
    from PIL.Image import Image

SMALLEST, LARGEST = 16, 3840
MOST_IN_STRIP = 200
"""Pictures of one film strip."""

_LONG_STEP = 2.0
"""Seconds between pictures of a strip from which on key frames will do."""


def frame_jpeg(path: Path, times: NDArray[np.float64], index: int, width: int | None) -> bytes:
    """Frame `index` of a video.

    Args:
        path: the video.
        times: of its frames `(T,)`.
        index: from 0.
        width: of the picture, in pixels; None for its own.
    """
    if not 0 <= index < len(times):
        raise InputError(f"frame {index} of {len(times)} frames", remedy="choose one of them")
    with open_video(path) as (container, stream):
        for frame, time in timed_frames(container, stream, from_seconds=float(times[index])):
            if time >= times[index] - 1e-4:
                return _jpeg(_picture(frame, stream, width))
    raise CorruptFileError(f"frame {index} cannot be decoded", where=path, remedy="convert it again")


def strip_jpeg(path: Path, seconds: Sequence[float], width: int) -> tuple[bytes, list[float]]:
    """Pictures at several times side by side, and the times that they really show."""
    pictures: list[Image] = []
    shown: list[float] = []
    step = (seconds[-1] - seconds[0]) / max(1, len(seconds) - 1)
    with open_video(path) as (container, stream):
        if step >= _LONG_STEP:
            stream.codec_context.skip_frame = "NONKEY"
        for wanted in seconds:
            found: tuple[VideoFrame, float] | None = None
            for frame, time in timed_frames(container, stream, from_seconds=wanted):
                if found is not None and time > wanted:
                    break
                found = frame, time
                if step >= _LONG_STEP or time >= wanted:
                    break
            if found is not None:
                pictures.append(_picture(found[0], stream, width))
                shown.append(found[1])
    if not pictures:
        raise CorruptFileError("no picture can be decoded", where=path, remedy="convert it again")
    return _jpeg(_side_by_side(pictures), quality=70), shown


def _picture(frame: VideoFrame, stream: VideoStream, width: int | None) -> Image:
    """As a player shows it: square pixels, turned."""
    image: Image = frame.to_image()
    turns = quarter_turns(frame)
    own_width, own_height = shown_size(frame, stream)
    wide = min(LARGEST, max(SMALLEST, width or own_width))
    tall = max(1, round(own_height * wide / own_width))
    size = (wide, tall) if turns % 2 == 0 else (tall, wide)
    if image.size != size:
        image = image.resize(size)
    return image.rotate(90 * turns, expand=True) if turns else image


def _side_by_side(pictures: Sequence[Image]) -> Image:
    wide, tall = pictures[0].size
    strip: Image = extra("PIL.Image").new("RGB", (wide * len(pictures), tall))
    for number, picture in enumerate(pictures):
        strip.paste(picture.resize((wide, tall)), (number * wide, 0))
    return strip


def _jpeg(image: Image, quality: int = 85) -> bytes:
    content = io.BytesIO()
    image.convert("RGB").save(content, "JPEG", quality=quality)
    return content.getvalue()


def frame_table(path: Path, cached: Path) -> NDArray[np.float64]:
    """When each frame is shown `(T,)`; kept in a file of 8 bytes a frame."""
    if cached.is_file():
        return np.fromfile(cached, dtype="<f8")
    times = packet_times(path)
    from uvast.files import write_bytes

    write_bytes(cached, times.astype("<f8").tobytes())
    return times


def evenly(start: float, end: float, n: int) -> Iterator[float]:
    """The middles of n equal parts."""
    for number in range(n):
        yield start + (end - start) * (number + 0.5) / n
