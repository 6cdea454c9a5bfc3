"""Film strips: made once, in a separate thread, and kept on disk."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.errors import UvastError
from uvast.files import is_present, read_bytes, write_bytes
from uvast.web.pictures import strip_jpegs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOST_BYTES = 256 * 2**20
"""Of all strips on disk; when there are more, the oldest quarter is removed."""

MOST_AT_ONCE = 8
"""Strips made in one pass over a video."""


@dataclass(frozen=True)
class Wanted:
    """A strip that somebody asked for.

    Args:
        path: the video's file.
        identity: changes with the content of the file.
        seconds: the moments of its pictures.
        width: of a picture in pixels.
    """

    path: Path
    identity: str
    seconds: tuple[float, ...]
    width: int

    @property
    def name(self) -> str:
        """The name of the strip's file."""
        text = f"{self.identity} {self.width} {self.seconds}"
        return f"{hashlib.sha256(text.encode()).hexdigest()[:40]}.jpg"

    @property
    def pass_(self) -> tuple[str, int]:
        """Strips with the same value are made together."""
        return self.identity, self.width


class Strips:
    """The strips of all videos.

    Args:
        folder: where they are kept; it may be removed at any time.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._waiting: dict[Wanted, Future[bytes]] = {}
        self._worker = ThreadPoolExecutor(1, "uvast strips")
        self._n_bytes: int | None = None

    def kept(self, wanted: Wanted) -> bytes | None:
        """A strip that was made before; None if it was not."""
        path = self._folder / wanted.name
        with suppress(UvastError):
            return read_bytes(path) if is_present(path) else None
        return None

    def make(self, wanted: Wanted) -> Future[bytes]:
        """Makes a strip, together with other waiting strips of the video."""
        with self._lock:
            if wanted not in self._waiting:
                self._waiting[wanted] = Future()
                self._worker.submit(self._work)
            return self._waiting[wanted]

    def close(self) -> None:
        """Stops work in the background."""
        self._worker.shutdown(cancel_futures=True)
        with self._lock:
            for future in self._waiting.values():
                future.cancel()

    def _work(self) -> None:
        """Makes the strip that has waited longest, and others of its pass."""
        with self._lock:
            first = next(iter(self._waiting), None)
            if first is None:
                return
            strips = [one for one in self._waiting if one.pass_ == first.pass_][:MOST_AT_ONCE]
        for strip, found in zip(strips, _made(strips), strict=True):
            if isinstance(found, bytes):
                self._keep(strip, found)
            with self._lock:
                future = self._waiting.pop(strip)
            if isinstance(found, bytes):
                future.set_result(found)
            else:
                future.set_exception(found)

    def _keep(self, strip: Wanted, content: bytes) -> None:
        """Writes a strip if possible: a full disk is no reason not to show it."""
        with suppress(UvastError, OSError):
            write_bytes(self._folder / strip.name, content)
            if self._n_bytes is None:
                self._n_bytes = sum(path.stat().st_size for path in self._folder.glob("*.jpg"))
            else:
                self._n_bytes += len(content)
            if self._n_bytes > MOST_BYTES:
                self._n_bytes = self._tidied()

    def _tidied(self) -> int:
        """Removes the oldest strips; returns the bytes of those that stay."""
        files = [(path.stat(), path) for path in self._folder.glob("*.jpg")]
        files.sort(key=lambda one: one[0].st_mtime_ns)
        left = sum(stat.st_size for stat, _ in files)
        for stat, path in files:
            if left <= MOST_BYTES * 3 // 4:
                break
            path.unlink(missing_ok=True)
            left -= stat.st_size
        return left


def _made(strips: Sequence[Wanted]) -> Sequence[bytes | Exception]:
    """Makes strips of one video and width; one that fails does not affect the others."""
    first = strips[0]
    try:
        return strip_jpegs(first.path, [one.seconds for one in strips], first.width)
    except Exception as error:
        if len(strips) == 1:
            return [error]
    return [found for one in strips for found in _made([one])]
