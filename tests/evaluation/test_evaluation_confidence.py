"""Whether confidences mean what they say, against a count by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.errors import InputError
from uvast.evaluation import expected_calibration_error, reliability


def by_hand(confidences: list[float], correct: list[bool], n_bins: int) -> float:
    """Bin by bin, as the definition has it."""
    total = 0.0
    for k in range(n_bins):
        low, high = k / n_bins, (k + 1) / n_bins
        mine = [
            (one, right)
            for one, right in zip(confidences, correct, strict=True)
            if low < one * 1.0 <= high or (k == 0 and one == 0)
        ]
        if mine:
            mean = sum(one for one, _ in mine) / len(mine)
            share = sum(right for _, right in mine) / len(mine)
            total += len(mine) / len(confidences) * abs(mean - share)
    return total


# sixteenths of equal bins: no value sits on a border by a rounding error
values = st.integers(0, 64).map(lambda k: k / 64)


@given(st.lists(st.tuples(values, st.booleans()), min_size=1), st.sampled_from([1, 2, 4, 8, 16]))
def test_the_error_is_that_of_the_definition(pairs: list[tuple[float, bool]], n_bins: int) -> None:
    confidences, correct = [one for one, _ in pairs], [right for _, right in pairs]
    found = expected_calibration_error(confidences, correct, n_bins)
    assert math.isclose(found, by_hand(confidences, correct, n_bins), abs_tol=1e-12)


def test_planted_answers() -> None:
    assert expected_calibration_error([0.75] * 4, [True, True, True, False]) == 0
    assert expected_calibration_error([1.0] * 4, [True, False, False, False]) == 0.75
    assert expected_calibration_error([], []) == 0


def test_a_weight_is_so_many_frames() -> None:
    one = reliability([0.9, 0.2], [0.5, 0.0], weights=[2, 3])
    many = reliability([0.9, 0.9, 0.2, 0.2, 0.2], [True, False, False, False, False])
    np.testing.assert_allclose(one.share, many.share)
    np.testing.assert_allclose(one.accuracy, many.accuracy)
    assert one.error == pytest.approx(many.error) == pytest.approx(0.4 * 0.4 + 0.6 * 0.2)


@pytest.mark.parametrize(
    ("confidences", "correct", "n_bins"),
    [([1.1], [True], 15), ([-0.1], [True], 15), ([math.nan], [True], 15), ([0.5], [True], 0)],
)
def test_what_is_no_confidence_is_refused(
    confidences: list[float], correct: list[bool], n_bins: int
) -> None:
    with pytest.raises(InputError):
        expected_calibration_error(confidences, correct, n_bins)


def test_answers_of_another_number_are_refused() -> None:
    with pytest.raises(InputError, match=r"\(2,\) confidences for \(1,\) answers"):
        expected_calibration_error([0.5, 0.5], [True])
