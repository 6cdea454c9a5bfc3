"""Pseudo-segmentations of a run's training videos, one for each method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.evaluation.pseudo_labels import make_pseudo_labels, methods_to_compare
from uvast.report.compare import compare
from uvast.supervision import PseudoLabelOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.config import SupervisionConfig
    from uvast.data import Dataset
    from uvast.report.content import Comparison

MAX_VIDEOS = 40
"""Clustering takes time: of more videos, so many are taken, evenly spread over their names."""

_CHEAP = ("midpoint", "unconstrained", "k-medoids")
"""Methods that look at one video at a time; class models, which look at all, are not."""


def compare_pseudo_labels(
    dataset: Dataset,
    names: Sequence[str],
    config: SupervisionConfig,
    *,
    timestamps: Path | str | None = None,
    max_videos: int = MAX_VIDEOS,
) -> Comparison | None:
    """Compares pseudo-segmentations of videos with their labels; None if no video has both.

    Args:
        dataset: where the videos are.
        names: the training videos.
        config: the run's metric, prior and method.
        timestamps: the timestamps file; None finds the dataset's own.
        max_videos: of more, so many are taken.
    """
    annotated = dataset.timestamps(timestamps)
    known = [name for name in sorted(names) if name in annotated]
    chosen = _evenly([name for name in known if dataset.has_labels(name)], max_videos)
    if not chosen:
        return None
    clicks = {name: annotated[name] for name in known}
    methods = methods_to_compare(PseudoLabelOptions(config.method, config.metric, config.prior))
    rate = dataset.spec.sampling_rate
    return compare(
        {name: dataset.source_segmentation(name) for name in chosen},
        {
            row: make_pseudo_labels(dataset, clicks, options, videos=chosen)
            for row, options in methods.items()
            if options.method in (*_CHEAP, config.method)
        },
        dataset.vocabulary,
        timestamps={name: annotated[name].frames * rate for name in chosen},
    )


def _evenly(names: Sequence[str], most: int) -> list[str]:
    places = np.linspace(0, len(names) - 1, min(len(names), most)).round().astype(int)
    return [names[place] for place in places.tolist()]
