"""Times as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.errors import InputError
from uvast.times import format_time, parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("83.5", 83.5),
        (" 83,5 ", 83.5),
        (".5", 0.5),
        ("7.", 7.0),
        ("1.5e-05", 1.5e-05),
        ("1:23", 83.0),
        ("01:23,5", 83.5),
        ("75:30", 4530.0),
        ("0:01:23.500", 83.5),
        ("100:00:00", 360_000.0),
    ],
)
def test_forms_of_a_time(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "-1",
        "1:60",
        "1:60:00",
        "1:2:3:4",
        "1::2",
        "nan",
        "1e999",
        "٣",
        "9" * 40,
        "1:-2",
        ".",
    ],
)
def test_what_is_no_time(text):
    with pytest.raises(InputError) as caught:
        parse_time(text)
    assert str(caught.value) == (f"{text!r} is not a time; write seconds, mm:ss or hh:mm:ss.mmm")


@pytest.mark.parametrize(
    ("seconds", "decimals", "text"),
    [(83.5, 3, "1:23.500"), (3683.5, 1, "1:01:23.5"), (59.9996, 3, "1:00.000"), (7, 0, "0:07")],
)
def test_times_are_written_as_a_clock_shows_them(seconds, decimals, text):
    assert format_time(seconds, decimals) == text


@given(st.integers(0, 10**9))
def test_a_written_time_is_read_back(milliseconds):
    assert parse_time(format_time(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)


def test_no_time_before_the_start():
    with pytest.raises(InputError, match="times count from 0"):
        format_time(-1)
