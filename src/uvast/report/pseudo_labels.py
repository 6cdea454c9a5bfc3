"""Pseudo-segmentations of a run's training videos, one per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.evaluation import Track
from uvast.evaluation.pseudo_labels import make_pseudo_labels, methods_to_compare
from uvast.report.compare import compare, evenly
from uvast.supervision import PseudoLabelOptions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.config import SupervisionConfig
    from uvast.data import Dataset
    from uvast.report.content import Comparison

MAX_VIDEOS = 40
"""Clustering takes time: at most this many videos are used, evenly spread over their names."""

_CHEAP = ("midpoint", "unconstrained", "k-medoids", "energy")
"""Methods that look at one video at a time, unlike class models, which look at all."""


def compare_pseudo_labels(
    dataset: Dataset,
    names: Sequence[str],
    config: SupervisionConfig,
    *,
    timestamps: Path | str | None = None,
) -> Comparison | None:
    """Pseudo-segmentations of training videos, scored where they have labels; None without clicks.

    Each labelled stretch counts as a video of its own. The metric, prior and method are the run's;
    without `timestamps` the dataset's own file is read.
    """
    annotated = dataset.timestamps(timestamps)
    samples = [sample for name in sorted(names) for sample in dataset.samples(name)]
    known = {name: annotated[name] for name in samples if name in annotated}
    if not known:
        return None
    # if some have labels, only these are used: they can be scored
    labelled = [name for name in known if dataset.has_labels(name)]
    chosen = evenly(labelled or list(known), MAX_VIDEOS)
    used = PseudoLabelOptions.from_config(config)
    methods = {
        row: options
        for row, options in methods_to_compare(used).items()
        if options.method in (*_CHEAP, used.method)
    }
    exact = dataset.at_rate(1).timestamps(timestamps)  # as in `clicks_of`
    made = {
        row: make_pseudo_labels(dataset, known, options, videos=chosen)
        for row, options in methods.items()
    }
    return compare(
        {row: {None: {n: Track(one) for n, one in of.items()}} for row, of in made.items()},
        {name: dataset.source_segmentation(name) for name in chosen if labelled},
        dataset.vocabulary,
        clicks={name: exact[name] for name in chosen},
        main=list(methods.values()).index(used),
    )
