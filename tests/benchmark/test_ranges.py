"""Ranges of a sweep, as they are typed."""

from __future__ import annotations

import pytest

from uvast.benchmark.ranges import Range, parse_range, parse_ranges, setting_values
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
        ("model.dilations=[1,2], [3]", Range("model.dilations", ("[1, 2]", "[3]"))),
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
        ("width=8,9", "--set-range: 'width=8,9' is not of the form section.name=value; write for"),
        ("width=8..9", "--set-range: 'width=8..9' is not of the form section.name=value"),
    ],
)
def test_wrong_ranges_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_range(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.width=32,64", (Range("model.width", (32, 64)),)),
        ("train.epochs=2..4", (Range("train.epochs", (), 2, 4),)),
        (
            "model.dilations=[1..4, 3, 2..64:log]",
            (
                Range("model.dilations[0]", (), 1, 4),
                Range("model.dilations[1]", (3,)),
                Range("model.dilations[2]", (), 2, 64, True),
            ),
        ),
        (
            "model.dilations = [1..512:log] * 12",
            tuple(Range(f"model.dilations[{place}]", (), 1, 512, True) for place in range(12)),
        ),
        ("model.dilations=[1,2],[1,3]", (Range("model.dilations", ("[1, 2]", "[1, 3]")),)),
    ],
)
def test_each_number_of_a_list_has_a_range(text: str, expected: tuple[Range, ...]) -> None:
    found = parse_ranges(text)
    assert found == expected
    assert {one.setting for one in found} == {text.partition("=")[0].strip()}


def test_what_was_chosen_becomes_whole_settings() -> None:
    places = [*range(9, 12), *range(9)]  # a journal has an order of its own
    entries = {f"model.dilations[{place}]": 100 + place for place in places}
    found = setting_values({"train.epochs": 3, **entries, "decode.transcript": "best"})
    assert found == {
        "train.epochs": 3,
        "decode.transcript": "best",
        "model.dilations": [100 + place for place in range(12)],
    }
    assert setting_values({"model.dilations": "[1, 3]"}) == {"model.dilations": [1, 3]}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model.dilations=[4..1]", "starts at or above its end"),
        ("model.dilations=[1..a]", "not numbers"),
        ("model.dilations=[1..2] * 100000", "is a list of more than 1000 numbers"),
        ("model.dilations=[1,2]", "needs at least two different values"),
        ("dilations=[1,1..2]", r"--set-range: 'dilations=\[1,1..2\]' is not of the form section"),
    ],
)
def test_wrong_lists_are_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_ranges(text)
