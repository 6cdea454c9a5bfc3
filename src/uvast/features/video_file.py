"""What a video file is: length, rate, codec, size, rotation, and a fingerprint of its content."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import CorruptFileError
from uvast.features.clock import Clock, slack_of
from uvast.features.extras import extra
from uvast.files import missing, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

_PIECE = 1 << 16
_N_PIECES = 32
CONVERT = "convert it again or leave it out"
"""The remedy for a video that cannot be read."""


@dataclass(frozen=True)
class VideoInfo:
    """A video, as described by its container and its first picture.

    Args:
        path: the file.
        n_bytes: its size.
        fingerprint: of its content, see `fingerprint`.
        seconds: its length, as far as the container knows; to the end of the last frame if the
            container declares less than that.
        n_frames: as far as the container knows.
        frames_per_second: the nominal rate; the mean if it varies.
        codec: such as `h264`.
        width: of the picture as it is shown, in pixels.
        height: of the picture as it is shown, in pixels.
        rotation: degrees counter-clockwise by which a player turns the stored picture.
    """

    path: Path
    n_bytes: int
    fingerprint: str
    seconds: float
    n_frames: int
    frames_per_second: float
    codec: str
    width: int
    height: int
    rotation: int


def video_info(path: Path) -> VideoInfo:
    """Reads the head of a video and its first picture."""
    with open_video(path) as (container, stream):
        first = _first_frame(container, stream, path)
        rate = nominal_rate(stream)
        declared = stream_seconds(container, stream)
        seconds = max(declared, _shown_until(container, stream, declared))
        width, height = shown_size(first, stream)
        return VideoInfo(
            path=path,
            n_bytes=path.stat().st_size,
            fingerprint=fingerprint(path),
            seconds=seconds,
            n_frames=stream.frames or round(seconds * rate),
            frames_per_second=rate,
            codec=stream.codec_context.name,
            width=width,
            height=height,
            rotation=quarter_turns(first) * 90,
        )


def fingerprint(path: Path) -> str:
    """A hash of the size and of 32 pieces of 64 KiB, spread evenly: quick for files of any size.

    Files of up to 2 MiB are hashed whole.
    """
    n_bytes = path.stat().st_size
    digest = hashlib.sha256(f"{n_bytes}\n".encode())
    with path.open("rb") as file:
        if n_bytes <= _PIECE * _N_PIECES:
            digest.update(file.read())
        else:
            for index in range(_N_PIECES):
                file.seek((n_bytes - _PIECE) * index // (_N_PIECES - 1))
                digest.update(file.read(_PIECE))
    return digest.hexdigest()


@contextmanager
def open_video(path: Path, n_threads: int = 1) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The container of a video and its first stream of moving pictures.

    If reading the file fails in the block, the error is one clear sentence.
    """
    av = extra("av")
    if not path.exists():
        raise missing(path)
    if path.is_dir():
        raise CorruptFileError("is a folder, not a video", where=path, remedy="name its files")
    if not path.stat().st_size:
        raise CorruptFileError("is empty", where=path, remedy=CONVERT)
    try:
        with av.open(str(path), metadata_errors="replace") as container:
            yield container, _picture_stream(container, path, n_threads)
    except av.error.FFmpegError as error:
        raise unreadable(path, error, kind="a video", remedy=CONVERT) from error


def nominal_rate(stream: VideoStream) -> float:
    """Frames per second; 25 if unknown."""
    for rate in (stream.average_rate, stream.guessed_rate, stream.base_rate):
        if rate and 0.1 <= rate <= 1000:
            return float(rate)
    return 25.0


def stream_seconds(container: InputContainer, stream: VideoStream) -> float:
    """When the last frame ends as far as the container declares it; 0 if unknown."""
    clock = Clock(container, nominal_rate(stream))
    if not (stream.duration and stream.time_base):
        return container.duration / 1e6 if container.duration else 0.0
    seconds = float(stream.duration * stream.time_base)
    if clock.by_order:  # in an AVI that was cut off, only the number of frames is still right
        return max(seconds, stream.frames / nominal_rate(stream))
    # the duration of a stream counts from its own first frame
    late = float((stream.start_time or 0) * stream.time_base) - clock.start
    return seconds + max(0.0, late)


def last_end(times: Sequence[float], declared: float, rate: float) -> float:
    """When the last frame ends: after a usual step, or earlier where the container says so.

    Where the rate varies, a usual step can be far too long. The declared end counts if it leaves
    the last frame as much time as the one before had.

    Args:
        times: when frames come, sorted, in seconds; the last two suffice.
        declared: the length in seconds by the container, 0 if unknown.
        rate: frames per second.
    """
    usual = times[-1] + 1 / rate
    slack = slack_of(rate)
    if len(times) < 2 or declared >= usual - slack:  # clocks are rounded
        return usual
    step = times[-1] - times[-2]
    return declared if declared >= times[-1] + 0.75 * step else usual


def quarter_turns(frame: VideoFrame) -> int:
    """How often a player turns the stored picture by 90 degrees counter-clockwise, 0 to 3."""
    return round(frame.rotation / 90) % 4


def shown_size(frame: VideoFrame, stream: VideoStream) -> tuple[int, int]:
    """Width and height as a player shows them: square pixels, turned."""
    aspect = stream.sample_aspect_ratio
    width = round(frame.width * aspect) if aspect else frame.width
    size = (max(1, width), frame.height)
    return size if quarter_turns(frame) % 2 == 0 else size[::-1]


def _picture_stream(container: InputContainer, path: Path, n_threads: int) -> VideoStream:
    av = extra("av")
    for stream in container.streams.video:
        if not stream.disposition & av.stream.Disposition.attached_pic:  # not a song's cover
            stream.thread_type = "AUTO"
            stream.codec_context.thread_count = n_threads
            return stream
    what = "holds sound but no video" if container.streams.audio else "holds no video"
    raise CorruptFileError(what, where=path, remedy="name a video file")


def _first_frame(container: InputContainer, stream: VideoStream, path: Path) -> VideoFrame:
    av = extra("av")
    for packet in container.demux(stream):
        try:
            for frame in packet.decode():
                found: VideoFrame = frame
                return found
        except av.error.InvalidDataError:
            continue
    raise no_pictures(path)


def _shown_until(container: InputContainer, stream: VideoStream, declared: float) -> float:
    """When the last frame ends, by the packets near the declared end; 0 where they do not say.

    Moves in the container.
    """
    rate = nominal_rate(stream)
    clock = Clock(container, rate)
    if not declared or clock.by_order or not stream.time_base:
        return 0.0
    times: set[float] = set()
    with suppress(extra("av").error.FFmpegError):  # some files allow no jumps
        container.seek(int((declared + clock.start) / stream.time_base), stream=stream)
        for packet in container.demux(stream):
            if packet.size and packet.pts is not None and not packet.is_discard:
                times.add(clock.time(packet, -np.inf))
    end = last_end(sorted(times)[-2:], declared, rate) if times else 0.0
    return end if end > declared + slack_of(rate) else 0.0  # clocks are rounded


def no_pictures(path: Path) -> CorruptFileError:
    """The error for a video without a single picture that can be decoded."""
    return CorruptFileError("holds no picture that can be decoded", where=path, remedy=CONVERT)
