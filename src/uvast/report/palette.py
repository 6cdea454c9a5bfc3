"""The colours of classes: the same names in the same order look the same in every figure.

Ten hues, then the same ten with each of five hatchings: 60 distinct classes. The hues maximise the
smallest distance (in OKLab) between any two of them, and to the grey of background, as people with
and without colour blindness see them; a test checks that distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from uvast.vocabulary import Vocabulary

Pattern = Literal["solid", "rising", "dots", "level", "crossed", "falling"]

PATTERNS: tuple[Pattern, ...] = ("solid", "rising", "dots", "level", "crossed", "falling")
"""No upright stripes: on a timeline they would look like short segments."""

HUES = (
    "#30a8fc",
    "#fc8448",
    "#006060",
    "#fccc24",
    "#602490",
    "#90f0b4",
    "#9c1800",
    "#8460cc",
    "#a86c00",
    "#3c9090",
)
GREY = "#b0b4ba"
_INK_SHARE = 0.55


@dataclass(frozen=True)
class ClassStyle:
    """How a class is drawn: a colour `#rrggbb`, and a hatching in a darker or lighter shade."""

    colour: str
    pattern: Pattern
    ink: str


UNLABELLED_STYLE = ClassStyle("#ffffff", "rising", GREY)
"""Frames that nobody looked at: blank but for a hatching, so as not to look like background."""


def class_styles(vocabulary: Vocabulary) -> tuple[ClassStyle, ...]:
    """The style of each class; background is grey, and styles repeat from the 61st action."""
    greys = (_style(GREY, pattern) for pattern in cycle(PATTERNS))
    hues = (_style(hue, pattern) for pattern in cycle(PATTERNS) for hue in HUES)
    return tuple(
        next(greys if index in vocabulary.background_ids else hues)
        for index in range(len(vocabulary))
    )


def rgb(colour: str) -> tuple[int, int, int]:
    """`#rrggbb` to three bytes."""
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` as WCAG's contrast rules define it, 0 to 1."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (byte / 255 for byte in rgb(colour))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _style(colour: str, pattern: Pattern) -> ClassStyle:
    end = 0 if luminance(colour) > 0.18 else 255
    mixed = (round(byte + _INK_SHARE * (end - byte)) for byte in rgb(colour))
    return ClassStyle(colour, pattern, "#" + bytes(mixed).hex())
