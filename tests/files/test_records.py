"""JSON, TOML and CSV come in through a record, or not at all."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from uvast import files
from uvast.errors import ConfigError, CorruptFileError, UvastError


@dataclass(frozen=True)
class Inner:
    least: Annotated[float, Field(gt=0, lt=10)] = 1.0


@dataclass(frozen=True)
class Hashed:
    checkpoint: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Row:
    epoch: Annotated[int, Field(ge=1, le=100)]
    names: tuple[str, ...] = ()
    kind: Literal["x", "y"] = "x"
    inner: Inner = Inner()
    place: Path | None = None


def test_a_record_comes_back_from_json_and_toml(tmp_path):
    expected = Row(3, ("ä", "b"), "y", Inner(2.0), Path("/a"))
    value = {"epoch": 3, "names": ["ä", "b"], "kind": "y", "inner": {"least": 2}, "place": "/a"}
    files.write_json(tmp_path / "a.json", {**value, "new": 1})
    assert files.read_record(tmp_path / "a.json", Row) == expected
    text = 'epoch = 3\nnames = ["ä", "b"]\nkind = "y"\nplace = "/a"\n[inner]\nleast = 2\n'
    (tmp_path / "a.toml").write_text(text)
    assert files.read_record(tmp_path / "a.toml", Row) == expected
    files.write_json(tmp_path / "rows.json", [{"epoch": 1}, {"epoch": 2}])
    assert files.read_record(tmp_path / "rows.json", list[Row]) == [Row(1), Row(2)]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({}, "epoch is missing"),
        ([], "its content is [], not a table of values"),
        ({"epoch": "3"}, "epoch is '3', not a whole number"),
        ({"epoch": True}, "epoch is True, not a whole number"),
        ({"epoch": 1.5}, "epoch is 1.5, not a whole number"),
        ({"epoch": 0}, "epoch is 0, below 1"),
        ({"epoch": 10**9}, "epoch is 1000000000, above 100"),
        ({"epoch": 1, "names": "a"}, "names is 'a', not a list"),
        ({"epoch": 1, "names": [1]}, "names.0 is 1, not text"),
        ({"epoch": 1, "kind": "z"}, "kind is 'z', not 'x' or 'y'"),
        ({"epoch": 1, "inner": {"least": 0}}, "inner.least is 0, not above 0"),
        ({"epoch": 1, "inner": {"least": 10.5}}, "inner.least is 10.5, not below 10"),
    ],
)
def test_what_does_not_fit_names_the_field_and_the_value(tmp_path, value, sentence):
    path = tmp_path / "a.json"
    files.write_json(path, value)
    with pytest.raises(ConfigError) as caught:
        files.read_record(path, Row, error=ConfigError, remedy="train again")
    assert str(caught.value) == f"{path}: {sentence}; train again"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": {"v": 1, "w": 2, "v": 3}}', "key 'v' appears more than once"),
        ("[" * 10**6, "is JSON nested too deeply"),
        ("9" * 5000, "has a number with 5000 digits"),
        ('{"a": "\\ud83d"}', "holds half of a character (a lone surrogate)"),
        ('{"a": 1,\n}', "is not valid JSON (line 2: Expecting property name enclosed in double "
         "quotes)"),
    ],
)  # fmt: skip
def test_json_that_python_would_read_wrongly_or_not_at_all(tmp_path, text, sentence):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(CorruptFileError) as caught:
        files.read_json(path)
    assert str(caught.value) == f"{path}: {sentence}; restore it or write it again"


def test_whole_characters_outside_of_the_basic_plane_are_fine(tmp_path):
    (tmp_path / "a.json").write_text('"\\ud83d\\ude00"')
    assert files.read_json(tmp_path / "a.json") == "😀"


def test_forty_thousand_keys_are_no_more_work_than_that(tmp_path):
    keys = ", ".join(f'"{number}": 0' for number in range(40_000))
    (tmp_path / "a.json").write_text(f'{{{keys}, "39999": 0}}')
    start = time.perf_counter()
    with pytest.raises(CorruptFileError, match="key '39999' appears more than once"):
        files.read_json(tmp_path / "a.json")
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a = " + "[" * 10**4, "is TOML nested too deeply"),
        (".".join("a" * 100) + " = 1", "is TOML nested too deeply"),
        ("a = " + "9" * 5000, "has a number with thousands of digits"),
        ("a = ", "is not valid TOML (Invalid value (at end of document))"),
        ("#" * 300_000, "is larger than 256 kB"),
    ],
)
def test_toml_that_goes_too_far(tmp_path, text, sentence):
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(CorruptFileError) as caught:
        files.read_toml(path)
    assert str(caught.value).startswith(f"{path}: {sentence};")


def test_rows_of_a_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("epoch,kind\n1,y\n2,\n\n3")
    assert files.read_rows(path, Row) == [Row(1, kind="y"), Row(2), Row(3)]
    path.write_text("a,b\n1,\n2,3.5\n")
    assert files.read_rows(path, dict[str, float]) == [{"a": 1.0}, {"a": 2.0, "b": 3.5}]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("epoch,kind\n1,x\nmany,x\n", ", line 3: epoch is 'many', not a whole number"),
        ("epoch,kind\n1,x,y\n", ", line 2: has more cells than the header"),
        ('epoch,kind\n"1\n', ": is not valid CSV (unexpected end of data)"),
    ],
)
def test_a_faulty_row_is_named_by_its_line(tmp_path, text, sentence):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(CorruptFileError) as caught:
        files.read_rows(path, Row)
    assert str(caught.value) == f"{path}{sentence}; restore it or write it again"


texts = st.text("xy\n\x1b\u202e\ud83d")
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=5,
)


@given(value=st.dictionaries(st.sampled_from(["epoch", "names", "kind", "inner"]), plain))
def test_any_json_is_a_record_or_one_sentence(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(value))
    try:
        found = files.read_record(path, Row)
    except UvastError as error:
        sentence = str(error)
        assert sentence.isprintable() and len(sentence) < 1900  # noqa: PT018
    else:
        assert 1 <= found.epoch <= 100


def test_a_pattern_in_a_sentence_keeps_its_braces(tmp_path):
    (tmp_path / "a.json").write_text('{"checkpoint": "b"}')
    with pytest.raises(CorruptFileError, match=r"checkpoint is 'b', .*\{64\}"):
        files.read_record(tmp_path / "a.json", Hashed)
