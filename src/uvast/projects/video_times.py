"""The frame times of a project's videos, for annotation files that count frames."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.exchange.frame_times import ConstantRate, PresentationTimes, exact_rate
from uvast.features.card import card_path, read_card
from uvast.files import is_present
from uvast.files.kinds import VIDEO_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from uvast.exchange.frame_times import FrameTimes
    from uvast.projects.project import Project


def times_by_name(project: Project, rate: Fraction | None) -> Callable[[str], FrameTimes | None]:
    """A function from a video's name in the project to its frame times, each looked up once.

    Args:
        project: whose videos.
        rate: frames a second for all of them; None to use the videos' own.
    """
    if rate is not None:
        constant = ConstantRate(rate)
        return lambda _name: constant
    return lru_cache(maxsize=None)(lambda name: video_times(project, name))


def video_times(project: Project, name: str) -> FrameTimes | None:
    """When the frames of a video are shown; None if unknown.

    Features of every frame come with their times; else the video file has them, and if it is gone
    its nominal rate counts. A table's frames are those of its features.
    """
    video = project.video(name)
    told = _told(project.features_path(name), video.path if video.is_video else None)
    if told is not None:
        return told
    if not video.is_video:
        return project.frame_times(name)
    if video.frames_per_second is None:
        return None
    return ConstantRate(exact_rate(video.frames_per_second), video.n_frames or None)


def predicted_times(predictions: Path) -> Callable[[str], FrameTimes | None]:
    """The frame times of videos that `uvast segment` extracted itself, each looked up once.

    Predictions count the frames of the features; other tools count those of the video.
    """
    folder = predictions if predictions.is_dir() else predictions.parent

    def times_of(name: str) -> FrameTimes | None:
        features = folder / "features" / f"{name}.npy"
        card_file = card_path(features)
        if not is_present(card_file):
            return None
        source = Path(read_card(card_file).source)
        return _told(features, source if source.suffix.lower() in VIDEO_SUFFIXES else None)

    return lru_cache(maxsize=None)(times_of)


def _told(features: Path, video: Path | None) -> FrameTimes | None:
    """From the card of features of every frame, else from the video file, if it exists."""
    card_file = card_path(features)
    if is_present(card_file):
        card = read_card(card_file)
        if card.frames_per_second is None and card.times:
            return PresentationTimes(card.times)
    if video is None or not video.is_file():
        return None
    from uvast.features.packet_times import packet_times

    return PresentationTimes(packet_times(video))
