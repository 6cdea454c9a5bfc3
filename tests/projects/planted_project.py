"""Projects without video files: `videos.json` and the cards of features are planted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from uvast.features.card import FeatureCard, card_path, write_card
from uvast.projects import Project, ProjectVideo
from uvast.projects.videos import write_videos


def plant_project(
    path: Path, names: Sequence[str], *, rate: float = 25.0, seconds: float = 1e5
) -> Project:
    """Videos of a constant rate whose files are gone."""
    path.mkdir(parents=True, exist_ok=True)
    n_frames = round(rate * seconds)
    videos = [
        ProjectVideo(
            name, path.absolute() / f"{name}.mp4", 9, name, seconds, n_frames, rate, "h264"
        )
        for name in names
    ]
    write_videos(path, videos)
    return Project.open(path)


def plant_features(project: Project, name: str, times: Sequence[float]) -> None:
    """Features of every frame of the video, which tell when its frames are shown."""
    file = project.features_path(name)
    file.parent.mkdir(exist_ok=True)
    np.save(file, np.zeros((len(times), 1), np.float32))
    card = FeatureCard(
        model="pixels",
        version=("1",),
        widths=(1,),
        source=f"{name}.mp4",
        source_bytes=9,
        fingerprint="x",
        frames_per_second=None,
        seconds=None,
        n_frames=len(times),
        n_features=1,
        times=tuple(map(float, times)),
        source_frames=tuple(range(len(times))),
    )
    write_card(card_path(file), card)


def everything_in(folder: Path) -> dict[str, bytes]:
    """The content of all files but locks."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if not path.name.endswith(".lock")
    }
