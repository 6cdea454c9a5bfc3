"""The frames of a project's videos, which frame numbers in annotation files count."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from uvast.exchange.frame_times import ConstantRate, PresentationTimes, exact_rate
from uvast.features.card import card_path, read_card
from uvast.files import is_present

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from uvast.exchange.frame_times import FrameTimes
    from uvast.projects.project import Project


def times_by_name(
    project: Project, rate: Fraction | None = None
) -> Callable[[str], FrameTimes | None]:
    """The frame times of a video by its name in the project, each found once.

    Args:
        project: whose videos.
        rate: frames a second for all of them; None asks the videos.
    """
    if rate is not None:
        constant = ConstantRate(rate)
        return lambda _name: constant
    return lru_cache(maxsize=None)(lambda name: video_times(project, name))


def video_times(project: Project, name: str) -> FrameTimes | None:
    """When the frames of a video are shown; None if nothing tells.

    Features of every frame have the times beside them; else the file of the video is asked, and
    if it is not there its nominal rate counts. A table's frames are those of its features.
    """
    card_file = card_path(project.features_path(name))
    if is_present(card_file):
        card = read_card(card_file)
        if card.frames_per_second is None and card.times:
            return PresentationTimes(card.times)
    video = project.video(name)
    if not video.is_video:
        return project.frame_times(name)
    if video.path.is_file():
        from uvast.features.packet_times import packet_times

        return PresentationTimes(packet_times(video.path))
    if video.frames_per_second is None:
        return None
    return ConstantRate(exact_rate(video.frames_per_second), video.n_frames or None)
