"""Pictures to an H.264 video, frame by frame."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from uvast.features.extras import extra
from uvast.files import unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from uvast.features.extractor import Pictures

TIME_BASE = Fraction(1, 90_000)
"""Fine enough for any rate, variable ones too."""

_REPEATABLE = {"x264-params": "mbtree=0"}
"""With its macroblock tree, x264 reads memory that nobody wrote if pictures have only a few dozen
blocks. Without it, files of real videos are half as large again."""


@contextmanager
def video_writer(
    path: Path,
    *,
    width: int,
    height: int,
    rate: float,
    quality: int = 23,
    preset: str = "veryfast",
    key_seconds: float = 1.0,
    n_threads: int = 1,
    repeatable: bool = False,
) -> Iterator[Callable[[Pictures, float], None]]:
    """A function that takes pictures `(height, width, 3)` and when to show them, in seconds.

    Args:
        path: an MP4 file, written as pictures come; its index is in front, for browsers.
        width: in pixels, even.
        height: in pixels, even.
        rate: the nominal frames per second.
        quality: x264's constant rate factor; lower is better and larger.
        preset: x264's; faster ones make larger files.
        key_seconds: between pictures that a player can jump to.
        n_threads: of the encoder.
        repeatable: whether the same pictures have to give the same file, however small they are;
            the file is larger.
    """
    av = extra("av")
    try:
        with av.open(str(path), "w", format="mp4", options={"movflags": "faststart"}) as container:
            stream = container.add_stream("libx264", rate=Fraction(rate).limit_denominator(1001))
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.codec_context.time_base = TIME_BASE
            stream.codec_context.gop_size = max(1, round(rate * key_seconds))
            stream.codec_context.thread_count = n_threads
            options = {"preset": preset, "crf": str(quality)}
            stream.options = options | (_REPEATABLE if repeatable else {})

            def write(picture: Pictures, seconds: float) -> None:
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
                frame.pts, frame.time_base = round(seconds / TIME_BASE), TIME_BASE
                container.mux(stream.encode(frame))

            yield write
            container.mux(stream.encode())
    except av.error.FFmpegError as error:
        raise unwritable(path, error) from error
