"""Targets cut again from what a model has learned."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from uvast.config import Config
from uvast.data import Dataset, Timestamps
from uvast.durations import LengthModel
from uvast.inference.weights import DecodingWeights
from uvast.segments import Segmentation
from uvast.training.refresh import refreshed_targets


def test_refreshing_by_k_medoids_clusters_whatever_came_first(
    tiny: Dataset, small_config: Config
) -> None:
    name = tiny.names[0]
    truth = tiny.source_segmentation(name).merged()

    class Encoder:
        """Features in which the true segments are far apart."""

        def encode(self, features: np.ndarray) -> np.ndarray:
            return np.eye(truth.n_segments, dtype=np.float32)[truth.segment_of_frame]

    config = small_config.replaced(
        **{
            "supervision.kind": "timestamps",
            "supervision.method": "midpoint",
            "supervision.prior": 0.0,
            "supervision.refresh_by": "k-medoids",
        }
    ).supervision
    found = refreshed_targets(Encoder(), tiny, [name], tiny.timestamps(), config)
    np.testing.assert_array_equal(found[name].labels, truth.labels)


def test_several_clicks_in_a_segment_are_one_segment_when_targets_are_refreshed(
    tiny: Dataset, small_config: Config
) -> None:
    name, n_classes = tiny.names[0], len(tiny.vocabulary)
    n_frames = tiny.video(name).n_frames
    lengths = np.full(n_classes, n_frames / 2)
    lengths[0] = n_frames / 4  # the first action is the short one

    class Undecided:
        """Every class everywhere: only lengths decide."""

        weights = DecodingWeights.of_power(1.0)
        priors = SimpleNamespace(gamma=LengthModel.poisson(lengths), weights=weights)

        def frames(self, features: np.ndarray) -> SimpleNamespace:
            return SimpleNamespace(log_probabilities=np.zeros((len(features), n_classes)))

    def refreshed(frames: list[int], transcript: list[int]) -> Segmentation:
        clicks = {name: Timestamps(np.array(frames), np.array(transcript))}
        config = small_config.replaced(**{"supervision.kind": "timestamps"}).supervision
        return refreshed_targets(Undecided(), tiny, [name], clicks, config)[name]

    once = refreshed([4, n_frames - 1], [0, 1])
    often = refreshed([2, 3, 4, n_frames - 1], [0, 0, 0, 1])
    np.testing.assert_array_equal(often.labels, once.labels)
    assert often.n_segments == 2
