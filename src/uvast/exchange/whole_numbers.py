"""Whole numbers as files write them: frames, milliseconds, places in a list."""

from __future__ import annotations

_MOST_DIGITS = 15
"""Enough for the frames of any video, and few enough for 64 bits and for a float."""


def whole_number(text: str) -> int | None:
    """`12` to 12; None if it is not a whole number from 0 on, or unreasonably long.

    `str.isdigit` alone would let `²` through, and numbers too long for `int`.
    """
    is_number = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return int(text) if is_number else None
