"""Pseudo-segmentations against the truth: constrained, unconstrained, and half-way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.report.compare import compare
from uvast.supervision import PseudoLabelOptions, pseudo_segmentations

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.config import SupervisionConfig
    from uvast.data import Dataset
    from uvast.report.content import Comparison
    from uvast.segments import Segmentation

MAX_VIDEOS = 40
"""Clustering takes time: of more videos, so many are taken, evenly spread over their names."""


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
    ways = {
        "constrained": PseudoLabelOptions("k-medoids", config.metric, config.prior),
        "unconstrained": PseudoLabelOptions("unconstrained", config.metric),
        "midpoint": PseudoLabelOptions("midpoint"),
    }
    if config.method == "class-model":
        ways["class model"] = PseudoLabelOptions("class-model", config.metric, config.prior)
    rate = dataset.spec.sampling_rate

    def segmentations(options: PseudoLabelOptions) -> dict[str, Segmentation]:
        # A class model is made of all videos, the others look at one video at a time.
        of = known if options.method == "class-model" else chosen
        found = pseudo_segmentations(dataset, of, annotated, options)
        return {n: found[n].upsampled(rate, dataset.source_frames(n)) for n in chosen}

    return compare(
        {name: dataset.source_segmentation(name) for name in chosen},
        {way: segmentations(options) for way, options in ways.items()},
        dataset.vocabulary,
        timestamps={name: annotated[name].frames * rate for name in chosen},
    )


def _evenly(names: Sequence[str], most: int) -> list[str]:
    places = np.linspace(0, len(names) - 1, min(len(names), most)).round().astype(int)
    return [names[place] for place in places.tolist()]
