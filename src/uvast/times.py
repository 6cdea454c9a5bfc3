"""Times as people write them, to seconds and back."""

from __future__ import annotations

import math
import re

from uvast.errors import InputError

TIME_FORMS = "seconds, mm:ss or hh:mm:ss.mmm"

_SECONDS = re.compile(r"(?:\d{1,15}(?:[.,]\d{0,25})?|[.,]\d{1,25})(?:[eE][+-]?\d{1,3})?", re.A)
_CLOCK = re.compile(r"(?:(\d{1,9}):)?(\d{1,9}):(\d{1,2}(?:[.,]\d{0,25})?)", re.A)


def parse_time(text: str) -> float:
    """Seconds from `83.5`, `1:23.5`, `01:23`, `0:01:23.500`; a decimal comma works, too.

    What follows a colon is below 60. Raises `InputError`, which is a `ValueError`.
    """
    text = text.strip()
    if _SECONDS.fullmatch(text) and math.isfinite(seconds := float(text.replace(",", "."))):
        return seconds
    match = _CLOCK.fullmatch(text)
    if match is not None:
        hours, minutes = int(match[1] or 0), int(match[2])
        seconds = float(match[3].replace(",", "."))
        if seconds < 60 and (match[1] is None or minutes < 60):
            return 3600 * hours + 60 * minutes + seconds
    raise InputError(f"{text!r} is not a time", remedy=f"write {TIME_FORMS}")


def format_time(seconds: float, decimals: int = 3) -> str:
    """`83.5` to `1:23.500`, `3683.5` to `1:01:23.500`; `parse_time` reads it back.

    The time is rounded to `decimals` places.
    """
    units = round(seconds * 10**decimals)
    if units < 0:
        raise InputError(f"a time of {seconds} seconds", remedy="times count from 0")
    whole, rest = divmod(units, 10**decimals)
    fraction = f".{rest:0{decimals}d}" if decimals else ""
    hours, minutes = divmod(whole // 60, 60)
    clock = f"{hours}:{minutes:02d}" if hours else str(minutes)
    return f"{clock}:{whole % 60:02d}{fraction}"
