"""The video files of a project for browsers: the original if it plays, else its proxy."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from anyio import open_file
from starlette.responses import Response, StreamingResponse

from uvast.data.spec import SPEC_FILE
from uvast.errors import CorruptFileError, MissingFileError
from uvast.exchange import ConstantRate, PresentationTimes, exact_rate
from uvast.files import unreadable
from uvast.web.pictures import frame_table
from uvast.web.playable import TYPES, is_playable, may_play
from uvast.web.strips import Strips, Wanted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from uvast.exchange import FrameTimes
    from uvast.projects import Project, ProjectVideo

    Features = NDArray[np.floating[Any]]
    Stamp = tuple[int, int]

_N_DECODERS = 2

_PIECE = 1 << 18
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


class Media:
    """Finds the file to send for a video.

    Args:
        project: whose videos they are; no file outside its table is ever opened.

    Attributes:
        decoders: threads that decode single pictures; other requests do not wait for them.
        strips: film strips.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._times: dict[str, tuple[Stamp, FrameTimes | None]] = {}
        self._cache = project.path / "app" / "cache"
        self.decoders = ThreadPoolExecutor(_N_DECODERS, "uvast pictures")
        self.strips = Strips(self._cache / "strips")

    def close(self) -> None:
        """Stops work in the background."""
        self.decoders.shutdown(cancel_futures=True)
        self.strips.close()

    def proxy(self, video: ProjectVideo) -> Path:
        """Where a proxy is, or will be; its name depends on the video's content."""
        return self._cache / "proxies" / f"{video.fingerprint[:32]}.mp4"

    def playable(self, name: str) -> Path | None:
        """The file that a browser plays; None until there is a proxy."""
        video = self._project.video(name)
        if not video.is_video:
            return None
        proxy = self.proxy(video)
        if proxy.is_file():
            return proxy
        return video.path if is_playable(video.path) else None

    def may_play(self, video: ProjectVideo) -> bool:
        """As `playable`, by a guess that opens no file."""
        return may_play(video.path, video.codec) or self.proxy(video).is_file()

    def frame_times(self, video: ProjectVideo) -> FrameTimes | None:
        """The frames that clicks are on: those of the features, else those of the video."""
        stamp = self.stamp(video)
        if stamp is None:
            return _by_rate(video)
        if self._times.get(video.name, (None, None))[0] != stamp:
            self._times[video.name] = stamp, self._project.frame_times(video.name)
        return self._times[video.name][1] or _by_rate(video)

    def stamp(self, video: ProjectVideo) -> Stamp | None:
        """Changes with a video's features and the dataset's settings; None without features."""
        features = _changed_at(self._project.features_path(video.name))
        spec = _changed_at(self._project.path / SPEC_FILE)  # it may set the rate
        return (features, spec) if features else None

    def seconds(self, video: ProjectVideo) -> float | None:
        """The length of a video; if that is unknown, of its features."""
        times = None if video.seconds else self.frame_times(video)
        if times is None or times.n_frames is None:
            return video.seconds or None
        return float(times.edges([times.n_frames])[0])

    def features(self, video: ProjectVideo) -> Features:
        """The features of a video `(T, F)`, memory-mapped; either axis of the file may be time."""
        path, times = self._project.features_path(video.name), self.frame_times(video)
        if times is None or not path.is_file():
            raise MissingFileError(f"{video.name} has no features", remedy="extract them first")
        try:
            found: Features = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise unreadable(path, error, kind="features", remedy="extract it again") from error
        if found.ndim == 2 and len(found) != times.n_frames:
            found = found.T
        if found.ndim != 2 or len(found) != times.n_frames or found.dtype.kind not in "fiu":
            raise CorruptFileError(
                f"holds {found.dtype} of shape {found.shape}, not a row for each of "
                f"{times.n_frames} frames",
                where=path,
                remedy="extract it again",
            )
        return found

    def source_times(self, video: ProjectVideo) -> FrameTimes | None:
        """The frames of the video itself, which other tools count."""
        if video.is_video and video.path.is_file():
            return PresentationTimes(self.table(video.name))
        return self.frame_times(video)

    def table(self, name: str) -> NDArray[np.float64]:
        """When each frame of a video is shown `(T,)`; made once."""
        video = self._project.video(name)
        if not video.is_video:
            raise MissingFileError(f"{name} has no pictures", remedy="it has only features")
        kept = self._cache / "times" / f"{video.fingerprint[:32]}.f64"
        return frame_table(self._project.source(name), kept)

    def to_decode(self, name: str) -> Path:
        """The file that is quickest to seek in: a proxy has a key frame every second."""
        video = self._project.video(name)
        if not video.is_video:
            raise MissingFileError(f"{name} has no pictures", remedy="it has only features")
        proxy = self.proxy(video)
        return proxy if proxy.is_file() else self._project.source(name)

    def wanted_strip(self, name: str, seconds: Sequence[float], width: int) -> Wanted:
        """A film strip of a video as it is now."""
        path = self.to_decode(name)
        try:
            now = path.stat()
        except OSError as error:
            raise unreadable(path, error, remedy="put it back") from error
        identity = f"{self._project.video(name).fingerprint} {now.st_size} {now.st_mtime_ns}"
        return Wanted(path, identity, tuple(seconds), width)

    def to_send(self, name: str) -> Path:
        """As `playable`, or an error."""
        path = self.playable(name)
        if path is None or not path.is_file():
            raise MissingFileError(
                f"browsers cannot play video {name}", remedy="make a proxy of it first"
            )
        return path


def _changed_at(path: Path) -> int:
    """When a file was last written, in nanoseconds; 0 without one."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def _by_rate(video: ProjectVideo) -> FrameTimes | None:
    if video.frames_per_second is None:
        return None
    return ConstantRate(exact_rate(video.frames_per_second), video.n_frames or None)


def parse_range(header: str | None, n_bytes: int) -> tuple[int, int] | None:
    """`bytes=0-99`, `bytes=100-` or `bytes=-5` to `[start, end)`; None for the whole file.

    Anything that is not a single range of bytes stands for the whole file. A range outside the
    file is empty.
    """
    match = _RANGE.fullmatch((header or "").strip())
    if match is None or match[1] == match[2] == "":
        return None
    if not match[1]:
        return max(0, n_bytes - int(match[2])), n_bytes
    start = int(match[1])
    end = n_bytes if not match[2] else min(int(match[2]) + 1, n_bytes)
    if match[2] and int(match[2]) < start:
        return None
    return (start, end) if start < n_bytes else (n_bytes, n_bytes)


def file_answer(path: Path, header: str | None, *, head: bool) -> Response:
    """A file, or a part of it, piece by piece.

    Args:
        path: the file.
        header: the `Range` of the request.
        head: whether only the headers are asked for.
    """
    n_bytes = path.stat().st_size
    span = parse_range(header, n_bytes)
    start, end = (0, n_bytes) if span is None else span
    headers = {
        "accept-ranges": "bytes",
        "cache-control": "private, max-age=3600",
        "content-type": TYPES.get(path.suffix.lower(), "application/octet-stream"),
    }
    if span is not None and start >= end:
        headers["content-range"] = f"bytes */{n_bytes}"
        return Response(status_code=416, headers=headers)
    headers["content-length"] = str(end - start)
    if span is not None:
        headers["content-range"] = f"bytes {start}-{end - 1}/{n_bytes}"
    status = 200 if span is None else 206
    if head:
        return Response(status_code=status, headers=headers)
    return StreamingResponse(_pieces(path, start, end), status, headers)


async def _pieces(path: Path, start: int, end: int) -> AsyncIterator[bytes]:
    async with await open_file(path, "rb") as file:
        await file.seek(start)
        while start < end:
            piece = await file.read(min(_PIECE, end - start))
            if not piece:
                return
            start += len(piece)
            yield piece
