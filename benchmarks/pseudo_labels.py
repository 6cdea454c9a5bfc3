"""Speed and memory of pseudo-labels.

    OMP_NUM_THREADS=1 python benchmarks/pseudo_labels.py [DATASET]

First a generated video of 50Salads' size, 11,500 frames of 2048 features and 20 timestamps, twice:
clear segments, and a random walk, where cuts move for many iterations. Goal: 3 s and 1 GB each with
k-medoids, 10 s with class models, which read the video up to 14 times.
Then every video of DATASET, with its own timestamps. Goal: GTEA in 5 s.
"""

from __future__ import annotations

import resource
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from uvast.data import Dataset, Timestamps
from uvast.segments import Segmentation
from uvast.supervision import (
    PseudoLabelOptions,
    constrained_k_medoids,
    fit_class_model,
    pseudo_segmentations,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvast.config.sections import MetricName

METRICS: tuple[MetricName, ...] = ("euclidean", "cosine")
N_FRAMES, N_FEATURES, N_SEGMENTS = 11_500, 2048, 20


def timed(name: str, work: Callable[[], str]) -> None:
    """Prints the time of a piece of work, and the process's peak memory so far."""
    start = time.perf_counter()
    remark = work()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{name:42} {seconds:6.2f} s   {peak:5.2f} GB   {remark}")


def generated(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Features `(T, F)` and timestamps `(S,)`."""
    generator = np.random.default_rng(0)
    cuts = np.sort(generator.choice(np.arange(1, N_FRAMES), N_SEGMENTS - 1, replace=False))
    durations = np.diff(cuts, prepend=0, append=N_FRAMES)
    one = Segmentation(np.arange(N_SEGMENTS), durations)
    features = generator.standard_normal((N_FRAMES, N_FEATURES), dtype=np.float32)
    if kind == "random walk":
        np.cumsum(features, axis=0, out=features)
    else:
        means = generator.standard_normal((N_SEGMENTS, N_FEATURES), dtype=np.float32)
        features += 0.3 * means[one.labels]
    return features, one.sampled_timestamps(generator)


def class_models(features: np.ndarray, timestamps: np.ndarray, metric: MetricName) -> str:
    """Class models, for seven classes that take turns."""
    entry = Timestamps(timestamps, np.arange(N_SEGMENTS) % 7)
    readings: list[int] = []
    fit_class_model(
        lambda _: features,
        {"video": entry},
        metric=metric,
        progress=lambda n_done, _: readings.append(n_done),
    )
    return f"{len(readings)} readings"


def k_medoids(
    features: np.ndarray, timestamps: np.ndarray, metric: MetricName, prior: float
) -> str:
    """The paper's k-medoids, with a prior."""
    return f"{constrained_k_medoids(features, timestamps, metric, prior).iterations} iterations"


def whole(dataset: Dataset, options: PseudoLabelOptions) -> str:
    """Pseudo-labels of all videos of a dataset."""
    clicks = dataset.timestamps()
    return f"{len(pseudo_segmentations(dataset, dataset.names, clicks, options))} videos"


def main() -> None:
    """Times generated videos, then a dataset's."""
    for kind in ("clear segments", "random walk"):
        features, timestamps = generated(kind)
        for metric in METRICS:
            for prior in (0.0, 0.25):
                timed(
                    f"{kind}, k-medoids, {metric}, prior {prior}",
                    partial(k_medoids, features, timestamps, metric, prior),
                )
            timed(
                f"{kind}, class-model, {metric}",
                partial(class_models, features, timestamps, metric),
            )
    if len(sys.argv) < 2:
        return
    dataset = Dataset.open(sys.argv[1])
    for method in ("midpoint", "unconstrained", "k-medoids", "class-model"):
        timed(f"{dataset.name}, {method}", partial(whole, dataset, PseudoLabelOptions(method)))


if __name__ == "__main__":
    main()
