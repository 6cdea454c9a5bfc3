"""The choice of weights on a grid, from a handful of noisy videos.

Two rules keep luck out. A value is judged with its neighbours on the grid, so that the middle of a
plateau beats a spike. And the default stays unless the best beats it by more than two standard
errors of their difference over the videos: with one, luck cost GTEA a point (docs/choices.md,
Weights of `best`), and real gains are larger than two anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]

EQUAL = 1e-9
N_ERRORS = 2.0
"""Standard errors by which a choice has to beat the default."""


def with_neighbours(scores: Scores) -> Scores:
    """The mean of each cell of a grid and the cells one step away along one axis.

    `scores` are `(V, ...)`: for each video, the cells of a grid of any number of axes.
    """
    total, count = scores.copy(), np.ones(scores.shape[1:])
    for axis in range(1, scores.ndim):
        for step in (1, -1):
            here = [slice(None)] * scores.ndim
            there = [slice(None)] * scores.ndim
            here[axis] = slice(None, -1) if step == 1 else slice(1, None)
            there[axis] = slice(1, None) if step == 1 else slice(None, -1)
            total[tuple(here)] += scores[tuple(there)]
            count[tuple(here[1:])] += 1
    return total / count


def of_cell(scores: Scores, place: tuple[int, ...]) -> Scores:
    """The scores `(V,)` of one cell."""
    found: Scores = np.moveaxis(scores, 0, -1)[place]
    return found


def choose_cell(scores: Scores, default: tuple[int, ...]) -> tuple[int, ...]:
    """The cell of a grid that does best on the videos, or the default.

    Args:
        scores: `(V, ...)`, for each video the cells of a grid.
        default: the cell that stays if the videos cannot tell.

    Returns:
        The place of a cell; on ties, the nearest to the default.
    """
    n_videos = len(scores)
    if n_videos < 2:
        return default
    smooth = with_neighbours(scores)
    means = smooth.mean(0)
    tops = np.argwhere(means >= means.max() - EQUAL)
    steps = np.abs(tops - np.array(default)).sum(1)
    top = tuple(int(place) for place in tops[steps.argmin()])
    gains = of_cell(smooth, top) - of_cell(smooth, default)
    error = gains.std(ddof=1) / np.sqrt(n_videos)
    return top if gains.mean() > N_ERRORS * error else default
