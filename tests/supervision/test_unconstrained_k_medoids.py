"""Unconstrained k-medoids, the comparison's plain algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from uvast.supervision import unconstrained_k_medoids


def test_frames_join_the_nearest_medoid_wherever_they_are():
    features = np.array([[0.0], [9.0], [0.1], [9.1], [0.0]])
    found = unconstrained_k_medoids(features, [0, 1])
    assert found.assignment.tolist() == [0, 1, 0, 1, 0]
    assert found.medoids.tolist() == [0, 1]
    assert found.cost == pytest.approx(0.2)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_result_is_a_fixed_point(metric):
    features = np.random.default_rng(0).normal(size=(80, 3))
    found = unconstrained_k_medoids(features, [3, 20, 41, 70], metric)
    if metric == "cosine":
        features = features / np.linalg.norm(features, axis=1, keepdims=True)
        table = 1 - features @ features.T
    else:
        table = np.linalg.norm(features[:, None] - features, axis=-1)
    assert found.assignment.tolist() == table[found.medoids].argmin(0).tolist()
    for cluster, medoid in enumerate(found.medoids):
        members = np.flatnonzero(found.assignment == cluster)
        assert medoid == members[table[np.ix_(members, members)].sum(1).argmin()]
    assert found.cost == pytest.approx(table[found.medoids].min(0).sum())
    assert 1 < found.iterations < 300


def test_a_medoid_that_copies_another_keeps_no_frames():
    found = unconstrained_k_medoids(np.zeros((5, 2)), [1, 3])
    assert found.assignment.tolist() == [0] * 5
    assert found.medoids.tolist() == [0, 3]
