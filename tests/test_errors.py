"""The tree of errors and their sentences."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

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
