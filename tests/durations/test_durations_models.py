"""Length models, transitions, the objective, and the compiler."""

from __future__ import annotations

import numpy as np
import pytest
from durations_reference import random_frames
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from uvast.durations import LengthModel, Transitions, segmentation_score
from uvast.durations.length_model import MAX_SHAPE, gamma_shape
from uvast.errors import InputError
from uvast.kernels import kernel
from uvast.segments import Segmentation

FRAMES = np.arange(1, 60)


@pytest.mark.parametrize("mean", [0.4, 3.0, 17.3])
def test_poisson_scores_are_scipys_shifted_to_the_mode(mean):
    scores = LengthModel.poisson([mean]).score(0, FRAMES)
    expected = stats.poisson.logpmf(FRAMES, mean) - stats.poisson.logpmf(int(mean), mean)
    np.testing.assert_allclose(scores, expected, atol=1e-10)


@pytest.mark.parametrize(("mean", "shape"), [(3.0, 1.5), (17.3, 40.0), (12.0, 2.0)])
def test_gamma_scores_are_scipys_shifted_to_the_mode(mean, shape):
    scores = LengthModel("gamma", (mean,), (shape,)).score(0, FRAMES)
    density = stats.gamma(shape, scale=mean / shape)
    mode = (shape - 1) * mean / shape
    np.testing.assert_allclose(scores, density.logpdf(FRAMES) - density.logpdf(mode), atol=1e-10)


def test_gamma_of_shape_one_is_exponential():
    scores = LengthModel("gamma", (4.0,), (1.0,)).score(0, FRAMES)
    np.testing.assert_allclose(scores, -FRAMES / 4)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["poisson", "gamma", "none"]), st.floats(0.3, 500), st.floats(1, MAX_SHAPE))
def test_every_score_is_concave_and_at_most_0(kind, mean, shape):
    model = LengthModel(kind, (mean,), (shape,) if kind == "gamma" else ())
    scores = model.scores(300)
    assert scores.shape == (1, 301)
    assert np.isneginf(scores[0, 0])
    assert (np.diff(scores[0, 1:], n=2) <= 1e-9).all()
    assert scores.max() <= 1e-9


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1.2, 60), st.integers(5, 200))
def test_gamma_fit_agrees_with_scipy(seed, shape, n_segments):
    lengths = 1 + np.random.default_rng(seed).gamma(shape, 100 / shape, n_segments)
    expected, _, scale = stats.gamma.fit(lengths, floc=0)
    assert gamma_shape(lengths) == pytest.approx(np.clip(expected, 1, MAX_SHAPE), rel=1e-5)
    assert expected * scale == pytest.approx(lengths.mean(), rel=1e-6)


def test_gamma_shape_stays_within_its_limits():
    assert gamma_shape([7, 7, 7]) == MAX_SHAPE
    assert gamma_shape([1]) == MAX_SHAPE
    assert gamma_shape([1, 1, 1, 1, 10_000]) == 1


def test_fit_by_class_with_the_pooled_fit_where_segments_are_few():
    first = Segmentation(np.array([0, 1, 0, 2]), np.array([10, 4, 20, 6]))
    second = Segmentation(np.array([0, 0, 1]), np.array([5, 25, 8]))  # 0 0 is one segment of 30
    third = Segmentation(np.array([0, 1, 0]), np.array([15, 9, 25]))
    videos, lengths = [first, second, third], np.array([10, 4, 20, 6, 30, 8, 15, 9, 25])
    poisson = LengthModel.fit(videos, 4, "poisson")
    assert poisson.means == pytest.approx((20.0, 7.0, 6.0, lengths.mean()))
    gamma = LengthModel.fit(videos, 4, "gamma")
    assert gamma.means == pytest.approx((20.0, *[lengths.mean()] * 3))
    shapes = (gamma_shape([10, 20, 30, 15, 25]), *[gamma_shape(lengths)] * 3)
    assert gamma.shapes == pytest.approx(shapes)
    assert LengthModel.fit(iter([first]), 3, "none").score(1, 5) == 0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: LengthModel("normal", (1.0,)), "choose from poisson, gamma, none"),
        (lambda: LengthModel("poisson", ()), "positive"),
        (lambda: LengthModel("poisson", (np.nan,)), "positive"),
        (lambda: LengthModel("gamma", (1.0,)), "0 shapes for 1 classes"),
        (lambda: LengthModel("gamma", (1.0,), (0.5,)), "not between 1 and 100"),
        (lambda: LengthModel.poisson([[1.0]]), "one for each class"),
        (lambda: LengthModel.fit([], 3), "no training segments"),
        (lambda: LengthModel.fit([Segmentation([3], [1])], 3), "outside of 0..2"),
        (lambda: Transitions(np.zeros(2), np.zeros((2, 2))), "to itself"),
        (lambda: Transitions(np.zeros(2), np.zeros((3, 2))), "shapes"),
        (lambda: Transitions(np.array([np.nan]), np.array([[-np.inf]])), "NaN"),
        (lambda: Transitions(np.array([np.inf]), np.array([[-np.inf]])), "infinite"),
        (lambda: Transitions(np.array([-np.inf]), np.array([[-np.inf]])), "no first action"),
        (lambda: Transitions.fit([[0, 2]], 2), "outside of 0..1"),
    ],
)
def test_refuses_what_cannot_be(model, message):
    with pytest.raises(InputError, match=message):
        model()


def test_transitions_are_smoothed_shares_of_counts():
    first = Segmentation(np.array([0, 0, 1, 2]), np.array([1, 1, 1, 1]))
    model = Transitions.fit([first, [0, 2], [], [1]], 3)
    np.testing.assert_allclose(np.exp(model.initial), np.array([2.5, 1.5, 0.5]) / 4.5)
    counts = np.array([[0, 1.5, 1.5], [0.5, 0, 1.5], [0.5, 0.5, 0]])
    np.testing.assert_allclose(np.exp(model.bigram), counts / counts.sum(1, keepdims=True))
    expected = np.log(2.5 / 4.5) + np.log(0.5) + np.log(0.75)
    assert model.score([0, 1, 2]) == pytest.approx(expected)
    assert model.score([0, 0]) == -np.inf
    with pytest.raises(InputError, match="at least one action"):
        model.score([])
    with pytest.raises(InputError, match="action 5 in a transcript, not one of 3 classes"):
        model.score([5])


def test_uniform_transitions():
    model = Transitions.fit([], 4)
    np.testing.assert_allclose(model.initial, np.log(1 / 4))
    np.testing.assert_allclose(model.bigram[~np.eye(4, dtype=bool)], np.log(1 / 3))


def test_segmentation_score_by_hand():
    frames = random_frames(np.random.default_rng(0), 6, 3)
    lengths = LengthModel.poisson([2.0, 3.0, 4.0])
    transitions = Transitions.fit([], 3)
    segmentation = Segmentation(np.array([2, 0]), np.array([2, 4]))
    expected = 0.5 * (frames[:2, 2].sum() + frames[2:, 0].sum())
    expected += lengths.score(2, 2) + lengths.score(0, 4)
    alone = segmentation_score(frames, segmentation, lengths, alpha=0.5)
    assert alone == pytest.approx(expected)
    both = segmentation_score(frames, segmentation, lengths, transitions, alpha=0.5)
    assert both == pytest.approx(expected + np.log(1 / 3) + np.log(1 / 2))
    with pytest.raises(InputError, match="6 frames for 5"):
        segmentation_score(frames[:5], segmentation, lengths, alpha=0.5)
    for other in (LengthModel.poisson([1, 2]), LengthModel.none(2)):
        with pytest.raises(InputError, match="a length model of 2 classes for frames of 3"):
            segmentation_score(frames, segmentation, other, alpha=0.5)
    with pytest.raises(InputError, match="a transition model of 2 classes for frames of 3"):
        segmentation_score(frames, segmentation, lengths, Transitions.fit([], 2), alpha=0.5)


def test_a_kernel_compiles_where_no_cache_can_be_written():
    namespace = {}
    exec("def double(x):\n    return 2 * x\n", namespace)  # no file, so no cache
    assert kernel(namespace["double"])(21) == 42
