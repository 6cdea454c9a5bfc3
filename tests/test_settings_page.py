"""docs/settings.md has every setting with its default, in the order of the config."""

from __future__ import annotations

import re
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
