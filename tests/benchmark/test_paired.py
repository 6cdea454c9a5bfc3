import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from uvast.benchmark.paired import mean_difference

NUMBERS = st.lists(st.integers(-50, 50), min_size=2, max_size=12).filter(lambda x: len(set(x)) > 1)


@settings(deadline=None)  # a busy machine
@given(NUMBERS)
def test_the_interval_is_students(values: list[int]) -> None:
    found = mean_difference([values])
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found.interval == pytest.approx((expected.low, expected.high))
    assert found.is_clear == (expected.low > 0 or expected.high < 0)
    assert found.n_pairs == len(values)


@settings(deadline=None)  # a busy machine
@given(NUMBERS, NUMBERS)
def test_datasets_count_alike_and_have_variances_of_their_own(
    one: list[int], two: list[int]
) -> None:
    found = mean_difference([one, two])
    welch = stats.ttest_ind(one, [-x for x in two], equal_var=False).confidence_interval(0.95)
    assert found.interval == pytest.approx((welch.low / 2, welch.high / 2))
    assert found.mean == pytest.approx((sum(one) / len(one) + sum(two) / len(two)) / 2)
    assert found.n_pairs == len(one) + len(two)


def test_one_pair_has_no_interval_and_equal_ones_a_point() -> None:
    alone = mean_difference([[3.0]])
    assert (alone.mean, alone.interval, alone.is_clear) == (3.0, None, False)
    assert mean_difference([[1.0, 2.0], [3.0]]).interval is None
    nothing = mean_difference([[0.0, 0.0, 0.0]])
    assert (nothing.interval, nothing.is_clear) == ((0.0, 0.0), False)
    assert mean_difference([[2.0, 2.0]]).is_clear
    assert math.isclose(mean_difference([[2.0, 2.0]]).mean, 2.0)
