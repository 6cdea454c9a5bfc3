"""What a model learns from each video: its labels, or a pseudo-segmentation from timestamps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from uvast.config import CutMethod, MetricName, SupervisionConfig
from uvast.errors import InputError, TimestampError
from uvast.sampling import sampled_length
from uvast.segments import Segmentation, midpoint_durations
from uvast.supervision.class_cuts import fit_class_model
from uvast.supervision.energy import energy_durations
from uvast.supervision.k_medoids import constrained_k_medoids, unconstrained_k_medoids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from uvast.data import Dataset, Timestamps

Features = NDArray[np.floating[Any]]
Method = Literal[CutMethod, "unconstrained"]


@dataclass(frozen=True)
class PseudoLabelOptions:
    """How frames between timestamps get their labels.

    Args:
        method: `k-medoids` (the paper's, with a prior), `class-model` (models of the classes
            shared by all videos), `energy` (see `energy_durations`), `midpoint` (half-way
            between neighbouring timestamps, no features), or `unconstrained`, k-medoids without
            order, for comparison only.
        metric: `euclidean` or `cosine`.
        prior: the weight of the pull to the midpoint, or with `class-model` to where the classes'
            mean lengths divide a gap; 0 with `k-medoids` is the paper's algorithm. `energy` has
            none.
        offsets: with `class-model`, how far cuts usually are from where the features change, as a
            share of an action's mean length; 0 leaves them there.
    """

    method: Method = "class-model"
    metric: MetricName = SupervisionConfig.metric
    prior: float = SupervisionConfig.prior
    offsets: float = SupervisionConfig.offsets

    def __post_init__(self) -> None:
        for value, kind in ((self.method, Method), (self.metric, MetricName)):
            if value not in get_args(kind):
                raise InputError(f"{value!r}", remedy=f"choose from {', '.join(get_args(kind))}")

    @classmethod
    def from_config(cls, config: SupervisionConfig) -> PseudoLabelOptions:
        """The options for a run's first targets."""
        method: Method = "midpoint" if config.method == "clicks" else config.method
        return cls(method, config.metric, config.prior, config.offsets)


@dataclass(frozen=True)
class JoinedFeatures(Mapping[str, Features]):
    """Each video's input features beside other ones `(T, F + D)`, joined on demand.

    Both parts are scaled to a mean norm of 1, so that neither outweighs the other. Input features
    are the dataset's, at the model's rate; `others` are encoder features `(T, D)` of each video.
    """

    dataset: Dataset
    others: Mapping[str, Features]

    def __getitem__(self, name: str) -> Features:
        inputs = self.dataset.video(name, labels=False).features
        return np.concatenate([_scaled(inputs), _scaled(self.others[name])], axis=1)

    def __iter__(self) -> Iterator[str]:
        return iter(self.others)

    def __len__(self) -> int:
        return len(self.others)


def full_segmentations(dataset: Dataset, names: Iterable[str]) -> dict[str, Segmentation]:
    """The ground truth of samples (see `Dataset.samples`) at the model's rate."""
    rate = dataset.sampling_rate
    return {name: Segmentation.from_labels(dataset.source_labels(name)[::rate]) for name in names}


def pseudo_segmentations(
    dataset: Dataset,
    names: Iterable[str],
    timestamps: Mapping[str, Timestamps],
    options: PseudoLabelOptions,
    *,
    features: Mapping[str, Features] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Segmentation]:
    """Pseudo-segmentations of samples at the model's rate; no labels are read.

    Samples are videos, or stretches of them (see `Dataset.samples`, `Dataset.video`). Neighbouring
    timestamps with the same label become one segment. Frames of a segment without a timestamp go
    to its neighbours.

    Args:
        dataset: where the videos are.
        names: which samples.
        timestamps: of each sample, at the model's rate.
        options: how to label the frames between.
        features: `(T, F)` of each video at the model's rate, such as a model's encoder features;
            None reads the dataset's own.
        progress: called with how much work is done, and how much there is.
    """
    entries = {name: _timestamps_of(name, timestamps, dataset) for name in names}

    def read(name: str) -> Features:
        return dataset.video(name, labels=False).features if features is None else features[name]

    def n_frames(name: str) -> int:
        if features is not None:
            return len(features[name])
        return sampled_length(dataset.source_frames(name), dataset.sampling_rate)

    if options.method == "class-model" and entries:
        durations, _ = fit_class_model(
            read,
            entries,
            metric=options.metric,
            prior=options.prior,
            offsets=options.offsets,
            progress=progress,
        )
        return {
            name: Segmentation(entry.transcript, durations[name]).merged()
            for name, entry in entries.items()
        }
    found = {}
    for name, entry in entries.items():
        if options.method == "midpoint" or len(entry) == 1:  # needs no features
            one = Segmentation(entry.transcript, midpoint_durations(entry.frames, n_frames(name)))
        else:
            one = _clustered(read(name), entry, options)
        found[name] = one.merged()
        if progress is not None:
            progress(len(found), len(entries))
    return found


def _timestamps_of(name: str, timestamps: Mapping[str, Timestamps], dataset: Dataset) -> Timestamps:
    if name in timestamps:
        return timestamps[name]
    raise TimestampError(
        f"no timestamps for video {name}",
        where=dataset.path,
        remedy="annotate one frame of each of its actions",
    )


def _clustered(
    features: Features, timestamps: Timestamps, options: PseudoLabelOptions
) -> Segmentation:
    frames, transcript = timestamps.frames, timestamps.transcript
    if options.method == "unconstrained":
        clusters = unconstrained_k_medoids(features, frames, options.metric)
        return Segmentation.from_labels(transcript[clusters.assignment])
    if options.method == "energy":
        return Segmentation(transcript, energy_durations(features, frames, options.metric))
    found = constrained_k_medoids(features, frames, options.metric, options.prior)
    return Segmentation(transcript, found.durations)


def _scaled(features: Features) -> Features:
    norm = np.linalg.norm(features, axis=1).mean()
    return features / norm if norm > 0 else features
