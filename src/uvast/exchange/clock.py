"""Times as people and programs write them: seconds, mm:ss, hh:mm:ss.mmm, decimal commas."""

from __future__ import annotations

import re

from uvast.errors import InputError
from uvast.times import parse_time

_UNIT = re.compile(r"\s*(?:s|sec|seconds)$")


def read_time(text: str) -> float | None:
    """`62.5`, `62,5 s`, `1:02.5` or `00:01:02.500` to seconds; None if it is not a time."""
    try:
        return parse_time(_UNIT.sub("", text.strip()))
    except InputError:
        return None


def read_signed_time(text: str) -> float | None:
    """Like `read_time`; the time may be below zero."""
    text = text.strip()
    seconds = read_time(text.removeprefix("-"))
    return -seconds if seconds and text.startswith("-") else seconds


def format_clock(seconds: float, point: str) -> str:
    """`HH:MM:SS.mmm`, rounded to a millisecond."""
    milliseconds = round(seconds * 1000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    whole, rest = divmod(milliseconds, 1000)
    return f"{hours:02}:{minutes:02}:{whole:02}{point}{rest:03}"


def format_seconds(seconds: float) -> str:
    """Writes a number without an exponent, so that it reads back unchanged."""
    text = repr(float(seconds))
    if "e" in text or "E" in text:
        text = f"{seconds:.20f}".rstrip("0")
    return text.removesuffix(".0").removesuffix(".") or "0"


def later_by_a_millisecond(start: float, end: float) -> float:
    """The end for formats that round times: the interval keeps at least a millisecond."""
    return max(end, (round(start * 1000) + 1) / 1000)
