"""A copy of a video that every browser plays, with its frames at the same times.

    python -m uvast.web.proxies VIDEO PROXY.mp4

H.264 with a key frame every second, so that seeking is quick; at most 1280 pixels wide; no sound.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.errors import UvastError
from uvast.features.encode import video_writer
from uvast.features.extractor import Picture, View
from uvast.features.frames import FrameReader
from uvast.features.video_file import video_info
from uvast.files import atomic_path
from uvast.files.progress import ProgressFile

if TYPE_CHECKING:
    from collections.abc import Callable

WIDEST = 1280
_QUALITY = 25


def make_proxy(video: Path, proxy: Path, on_progress: Callable[[float], None]) -> None:
    """Writes a proxy; `on_progress` is called with the share that is done."""
    info = video_info(video)
    width = _even(min(WIDEST, info.width))
    height = _even(info.height * width / info.width)
    reader = FrameReader(video, [View(Picture(height, width), rate=None)])
    with (
        atomic_path(proxy) as temporary,
        video_writer(
            temporary,
            width=width,
            height=height,
            rate=info.frames_per_second,
            quality=_QUALITY,
            preset="superfast",
        ) as write,
    ):
        for number, shown in enumerate(reader):
            write(shown.picture, shown.seconds)
            if number % 25 == 0 and info.seconds:
                on_progress(min(1.0, shown.seconds / info.seconds))


def _even(side: float) -> int:
    return max(2, round(side / 2) * 2)


def main() -> None:
    """Runs as a job: an error is one sentence and exit code 2, as with commands."""
    video, proxy = map(Path, sys.argv[1:3])
    progress = ProgressFile.wanted()

    def tell(share: float) -> None:
        if progress is not None:
            progress.tell("making a proxy", share, 1.0)

    try:
        make_proxy(video, proxy, tell)
    except UvastError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
