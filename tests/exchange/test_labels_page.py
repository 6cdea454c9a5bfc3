"""docs/labels.md has every format with what it holds, and commands that name formats."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from uvast.exchange import FORMATS
from uvast.exchange.formats import Held

PAGE = (Path(__file__).parents[2] / "docs" / "labels.md").read_text("utf-8")


def test_the_table_is_that_of_the_code():
    rows = [line.strip("| ").split("|") for line in PAGE.splitlines() if line.startswith("| `")]
    found = [[cell.strip().strip("`") for cell in row] for row in rows if len(row) >= 4]
    expected = []
    for one in FORMATS:
        holds = ", ".join(what for what in get_args(Held) if what in one.holds)
        use = "read, write" if one.write else "read"
        row = [one.name, one.title, " ".join(one.suffixes), use]
        expected.append([*row, holds] if holds else row)
    assert found == expected


def test_commands_name_formats_that_exist():
    names = {one.name for one in FORMATS}
    used = set(re.findall(r"--(?:to|from) ([a-z][a-z-]+)", PAGE))
    assert used <= names
    assert used
