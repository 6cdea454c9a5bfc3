"""Label next: planted segments, and brute force over all orders of asking."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.proposals import (
    LOOK_WIDTH,
    MOST_CANDIDATES,
    Candidates,
    is_known,
    middle_half,
    propose,
    segment_looks,
)


def candidates(
    looks: object, *, known: object = False, doubts: object = 0.5, lengths: object = 10.0
) -> Candidates:
    """Planted ones; a single value is that of all."""
    places = np.array(looks, float)
    n = len(places)
    return Candidates(
        places.reshape(n, -1),
        np.broadcast_to(np.array(doubts, float), n).copy(),
        np.broadcast_to(np.array(lengths, float), n).copy(),
        np.broadcast_to(np.array(known), n).copy(),
    )


def test_a_cluster_that_nobody_named_comes_first() -> None:
    looks = [0.0, 0.1, 0.2, 0.3, 8.0, 8.1, 8.2]
    found = propose(candidates(looks, known=[True] + 6 * [False]), 2)
    assert found[0] == 5  # the middle of the cluster
    assert found[1] in (2, 3)  # and then what is known least


def test_neither_an_outlier_nor_a_sure_crowd_comes_first() -> None:
    crowd, outlier, sure = [0.0, 0.1, 0.2], [50.0], [9.0, 9.1, 9.2, 9.3]
    doubts = 3 * [0.6] + [0.9] + 4 * [0.0]
    assert propose(candidates([*crowd, *outlier, *sure], doubts=doubts)) == [1]


def test_longer_segments_count_for_more() -> None:
    assert propose(candidates([0.0, 5.0, 9.0], lengths=[5, 5, 30])) == [2]


def test_each_is_asked_for_once_and_known_ones_never() -> None:
    known = np.array([True, False, True, False, False])
    found = propose(candidates(np.arange(5.0), known=known), 10)
    assert sorted(found) == [1, 3, 4]


@pytest.mark.parametrize("doubts", [0.0, 1.0])
def test_one_segment(doubts: float) -> None:
    assert propose(candidates([1.0], doubts=doubts), 3) == [0]
    assert propose(candidates([1.0], doubts=doubts, known=True)) == []


def test_without_a_model_nothing_is_proposed() -> None:
    assert propose(Candidates(np.zeros((0, 4)), np.zeros(0), np.zeros(0), np.zeros(0, bool))) == []


def test_where_all_look_the_same_the_most_doubt_decides() -> None:
    assert propose(candidates(np.zeros(4), doubts=[0.1, 0.4, 0.3, 0.2]), 2) == [1, 2]


def test_equal_looks_tell_all_of_each_other_and_little_of_the_rest() -> None:
    looks = [0.0, 0.0, 0.0, 0.0, 0.0, 7.0]
    assert sorted(propose(candidates(looks, doubts=[0.1] * 5 + [0.4]), 2)) in ([0, 5], [4, 5])
    assert propose(candidates(looks, known=[True] + 5 * [False])) == [5]


def test_of_very_many_the_doubtful_are_compared() -> None:
    n = 3 * MOST_CANDIDATES
    doubts = np.full(n, 0.01)
    doubts[n - 2] = 1.0
    found = propose(candidates(np.arange(n) % 7, doubts=doubts), 1)
    assert len(found) == 1
    assert found[0] % 7 == (n - 2) % 7


@given(st.integers(0, 2**32 - 1))
def test_the_first_is_the_best_by_brute_force_and_the_second_nearly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = candidates(
        rng.normal(size=(6, 2)),
        doubts=rng.random(6),
        lengths=rng.integers(1, 9, 6),
        known=rng.random(6) < 0.3,
    )
    squares = ((one.looks[:, None] - one.looks[None]) ** 2).sum(-1)
    alike = np.exp(-squares / (0.64 * np.median(squares[squares > 0])))

    def settled(places: tuple[int, ...]) -> float:
        told = alike[:, [*np.flatnonzero(one.known), *places]].max(axis=1, initial=0.0)
        return float((one.doubts * one.lengths * told).sum())

    left = np.flatnonzero(~one.known).tolist()
    found = propose(one, 2)
    assert len(found) == min(2, len(left))
    if len(left) >= 2:
        before = settled(())
        assert settled((found[0],)) == pytest.approx(max(settled((place,)) for place in left))
        best = max(settled(pair) for pair in permutations(left, 2)) - before
        # greedy choices of such a gain reach 1 - (1 - 1/2)² of the best
        assert settled((found[0], found[1])) - before >= 0.75 * best - 1e-9


def test_an_answer_tells_of_the_middle_half() -> None:
    assert middle_half(2.0, 10.0) == (4.0, 6.0, 8.0)


def test_a_segment_is_known_by_its_middle() -> None:
    labelled = [(2.0, 4.0), (6.0, 7.0)]
    segments = [(0, 3), (0, 4), (3, 5), (4, 6), (6, 7), (6, 9)]
    assert is_known(segments, labelled).tolist() == [False, True, False, False, True, False]
    assert is_known(segments, ()).tolist() == 6 * [False]
    assert is_known([], labelled).tolist() == []
    stretch = middle_half(1.3, 2.9)
    assert is_known([(1.3, 2.9)], [(stretch.start, stretch.end)]).all()


def test_looks_keep_distances_in_few_numbers() -> None:
    means = np.random.default_rng(0).normal(size=(20, 500))
    looks = segment_looks(means)
    assert looks.shape == (20, LOOK_WIDTH)
    wide, narrow = (np.linalg.norm(one[:, None] - one[None], axis=-1) for one in (means, looks))
    upper = np.triu_indices(20, 1)
    ratios = narrow[upper] / wide[upper]
    assert ratios.mean() == pytest.approx(1, abs=0.1)
    assert ratios.std() < 0.2
    assert (segment_looks(means[:, :5]) == means[:, :5]).all()
