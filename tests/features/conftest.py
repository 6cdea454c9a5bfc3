"""Generated videos in which only motion tells the action, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from uvast.features import generate_videos
from uvast.segments import Segmentation


@pytest.fixture(scope="session")
def motion(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Segmentation]]:
    folder = tmp_path_factory.mktemp("videos")
    return folder, generate_videos(folder, n_videos=3, seconds=6.0, width=64, height=48, seed=5)
