"""Constrained k-medoids: against the literal algorithm, planted answers, corner cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_k_medoids import plain_k_medoids

from uvast.errors import InputError
from uvast.segments import midpoint_durations
from uvast.supervision import constrained_k_medoids, distances

METRICS = ("euclidean", "cosine")


@st.composite
def videos(draw):
    """Small videos with their timestamps; whole numbers make many ties, duplicates too."""
    n_frames = draw(st.integers(1, 24))
    n_features = draw(st.integers(1, 3))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["normal", "walk", "few values"]))
    features = generator.normal(size=(n_frames, n_features))
    if kind == "walk":
        features = np.cumsum(features, axis=0) + 50
    elif kind == "few values":
        features = generator.integers(-1, 3, size=(n_frames, 1)).astype(float)
    frames = draw(st.sets(st.integers(0, n_frames - 1), min_size=1, max_size=8))
    return features, sorted(frames)


@given(videos(), st.sampled_from(METRICS), st.sampled_from([0.0, 0.25, 1.0]))
@settings(max_examples=150, deadline=None)
def test_it_equals_the_literal_algorithm(video, metric, prior):
    features, timestamps = video
    durations, medoids, iterations, cost = plain_k_medoids(features, timestamps, metric, prior)
    found = constrained_k_medoids(features, timestamps, metric, prior)
    assert found.durations.tolist() == durations
    assert found.medoids.tolist() == medoids
    assert found.iterations == iterations
    assert found.cost == pytest.approx(cost, abs=1e-6)


@given(videos(), st.sampled_from(METRICS))
@settings(max_examples=60, deadline=None)
def test_the_cost_never_rises(video, metric):
    features, timestamps = video
    results = [constrained_k_medoids(features, timestamps, metric, max_iterations=1)]
    while results[-1].iterations == len(results):
        results.append(
            constrained_k_medoids(features, timestamps, metric, max_iterations=len(results) + 1)
        )
    costs = np.array([result.cost for result in results])
    assert (np.diff(costs) <= 1e-7).all()
    assert len(costs) < 300


@given(videos(), st.sampled_from(METRICS), st.sampled_from([0.0, 0.25]))
@settings(max_examples=60, deadline=None)
def test_every_timestamp_and_medoid_stays_in_its_segment(video, metric, prior):
    features, timestamps = video
    found = constrained_k_medoids(features, timestamps, metric, prior)
    ends = np.cumsum(found.durations)
    assert ends[-1] == len(features)
    for frames in (np.array(timestamps), found.medoids):
        assert np.searchsorted(ends, frames, side="right").tolist() == list(range(len(timestamps)))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_rows", [3, 64, 512])
def test_totals_are_sums_over_blocks_of_any_size(monkeypatch, metric, n_rows):
    monkeypatch.setattr(distances, "_N_ROWS", n_rows)
    features = np.cumsum(np.random.default_rng(0).normal(size=(90, 4)), axis=0)
    measure = distances.metric_of(features, metric)
    table = np.stack([measure.from_frame(frame, slice(0, 90)) for frame in range(90)])
    np.testing.assert_allclose(measure.totals(slice(0, 90)), table.sum(1), rtol=1e-9, atol=1e-9)
    some = np.array([2, 3, 30, 31, 89])
    np.testing.assert_allclose(
        measure.totals(some), table[np.ix_(some, some)].sum(1), rtol=1e-9, atol=1e-9
    )
    old = slice(20, 60)
    for start, stop in ((20, 61), (10, 70), (25, 50), (10, 50), (25, 75), (55, 90), (20, 60)):
        new = slice(start, stop)
        np.testing.assert_allclose(
            measure.moved_totals(measure.totals(old), old, new),
            table[new, new].sum(1),
            rtol=1e-9,
            atol=1e-9,
        )


@pytest.mark.parametrize("metric", METRICS)
def test_a_planted_segmentation_is_found(metric):
    generator = np.random.default_rng(1)
    durations = generator.integers(2, 90, size=12)
    means = generator.normal(size=(12, 16))
    features = np.repeat(means, durations, axis=0) + 0.05 * generator.normal(
        size=(durations.sum(), 16)
    )
    timestamps = np.cumsum(durations) - durations + generator.integers(0, durations)
    found = constrained_k_medoids(features.astype(np.float32), timestamps, metric)
    assert found.durations.tolist() == durations.tolist()


def test_one_timestamp_takes_the_whole_video():
    found = constrained_k_medoids([[0.0], [1.0], [2.0], [9.0]], [3])
    assert found.durations.tolist() == [4]
    assert found.medoids.tolist() == [1]
    assert found.cost == pytest.approx(1 + 0 + 1 + 8)


def test_adjacent_timestamps_are_cut_between():
    found = constrained_k_medoids(np.arange(6.0)[:, None], [2, 3])
    assert found.durations.tolist() == [3, 3]


def test_timestamps_at_both_ends():
    found = constrained_k_medoids([[0.0], [0.0], [0.0], [7.0], [7.0]], [0, 4])
    assert found.durations.tolist() == [3, 2]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_constant_features_cut_first_without_a_prior_and_half_way_with_one(metric, value):
    features = np.full((40, 5), value)
    first = constrained_k_medoids(features, [4, 15, 30], metric)
    assert first.durations.tolist() == [5, 11, 24]
    assert first.medoids.tolist() == [0, 5, 16]
    # medoids are the first frames of their segments, and cuts lie between medoids
    middle = constrained_k_medoids(features, [4, 15, 30], metric, prior=0.25, max_iterations=1)
    assert middle.durations.tolist() == midpoint_durations([4, 15, 30], 40).tolist()


def test_a_strong_prior_is_the_midpoint():
    features = np.random.default_rng(2).normal(size=(40, 3))
    found = constrained_k_medoids(features, [0, 11, 31], prior=1e6)
    assert found.durations.tolist() == [6, 15, 19]


def test_a_large_offset_does_not_hide_the_boundary():
    features = 1e6 + np.repeat([[0.0], [0.01]], [10, 20], axis=0)
    assert constrained_k_medoids(features, [2, 25]).durations.tolist() == [10, 20]


def test_features_are_not_changed():
    features = np.random.default_rng(3).normal(size=(12, 3))
    before = features.copy()
    for metric in METRICS:
        constrained_k_medoids(features, [1, 8], metric)
    assert np.array_equal(features, before)


@pytest.mark.parametrize(
    ("features", "timestamps", "options"),
    [
        (np.zeros((5, 2)), [3, 3], {}),
        (np.zeros((5, 2)), [5], {}),
        (np.zeros((5, 2)), [], {}),
        (np.zeros(5), [1], {}),
        (np.zeros((0, 2)), [0], {}),
        (np.full((5, 2), np.nan), [1], {}),
        (np.zeros((5, 2)), [1], {"metric": "manhattan"}),
        (np.zeros((5, 2)), [1], {"prior": -1.0}),
        (np.zeros((5, 2)), [1], {"max_iterations": 0}),
    ],
)
def test_what_cannot_be_right_is_an_error(features, timestamps, options):
    with pytest.raises(InputError):
        constrained_k_medoids(features, timestamps, **options)
