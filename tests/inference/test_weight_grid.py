"""The choice on a grid: plateaus beat spikes, and noise keeps the default."""

from __future__ import annotations

import numpy as np

from uvast.inference.weight_grid import choose_cell, of_cell, with_neighbours


def test_neighbours_are_averaged_by_hand() -> None:
    grid = np.arange(12.0).reshape(1, 3, 4) ** 2
    found = with_neighbours(grid)[0]
    for row in range(3):
        for column in range(4):
            places = [(row, column), (row - 1, column), (row + 1, column)]
            places += [(row, column - 1), (row, column + 1)]
            mine = [grid[0, r, c] for r, c in places if 0 <= r < 3 and 0 <= c < 4]
            assert found[row, column] == np.mean(mine)


def test_a_plateau_beats_a_spike() -> None:
    scores = np.zeros((5, 9))
    scores[:, 1] = 12  # a spike
    scores[:, 5:8] = 10
    assert choose_cell(scores, (3,)) == (6,)


def test_the_default_stays_within_one_standard_error() -> None:
    noise = np.array([30.0, -28.0, 25.0, -20.0])  # mean 1.75, error 15
    scores = np.zeros((4, 3))
    scores[:, 2] = noise
    assert choose_cell(scores, (0,)) == (0,)
    scores[:, 2] = noise / 100 + 5
    assert choose_cell(scores, (0,)) == (2,)


def test_what_one_video_says_is_no_reason() -> None:
    assert choose_cell(np.array([[0.0, 50.0]]), (0,)) == (0,)


def test_of_equals_the_nearest_to_the_default() -> None:
    scores = np.zeros((3, 4, 4))
    scores[:, [0, 3], [3, 3]] = 9
    assert choose_cell(scores, (0, 1)) == (0, 3)
    assert of_cell(scores, (0, 3)).tolist() == [9, 9, 9]
