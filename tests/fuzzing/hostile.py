"""Values that no honest file holds, as JSON, as TOML and as bare text."""

from __future__ import annotations

import json

DEEP = 100_000
"""Levels of nesting."""

MANY = 40_000
"""Keys, digits or columns."""

LONG = "n" * 200_000

NUMBERS = (
    "-1",
    "0",
    "1",
    "2",
    "70",
    "100000",
    "200000",
    "60000000",
    str(2**31),
    str(2**63),
    str(-(2**63) - 1),
    "1" + "0" * 400,
    "7" * 5_000,
    "0.5",
    "1e308",
    "-1e-320",
    "1e400",
)

TEXTS = (
    "",
    " ",
    "text",
    "1",
    "true",
    "../../../etc/passwd",
    "/dev/zero",
    ".",
    "\x00",
    "\x1b[31mred\x1b[0m\x07",
    "a\nb\r\nc",
    "\u202egnp.\u2066",
    "\u009b31m",
    "\ufeffmark",
    "é" * 3,
    LONG,
)

PATTERNS = (
    "(",
    "(a",
    "(a)(b)",
    "no group",
    "[",
    "(?P<x>a)(?P=y)",
    r"^(s\d+)_(?:(?:a+)+!|task)",
    r"^(s\d+)_(?:(?:a|a)*!|task)",
    r"(?:\w*)*(!)",
    r"^(s\d+)(?:\w?){500}!|(task)",
    "(a{65536})",
    "(" * 1_000 + ")" * 1_000,
    "((?:a{1000}){1000})",
    "(s)" + "b?" * 50_000,
)
"""For `group_by`: some do not compile, some find no end on a name of many letters a."""

JSON_VALUES = (
    *("null", "true", "false", "NaN", "-Infinity"),
    *NUMBERS,
    *map(json.dumps, TEXTS),
    '"\\ud800"',
    "[]",
    "{}",
    "[[1]]",
    '{"a": 1}',
    "[" * DEEP + "]" * DEEP,
    '{"a":' * DEEP + "1" + "}" * DEEP,
    "[" + "0," * MANY + "0]",
    "{" + '"k": 1, ' * MANY + '"k": 2}',
    "{" + ", ".join(f'"k{index}": 1' for index in range(MANY)) + "}",
)

TOML_VALUES = (
    *("true", "false", "nan", "inf", "-inf", "1979-05-27T07:32:00Z", "07:32:00"),
    *NUMBERS,
    *map(json.dumps, TEXTS),
    '"\\ud800"',
    "[]",
    "{}",
    "[[1], [2]]",
    "{a = 1}",
    "[" * DEEP + "]" * DEEP,
    "{a = " * 5_000 + "1" + "}" * 5_000,
    "{" + ".".join("a" * 20_000) + " = 1}",
    "[" + "0," * MANY + "0]",
)

CELLS = (*TEXTS, *NUMBERS, "nan", "inf", "-inf", "1_000", "٣", '"', '"open', "7" * MANY)
"""Text of a line or of a cell of CSV."""
