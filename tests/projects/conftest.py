"""One small video, from which every test makes as many different ones as it needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_video import MakeVideo

from uvast.features import generate_videos

FREE_BOX = b"\0\0\0\x08free"
"""Bytes that an mp4 file may end with and no player looks at."""


@pytest.fixture(scope="session")
def make_video(tmp_path_factory: pytest.TempPathFactory) -> MakeVideo:
    """Writes a video of 4 seconds or so; another number is another content."""
    folder = tmp_path_factory.mktemp("videos")
    generate_videos(folder, n_videos=1, seconds=4.0, width=32, height=32, seed=2)
    content = (folder / "s01_001.mp4").read_bytes()

    def make(path: Path, number: int) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content + FREE_BOX * number)
        return path

    return make
