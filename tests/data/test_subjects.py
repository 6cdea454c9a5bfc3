"""Subjects in the names of videos, whatever the expression."""

from __future__ import annotations

import time

import pytest

from uvast.data.subjects import group_by_subject
from uvast.errors import ConfigError, InputError

NAMES = ["P01_a", "P02_a", "P01_b"]


def test_videos_of_one_subject_are_together():
    assert group_by_subject(NAMES, r"^(P\d+)_") == [["P01_a", "P01_b"], ["P02_a"]]
    assert group_by_subject(NAMES, None) == [["P01_a"], ["P02_a"], ["P01_b"]]
    assert group_by_subject(["é_1", "ü_1"], "^(.)") == [["é_1"], ["ü_1"]]


def test_an_expression_that_would_never_end_is_stopped():
    start = time.perf_counter()
    with pytest.raises(InputError) as caught:
        group_by_subject(["a" * 60], "^((?:a+)+)b", seconds=0.5)
    assert time.perf_counter() - start < 10
    assert str(caught.value) == (
        "'^((?:a+)+)b' takes more than 0.5 s to search the names of the videos; "
        "simplify the expression: no repetition inside a repetition"
    )


def test_only_the_search_itself_counts_however_long_a_busy_machine_takes_to_start_it():
    less_than_python_takes_to_start = 0.01
    found = group_by_subject(NAMES, r"^(P\d+)_", seconds=less_than_python_takes_to_start)
    assert found == [["P01_a", "P01_b"], ["P02_a"]]


@pytest.mark.parametrize("pattern", ["(", "P", "(a)(b)", "(a{99999999999})", "(" * 150, "()" * 90])
def test_what_is_no_expression_with_one_group(pattern):
    with pytest.raises(ConfigError, match="not a regular expression with one group"):
        group_by_subject(NAMES, pattern)
