"""The tree of errors and their sentences."""

from __future__ import annotations

import os
import pickle
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast import errors


def tree(kind: type, depth: int = 0) -> list[str]:
    lines = ["  " * depth + kind.__name__]
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            lines += tree(child, depth + 1)
    return lines


def test_the_docstring_draws_the_tree():
    drawn = [
        line.replace("│", " ").replace("├──", "").replace("└──", "").split()[0]
        for line in (errors.__doc__ or "").splitlines()
        if line.startswith("    ")
    ]
    assert drawn == [line.strip() for line in tree(errors.UvastError)]


@pytest.mark.parametrize(
    ("where", "remedy", "sentence"),
    [
        (None, None, "what"),
        ("a.txt", None, "a.txt: what"),
        (None, "cure", "what; cure"),
        (Path("a.txt"), "cure", "a.txt: what; cure"),
    ],
)
def test_an_error_is_one_sentence(where, remedy, sentence):
    assert str(errors.UvastError("what", where=where, remedy=remedy)) == sentence


def test_errors_cross_process_borders_whole():
    error = errors.LabelError("what", where=Path("a.txt"), remedy="cure")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is errors.LabelError
    assert (str(copy), copy.what, copy.where, copy.remedy) == (
        "a.txt: what; cure",
        "what",
        "a.txt",
        "cure",
    )


def test_input_errors_are_value_errors():
    with pytest.raises(ValueError, match="what"):
        raise errors.InputError("what")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Grüße 日本\u3000語 a\u200cb", "Grüße 日本\u3000語 a\u200cb"),
        ("\x1b[2Jred\x07\n", "\\x1b[2Jred\\x07\\n"),
        ("a\u202eb\u2028c", "a\\u202eb\\u2028c"),
        (os.fsdecode(b"caf\xe9.npy"), "caf\\xe9.npy"),
        ("a\ud83d", "a\\ud83d"),
        ("x" * 10_000, "x" * 99 + "…" + "x" * 99),
    ],
)
def test_names_are_safe_to_print(text, shown):
    assert errors.printable(text) == shown
    assert errors.printable(shown) == shown


@given(st.text("ab…\x1b\n\u202e\udcff", max_size=60), st.integers(9, 20))
def test_what_is_printable_is_short_and_stays_as_it_is(text, longest):
    shown = errors.printable(text, longest)
    assert len(shown) <= longest
    assert shown.isprintable()
    assert errors.printable(shown, longest) == shown


def test_an_error_is_short_and_safe_whatever_it_repeats():
    name = "v\x1b\n" * 100_000
    error = errors.DataError(f"has no video {name} here", where=name, remedy=f"rename {name} now")
    assert str(error).isprintable()
    assert len(str(error)) < 1900
    assert error.what.startswith("has no video v\\x1b\\n")
    assert error.what.endswith(" here")


def test_a_command_in_a_sentence_can_be_copied() -> None:
    text = errors.command("train", Path("my videos/run 1"), "--split", 1)
    assert shlex.split(text) == ["uvast", "train", "my videos/run 1", "--split", "1"]
    assert errors.command("extract", Path("project")) == "uvast extract project"
