"""What decoding learns of lengths where stretches cut segments."""

from __future__ import annotations

import numpy as np

from uvast.segments import Segmentation
from uvast.training.samples import uncut

WHOLE = Segmentation(np.array([0, 1, 2]), np.array([5, 6, 7]))


def test_the_ends_of_stretches_may_go_on_outside() -> None:
    stretch = Segmentation(np.array([2, 0, 1, 2]), np.array([1, 8, 9, 2]))
    short = Segmentation(np.array([1]), np.array([3]))
    found = uncut({"a": WHOLE, "b/10:30": stretch, "b/40:43": short})
    assert [one.transcript.tolist() for one in found] == [[0, 1, 2], [0, 1]]
    assert [one.durations.tolist() for one in found] == [[5, 6, 7], [8, 9]]


def test_if_all_are_cut_all_count() -> None:
    short = Segmentation(np.array([1]), np.array([3]))
    assert uncut({"b/40:43": short}) == [short]
