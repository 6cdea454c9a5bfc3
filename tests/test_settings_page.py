"""docs/settings.md has every setting with its default and meaning, in the order of the config."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from pathlib import Path

import pytest

from uvast.config import Config, parse_config, parse_setting

PAGE = (Path(__file__).parents[1] / "docs" / "settings.md").read_text("utf-8")
SECTIONS = Config().as_dict()


def rows(section: str) -> dict[str, object]:
    """Name to default, as the page's table of a section has them."""
    table = PAGE.partition(f"## [{section}]\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| `(.+?)` \| .+ \|$", table, re.MULTILINE)
    return {name: parse_setting(f"{section}.{name}={value}")[1] for name, value in found}


def test_the_page_has_the_sections_of_the_config():
    assert re.findall(r"^## \[(\w+)\]$", PAGE, re.MULTILINE) == list(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_names_and_defaults_are_those_of_the_config(section):
    assert list(rows(section)) == list(SECTIONS[section])
    assert parse_config({section: rows(section)}, where="docs/settings.md") == Config()


@pytest.mark.parametrize("section", SECTIONS)
def test_meanings_are_those_that_stand_in_the_code(section):
    """A link of the page is plain text in the code."""
    (record,) = ast.parse(inspect.getsource(type(getattr(Config(), section)))).body
    assert isinstance(record, ast.ClassDef)
    said = {}
    for line, after in pairwise(record.body):
        if isinstance(line, ast.AnnAssign) and isinstance(after, ast.Expr):
            said[line.target.id] = " ".join(after.value.value.split())
    table = PAGE.partition(f"## [{section}]\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| `.+?` \| (.+) \|$", table, re.MULTILINE)
    assert {name: re.sub(r"\[(.+?)\]\(.+?\)", r"\1", text) for name, text in found} == said
