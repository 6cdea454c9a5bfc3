"""The colours of classes: told apart by everyone, and always the same."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from uvast.report.palette import GREY, HUES, class_styles, luminance, rgb
from uvast.vocabulary import Vocabulary

# Full colour blindness in linear RGB, after Machado, Oliveira and Fernandes (2009).
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_OKLAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def seen(colour: str, sight: str) -> np.ndarray:
    """A colour in OKLab as a person of this sight sees it."""
    value = np.array(rgb(colour)) / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(SIGHTS[sight]) @ linear, 0, 1)
    return np.array(TO_OKLAB) @ np.cbrt(np.array(TO_CONES) @ linear)


@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_hues_differ_for_every_sight(sight: str) -> None:
    colours = [seen(colour, sight) for colour in (*HUES, GREY)]
    # 0.02 is about the least difference that can be seen side by side.
    assert min(np.linalg.norm(a - b) for a, b in combinations(colours, 2)) > 0.1


def test_sixty_actions_look_different() -> None:
    styles = class_styles(Vocabulary(tuple(map(str, range(60)))))
    assert len({(style.colour, style.pattern) for style in styles}) == 60


def test_hatching_stands_out_of_its_colour() -> None:
    for style in class_styles(Vocabulary(tuple(map(str, range(60))))):
        pale, dark = sorted((luminance(style.colour), luminance(style.ink)))
        assert (dark + 0.05) / (pale + 0.05) > 2


def test_background_is_grey_and_takes_no_action_s_colour() -> None:
    without = class_styles(Vocabulary(("cut", "stir")))
    within = class_styles(Vocabulary(("none", "cut", "pause", "stir"), ("pause", "none")))
    assert [within[0].colour, within[2].colour] == [GREY] * 2
    assert within[0] != within[2]
    assert (within[1], within[3]) == without


def test_equal_names_look_equal() -> None:
    names = tuple(map(str, range(75)))
    assert class_styles(Vocabulary(names)) == class_styles(Vocabulary(names))
    assert len(class_styles(Vocabulary(names))) == 75
