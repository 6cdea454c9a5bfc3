"""Small video files of every kind, written by PyAV; frame i has its number in its grey level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

Pictures = NDArray[np.uint8]
WIDTH, HEIGHT = 64, 48


def grey(number: int) -> int:
    """The grey level that tells a frame's number, far enough from its neighbours."""
    return 30 + 7 * (number % 30)


def plain(number: int) -> Pictures:
    return np.full((HEIGHT, WIDTH, 3), grey(number), np.uint8)


def numbers_of(pictures: Sequence[Pictures]) -> list[int]:
    """The frame numbers, modulo 30, that pictures of `plain` show."""
    return [round((float(picture.mean()) - 30) / 7) for picture in pictures]


def write_video(
    path: Path,
    n_frames: int = 30,
    *,
    times: Sequence[float] | None = None,
    rate: int = 30,
    codec: str = "libx264",
    pixels: str = "yuv420p",
    container: str | None = None,
    rotation: int = 0,
    draw: Callable[[int], Pictures] = plain,
    options: dict[str, str] | None = None,
    stream_options: dict[str, str] | None = None,
    aspect: Fraction | None = None,
) -> Path:
    """Writes frames at times (in seconds), or one after the other."""
    first = draw(0) if n_frames else plain(0)
    with av.open(str(path), "w", format=container, options=options or {}) as file:
        stream = file.add_stream(codec, rate=rate)
        stream.height, stream.width = first.shape[:2]
        stream.pix_fmt = pixels
        if aspect is not None:
            stream.codec_context.sample_aspect_ratio = aspect
        # MPEG-4 part 2 has no finer clock
        base = Fraction(1, rate) if codec == "mpeg4" else Fraction(1, 90_000)
        stream.codec_context.time_base = base
        stream.codec_context.bit_rate = 4_000_000
        if codec == "libx264":
            stream.options = {"crf": "10", "preset": "ultrafast", "bf": "2"}
        stream.options = {**stream.options, **(stream_options or {})}
        if rotation:
            stream.set_display_rotation(rotation)
        file.start_encoding()
        for number in range(n_frames):
            frame = av.VideoFrame.from_ndarray(draw(number), format="rgb24")
            seconds = number / rate if times is None else times[number]
            frame.pts, frame.time_base = round(seconds / base), base
            file.mux(stream.encode(frame))
        if n_frames:
            file.mux(stream.encode())
    return path


def write_sound(path: Path, *, cover: bool = False) -> Path:
    """A second of silence, on request with a picture of the album."""
    with av.open(str(path), "w") as file:
        stream = file.add_stream("mp3" if cover else "aac", rate=44_100)
        picture = None
        if cover:
            picture = file.add_stream("mjpeg")
            picture.width, picture.height, picture.pix_fmt = WIDTH, HEIGHT, "yuvj420p"
            picture.disposition = av.stream.Disposition.attached_pic
            frame = av.VideoFrame.from_ndarray(plain(3), format="rgb24")
            file.mux(picture.encode(frame))
            file.mux(picture.encode())
        for start in range(0, 44_100, 1152):
            sound = av.AudioFrame.from_ndarray(
                np.zeros((1, 1152), np.float32), format="fltp", layout="mono"
            )
            sound.sample_rate, sound.pts = 44_100, start
            file.mux(stream.encode(sound))
        file.mux(stream.encode())
    return path
