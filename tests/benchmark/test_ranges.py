"""Ranges of a sweep, as they are typed."""

from __future__ import annotations

import pytest

from uvast.benchmark.ranges import Range, parse_range
from uvast.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train.learning_rate=1e-4..1e-2:log", Range("train.learning_rate", (), 1e-4, 1e-2, True)),
        ("train.epochs=32..64", Range("train.epochs", (), 32, 64)),
        ("train.averaging=0.5..0.99", Range("train.averaging", (), 0.5, 0.99)),
        ("loss.frame=true,false", Range("loss.frame", (True, False))),
        ("decode.transcript=decoder,best", Range("decode.transcript", ("decoder", "best"))),
        ("model.width=32,64", Range("model.width", (32, 64))),
    ],
)
def test_ranges_are_read(text: str, expected: Range) -> None:
    found = parse_range(text)
    assert found == expected
    assert parse_range(found.as_text()).as_text() == found.as_text()
    assert type(found.low) is type(expected.low)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model.width", "needs at least two different values"),
        ("model.width=8", "needs at least two different values"),
        ("model.width=8,8", "needs at least two different values"),
        ("model.width=9..8", "starts at or above its end"),
        ("train.learning_rate=0..1:log", "has to start above 0 for :log"),
        ("train.learning_rate=0..inf", "not numbers"),
        ("decode.transcript=a..b", "not numbers"),
        ("width=8,9", "not of the form section.name=value"),
    ],
)
def test_wrong_ranges_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_range(text)
