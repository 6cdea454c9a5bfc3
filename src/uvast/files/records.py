"""Typed reading: the content of a JSON, TOML or CSV file is checked against one record.

A record is a dataclass or a pydantic model; its fields say what is allowed. The first value that
does not fit is an error of one sentence, with the file, the field, the value and the remedy.
"""

from __future__ import annotations

import csv
import io
import json
import re
import reprlib
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import pydantic

from uvast.errors import CorruptFileError, UvastError, printable
from uvast.files.reading import MEGABYTE, read_text
from uvast.files.toml import tomllib

if TYPE_CHECKING:
    from pathlib import Path

Record = TypeVar("Record")

LARGEST_JSON = 64 * MEGABYTE
LARGEST_TOML = MEGABYTE // 4
MOST_DIGITS = 100
"""Allowed in a whole number: far more than any setting needs, few enough to print."""

RESTORE = "restore it or write it again"

_DEEPEST = 32
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_record(
    path: Path,
    record: type[Record],
    *,
    largest: int | None = None,
    error: type[UvastError] = CorruptFileError,
    remedy: str = RESTORE,
) -> Record:
    """The content of a JSON file, or of one called `.toml`, as a record.

    Args:
        path: the file.
        record: the type of the content: a dataclass, a pydantic model, `list[…]` of them.
        largest: most bytes of a JSON file; `LARGEST_JSON` if None.
        error: the error to raise if the content is wrong.
        remedy: what to do about it.
    """
    if path.suffix == ".toml":
        value: object = read_toml(path, error=error, remedy=remedy)
    else:
        value = read_json(path, largest=largest, error=error, remedy=remedy)
    return checked(value, record, where=path, error=error, remedy=remedy)


def read_rows(path: Path, record: type[Record], *, remedy: str = RESTORE) -> list[Record]:
    """The rows of a CSV table with a header.

    A cell that is empty, or that a killed process did not write, leaves its field at the default.
    """
    lines = io.StringIO(read_text(path, largest=LARGEST_JSON), newline="")
    rows: list[Record] = []
    try:
        table = csv.DictReader(lines, strict=True)
        for row in table:
            place = f"{path}, line {table.line_num}"
            if None in row:
                raise CorruptFileError("has more cells than the header", where=place, remedy=remedy)
            filled = {name: cell for name, cell in row.items() if cell}
            rows.append(adapter(record).validate_strings(filled))
    except csv.Error as fault:
        raise CorruptFileError(f"is not valid CSV ({fault})", where=path, remedy=remedy) from None
    except pydantic.ValidationError as fault:
        raise CorruptFileError(first_fault(fault), where=place, remedy=remedy) from None
    return rows


def read_json(
    path: Path,
    *,
    largest: int | None = None,
    error: type[UvastError] = CorruptFileError,
    remedy: str = RESTORE,
) -> Any:
    """Plain JSON; a repeated key in one object is an error, since one value would be lost."""
    text = read_text(path, largest=LARGEST_JSON if largest is None else largest)
    return parse_json(text, path, error=error, remedy=remedy)


def parse_json(
    text: str,
    where: Path | str,
    *,
    error: type[UvastError] = CorruptFileError,
    remedy: str = RESTORE,
) -> Any:
    """Like `read_json`, for text that was already read; errors say `where` it is from."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            repeated = next(key for key, count in counts.items() if count > 1)
            raise _FaultError(f"key {shown(repeated)} appears more than once")
        return found

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_int=_whole_number)
        _check_depth(value)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as fault:
        what = f"is not valid JSON (line {fault.lineno}: {fault.msg})"
    except RecursionError:
        what = "is JSON nested too deeply"
    except UnicodeEncodeError:
        what = "holds half of a character (a lone surrogate)"
    except _FaultError as fault:
        what = str(fault)
    else:
        return value
    raise error(what, where=where, remedy=remedy)


def read_toml(
    path: Path, *, error: type[UvastError] = CorruptFileError, remedy: str = RESTORE
) -> dict[str, Any]:
    """Plain TOML."""
    text = read_text(path, largest=LARGEST_TOML)
    try:
        value = tomllib.loads(text)
        _check_depth(value)
    except tomllib.TOMLDecodeError as fault:
        what = f"is not valid TOML ({fault})"
    except RecursionError:
        what = "is TOML nested too deeply"
    except ValueError:  # Python's limit for the digits of an integer
        what = "has a number with thousands of digits"
    else:
        return value
    raise error(what, where=path, remedy=remedy)


def checked(
    value: object,
    record: type[Record],
    *,
    name: str = "",
    where: str | Path | None = None,
    error: type[UvastError] = CorruptFileError,
    remedy: str = RESTORE,
) -> Record:
    """A plain value, as in JSON, as a record. Text is not a number, and true is not 1.

    Errors call the value `name` and say `where` it is from; see `read_record` for the rest.
    """
    try:
        return adapter(record).validate_json(json.dumps(value, default=str), strict=True)
    except pydantic.ValidationError as fault:
        raise error(first_fault(fault, name), where=where, remedy=remedy) from None


def first_fault(fault: pydantic.ValidationError, name: str = "") -> str:
    """What is wrong with the first field that does not fit: `sampling_rate is 0, below 1`.

    Fields are named by their path, below `name` if there is one.
    """
    first = fault.errors(include_url=False)[0]
    kind, context = first["type"], first.get("ctx", {})
    path = [name, *map(str, first["loc"])] if name else map(str, first["loc"])
    name = printable(".".join(path)) or "its content"
    if kind in ("missing", "missing_argument"):
        return f"{name} is missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{name} is unknown"
    if kind in _WANTED:
        limits = {k: f"{v:.12g}" if type(v) is float else v for k, v in context.items()}
        wanted = _WANTED[kind].format(**limits)
    else:  # pydantic's own words may hold braces
        wanted = first["msg"].removeprefix("Value error, ").replace("Input should be", "not", 1)
    return f"{name} is {shown(first['input'])}, {printable(wanted)}"


def shown(value: object) -> str:
    """A value from outside as Python writes it, shortened and safe to print."""
    return printable(_SHORT.repr(value))


_WANTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "not a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "not a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "not true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "not a list"),
    **dict.fromkeys(("dict_type", "model_type", "dataclass_type"), "not a table of values"),
    "string_type": "not text",
    "finite_number": "not a finite number",
    "int_parsing_size": "too large",
    "greater_than": "not above {gt}",
    "greater_than_equal": "below {ge}",
    "less_than": "not below {lt}",
    "less_than_equal": "above {le}",
    "literal_error": "not {expected}",
    "enum": "not {expected}",
    "value_error": "{error}",
    "string_too_long": "longer than {max_length} characters",
    "too_long": "more than {max_length} values",
}

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 60


class _FaultError(Exception):
    """Ends the parsing of a file."""


def adapter(record: type[Record]) -> pydantic.TypeAdapter[Record]:
    """The checker of a type, made once: making it takes longer than all checks."""
    if record not in _adapters:
        _adapters[record] = pydantic.TypeAdapter(record)
    return _adapters[record]


_adapters: dict[Any, pydantic.TypeAdapter[Any]] = {}


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _FaultError(f"has a number with {len(digits)} digits")
    return int(digits)


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    if level:
        raise RecursionError
