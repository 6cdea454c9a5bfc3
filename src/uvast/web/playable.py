"""Which videos browsers play: by container, codec and pixel format, not by suffix alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from uvast.errors import UvastError
from uvast.features.video_file import open_video

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/mp4",
    ".webm": "video/webm",
}
"""The types sent to browsers; they play MOV as MP4, and some refuse its own type."""

_IN_MP4 = ("h264", "av1", "vp9")
_IN_WEBM = ("vp8", "vp9", "av1")
_PIXELS = ("yuv420p", "yuvj420p")


@dataclass(frozen=True)
class MediaKind:
    """What a file is made of."""

    containers: tuple[str, ...]
    codec: str
    pixels: str

    @property
    def is_playable(self) -> bool:
        """Whether Chromium, Firefox and Safari show it."""
        codec = {"libvpx": "vp8", "libvpx-vp9": "vp9", "libdav1d": "av1"}.get(
            self.codec, self.codec
        )
        if self.pixels not in _PIXELS:
            return False
        if "mp4" in self.containers:
            return codec in _IN_MP4
        return "webm" in self.containers and codec in _IN_WEBM


@lru_cache(maxsize=10_000)
def media_kind(path: Path, stamp: int) -> MediaKind | None:
    """What a file is made of, from its header; None if it cannot be read.

    Args:
        path: the file.
        stamp: its modification time; with a new one, the file is read again.
    """
    del stamp
    try:
        with open_video(path) as (container, stream):
            containers = tuple(container.format.name.split(","))
            # Matroska and WebM are one format to the library; only the latter plays everywhere
            if "webm" in containers and path.suffix.lower() != ".webm":
                containers = ("matroska",)
            context = stream.codec_context
            return MediaKind(containers, context.name, context.pix_fmt or "")
    except UvastError:
        return None


def is_playable(path: Path) -> bool:
    """Whether browsers play a file; False if it cannot be read."""
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        return False
    kind = media_kind(path, stamp)
    return kind is not None and kind.is_playable


def may_play(path: Path, codec: str | None) -> bool:
    """A quick guess without opening the file, for long lists."""
    codec = {"libdav1d": "av1"}.get(codec or "", codec or "")
    if path.suffix.lower() == ".webm":
        return codec in _IN_WEBM
    return path.suffix.lower() in TYPES and codec in _IN_MP4
