"""Pure ways to break the bytes of a file, some of which know its structure.

A mutation takes the content and two numbers, which choose the place and the hostile value, so that
a case is a few plain numbers and runs again byte by byte.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tomli_w

from . import binary
from .hostile import CELLS, JSON_VALUES, MANY, PATTERNS, TOML_VALUES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Break = Callable[[bytes, int, int], bytes]
"""Content, place, value -> broken content."""

Trail = tuple[str | int, ...]
"""Keys and indices from a document's root to a value."""

TOKEN = "put the value here"
BYTES = (b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\x1b[2J", b"\x1a", b"9" * MANY)


@dataclass(frozen=True)
class Mutation:
    """One way to break a file."""

    kind: str
    place: int
    value: int


def mutated(content: bytes, kind_of_file: str, mutation: Mutation) -> bytes:
    """The broken content; a file that is beyond its own structure by now gets some bytes."""
    change = BREAKS[kind_of_file][mutation.kind]
    try:
        return change(content, mutation.place, mutation.value)
    except (ValueError, KeyError, IndexError, RecursionError):
        return _insert(content, mutation.place, mutation.value)


def _flip(content: bytes, place: int, value: int) -> bytes:
    index = place % max(1, len(content))
    flipped = bytes([content[index] ^ (1 + value % 255)]) if content else b"\x01"
    return content[:index] + flipped + content[index + 1 :]


def _truncate(content: bytes, place: int, value: int) -> bytes:
    return content[: place % max(1, len(content))]


def _double(content: bytes, place: int, value: int) -> bytes:
    start = place % max(1, len(content))
    return content[: start + value] + content[start:]


def _insert(content: bytes, place: int, value: int) -> bytes:
    # many at the very beginning, where byte order marks stand
    index = place % max(1, len(content)) if value % 2 else 0
    return content[:index] + BYTES[value // 2 % len(BYTES)] + content[index:]


def _trails(value: Any, trail: Trail = ()) -> Iterator[Trail]:
    yield trail
    if isinstance(value, dict):
        for key in value:
            yield from _trails(value[key], (*trail, key))
    elif isinstance(value, list):
        for index, item in enumerate(value[:50]):
            yield from _trails(item, (*trail, index))


def _with(value: Any, trail: Trail, new: Any) -> Any:
    """A copy in which what stands at the end of a trail is another."""
    if not trail:
        return new
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[trail[0]] = _with(value[trail[0]], trail[1:], new)
    return copied


def _at(value: Any, trail: Trail) -> Any:
    for part in trail:
        value = value[part]
    return value


def json_put(text: str, trail: Trail, value: str) -> str:
    """JSON with `value`, which may be no JSON at all, at the end of a trail."""
    marked = json.dumps(_with(json.loads(text), trail, TOKEN), ensure_ascii=False)
    return marked.replace(json.dumps(TOKEN), value)


def toml_put(text: str, trail: Trail, value: str) -> str:
    """TOML with `value`, which may be no TOML at all, at the end of a trail."""
    marked = tomli_w.dumps(_with(tomllib.loads(text), trail, TOKEN))
    return marked.replace(json.dumps(TOKEN), value)


def json_replace(text: str, place: int, value: int) -> str:
    """Another value somewhere, the whole document included."""
    trails = list(_trails(json.loads(text)))
    return json_put(text, trails[place % len(trails)], JSON_VALUES[value % len(JSON_VALUES)])


def json_delete(text: str, place: int, value: int) -> str:
    """A key or an entry less."""
    tree = json.loads(text)
    trails = [trail for trail in _trails(tree) if trail]
    trail = trails[place % len(trails)]
    around = _at(tree, trail[:-1])
    if isinstance(around, dict):
        left: Any = {key: one for key, one in around.items() if key != trail[-1]}
    else:
        left = [one for index, one in enumerate(around) if index != trail[-1]]
    return json.dumps(_with(tree, trail[:-1], left), ensure_ascii=False)


def json_rename(text: str, place: int, value: int) -> str:
    """A key of another name; or, by an odd value, one more key."""
    tree = json.loads(text)
    trails = [trail for trail in _trails(tree) if trail and isinstance(trail[-1], str)]
    trail = trails[place % len(trails)]
    around = dict(_at(tree, trail[:-1]))
    name = str(CELLS[value % len(CELLS)])
    around[name] = around[str(trail[-1])] if value % 2 else around.pop(str(trail[-1]))
    return json.dumps(_with(tree, trail[:-1], around), ensure_ascii=False)


def _as_text(change: Callable[[str, int, int], str]) -> Break:
    def changed(content: bytes, place: int, value: int) -> bytes:
        text = change(content.decode("utf-8"), place, value)
        return text.encode("utf-8", "surrogatepass")

    return changed


def _toml_replace(text: str, place: int, value: int) -> str:
    trails = [trail for trail in _trails(tomllib.loads(text)) if trail]
    return toml_put(text, trails[place % len(trails)], TOML_VALUES[value % len(TOML_VALUES)])


def _toml_add(text: str, place: int, value: int) -> str:
    tree = tomllib.loads(text)
    name = json.dumps(str(CELLS[place % len(CELLS)]))
    return f"{name} = {TOML_VALUES[value % len(TOML_VALUES)]}\n{tomli_w.dumps(tree)}"


def _toml_pattern(text: str, place: int, value: int) -> str:
    pattern = PATTERNS[value % len(PATTERNS)]
    return tomli_w.dumps({**tomllib.loads(text), "group_by": pattern})


def _line(text: str, place: int, value: int) -> str:
    lines = text.split("\n")
    lines[place % len(lines)] = CELLS[value % len(CELLS)]
    return "\n".join(lines)


def _lines_again(text: str, place: int, value: int) -> str:
    lines = text.split("\n")
    index = place % len(lines)
    return "\n".join([*lines[:index], *[lines[index]] * (value * 4), *lines[index:]])


def _line_of_json(text: str, place: int, value: int) -> str:
    lines = text.split("\n")
    index = place % max(1, len(lines) - 1)
    lines[index] = json_replace(lines[index], place // len(lines), value)
    return "\n".join(lines)


def _cell(text: str, place: int, value: int) -> str:
    rows = list(csv.reader(io.StringIO(text)))
    row = rows[place % len(rows)]
    row[place // len(rows) % len(row)] = CELLS[value % len(CELLS)]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def _columns(text: str, place: int, value: int) -> str:
    """A row of fewer cells or of very many."""
    lines = text.split("\n")
    index = place % len(lines)
    lines[index] = "," * MANY if value % 2 else lines[index].rpartition(",")[0]
    return "\n".join(lines)


_ANY: dict[str, Break] = {
    "flip": _flip,
    "truncate": _truncate,
    "double": _double,
    "insert": _insert,
}
_LINES = {"line": _as_text(_line), "lines again": _as_text(_lines_again)}
_JSON = {
    "replace": _as_text(json_replace),
    "delete": _as_text(json_delete),
    "rename": _as_text(json_rename),
}
_TOML = {"replace": _as_text(_toml_replace), "add": _as_text(_toml_add)}
_CELLS = {"cell": _as_text(_cell), "columns": _as_text(_columns)}
_TENSORS: dict[str, Break] = {
    "length": binary.header_length,
    **{
        f"{part} {name}": binary.in_header(part, change)
        for part in ("header", "card", "progress")
        for name, change in (
            ("replace", json_replace),
            ("delete", json_delete),
            ("rename", json_rename),
        )
    },
}

BREAKS: dict[str, dict[str, Break]] = {
    "lines": _ANY | _LINES,
    "csv": _ANY | _LINES | _CELLS,
    "json": _ANY | _JSON,
    "json lines": _ANY | _LINES | {"json": _as_text(_line_of_json)},
    "toml": _ANY | _LINES | _TOML,
    "dataset.toml": _ANY | _TOML | {"pattern": _as_text(_toml_pattern)},
    "npy": _ANY | {"header": binary.npy_header, "values": binary.npy_values},
    "pickle": _ANY | {"header": binary.npy_header, "pickle": binary.pickle},
    "safetensors": _ANY | _TENSORS,
}
"""Kind of file to the ways to break it, by name."""
