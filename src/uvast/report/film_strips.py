"""The pictures under a report's timelines, from the videos its features were extracted from."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.errors import CorruptFileError, UvastError
from uvast.features.card import card_path, read_card
from uvast.features.extras import extra
from uvast.features.models import TABLES
from uvast.features.pictures import film_strip
from uvast.files import open_file
from uvast.report.compare import order_of_videos
from uvast.report.content import FilmStrip

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvast.data import Dataset
    from uvast.features.card import FeatureCard
    from uvast.report.content import Comparison, Timeline

    FeaturesOf = Callable[[str], Path | None]

N_PICTURES = 12
"""Per video; the page's style relies on it, and shows every third on small screens."""

MAX_VIDEOS = 24
"""How many the page shows at first; pictures of all others would make it slow to open."""


def add_film_strips(
    comparison: Comparison, features_of: FeaturesOf
) -> tuple[Comparison, dict[str, str]]:
    """Adds pictures to the videos that a page shows first, where these can still be read.

    Args:
        comparison: the timelines.
        features_of: the feature file of a video, None if unknown.

    Returns:
        The comparison with film strips, and a fact for the page if some videos have none.
    """
    shown = [comparison.videos[i] for i in order_of_videos(comparison, comparison.main)]
    strips: dict[str, FilmStrip] = {}
    errors: list[UvastError] = []
    for one in shown[:MAX_VIDEOS]:
        try:
            card = None if one.name in strips else _card_of(one, features_of)
            if card is not None:
                strips[one.name] = _strip_of(card, one.n_frames)
        except UvastError as error:
            errors.append(error)
    videos = tuple(replace(one, strip=strips.get(one.name)) for one in comparison.videos)
    return replace(comparison, videos=videos), _fact(len(strips), comparison, errors)


def features_in(dataset: Dataset) -> FeaturesOf:
    """A function from a dataset's video to its feature file."""
    return lambda name: dataset.features_path(name) if dataset.has_features(name) else None


def _card_of(one: Timeline, features_of: FeaturesOf) -> FeatureCard | None:
    """What is known about a video's features; None unless they come from a video file."""
    features = features_of(one.name)
    if features is None or not card_path(features).is_file():
        return None
    card = read_card(card_path(features))
    return None if card.model in TABLES or not card.times else card


def _strip_of(card: FeatureCard, n_frames: int) -> FilmStrip:
    """Pictures at the middles of equal parts of a timeline."""
    video = Path(card.source)
    with open_file(video) as file:  # refuses anything but a regular file
        if os.fstat(file.fileno()).st_size != card.source_bytes:
            raise CorruptFileError("has changed since its features were extracted", where=video)
    middles = ((2 * part + 1) * n_frames // (2 * N_PICTURES) for part in range(N_PICTURES))
    times = [card.times[min(frame, card.n_frames - 1)] for frame in middles]
    pictures = tuple(film_strip(video, times))
    width, height = extra("PIL.Image").open(io.BytesIO(pictures[0])).size
    return FilmStrip(pictures, width / height)


def _fact(n_strips: int, comparison: Comparison, errors: list[UvastError]) -> dict[str, str]:
    """What the page says about videos without pictures, if pictures are expected."""
    n_videos = len({one.name for one in comparison.videos})
    if not (n_strips or errors) or n_strips == n_videos:
        return {}
    why = f"; {errors[0]}" if errors else ""
    return {"Pictures": f"of {n_strips or 'none'} of the {n_videos} videos{why}"}
