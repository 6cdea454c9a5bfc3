"""Compares methods that make labels from timestamps, with each other and with the truth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uvast.evaluation.scoring import score_sides
from uvast.supervision import pseudo_segmentations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from uvast.data import Dataset, Timestamps
    from uvast.evaluation.scores import ScoreProtocol
    from uvast.evaluation.scoring import Evaluation
    from uvast.segments import Segmentation
    from uvast.supervision import PseudoLabelOptions
    from uvast.supervision.targets import Features


def methods_to_compare(chosen: PseudoLabelOptions) -> dict[str, PseudoLabelOptions]:
    """The rows of every table of pseudo-labels: name to method, with the metric and prior chosen.

    A prior of 0 leaves out the row that would repeat the paper's k-medoids.
    """
    prior = f"prior {chosen.prior:g}"
    rows = {
        "midpoint": replace(chosen, method="midpoint"),
        "unconstrained k-medoids": replace(chosen, method="unconstrained"),
        "constrained k-medoids": replace(chosen, method="k-medoids", prior=0.0),
        f"constrained k-medoids + {prior}": replace(chosen, method="k-medoids"),
        "energy (Li et al.)": replace(chosen, method="energy"),
        f"class models + {prior}": replace(chosen, method="class-model"),
    }
    if not chosen.prior:
        del rows[f"constrained k-medoids + {prior}"]
    return rows


def make_pseudo_labels(
    dataset: Dataset,
    timestamps: Mapping[str, Timestamps],
    options: PseudoLabelOptions,
    *,
    videos: Iterable[str] | None = None,
    features: Mapping[str, Features] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Segmentation]:
    """Pseudo-segmentations at the source rate of some samples, or of all with timestamps.

    Samples are videos, or labelled stretches of them (see `Dataset.samples`). Timestamps and
    features `(T, F)` are at the model's rate; without features the dataset's own are read. Class
    models are fitted to all timestamps, whichever samples are wanted.
    """
    wanted = list(timestamps if videos is None else videos)
    of = timestamps if options.method == "class-model" else wanted
    made = pseudo_segmentations(
        dataset, of, timestamps, options, features=features, progress=progress
    )
    rate = dataset.sampling_rate
    return {name: made[name].upsampled(rate, dataset.source_frames(name)) for name in wanted}


def score_pseudo_labels(
    dataset: Dataset,
    labelled: Mapping[str, Segmentation],
    *,
    protocol: ScoreProtocol = "standard",
) -> Evaluation:
    """Scores pseudo-segmentations at the source rate; every sample needs its true labels."""
    truths = {name: dataset.source_segmentation(name) for name in labelled}
    return score_sides(
        truths, {None: labelled}, {None: list(labelled)}, dataset.vocabulary, protocol=protocol
    )
