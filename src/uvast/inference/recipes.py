"""Recipes: groups of similar training transcripts, each with its own order of actions.

Transcripts are grouped around typical ones by their edit distance. The number of groups is the one
with the shortest description of all transcripts (docs/method.md, Priors of the task).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import gammaln

from uvast.durations import Transitions
from uvast.durations.transitions import SMOOTHING
from uvast.evaluation.metrics import levenshtein

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from uvast.segments import IntArray

Actions = tuple[int, ...]
MOST_RECIPES = 10
"""The most that `auto` tries."""
MOST_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Recipe:
    """One way to do the task.

    Args:
        log_share: logarithm of its share of the training videos.
        transitions: which actions start a video of this recipe, follow each other and end it.
    """

    log_share: float
    transitions: Transitions

    def score(self, transcript: ArrayLike) -> float:
        """The log-probability of this recipe together with a transcript `(S,)`."""
        return self.log_share + self.transitions.score(transcript)


def best_score(recipes: Sequence[Recipe], transcript: ArrayLike) -> float:
    """The score of a transcript `(S,)` under the recipe that fits it best."""
    return max(one.score(transcript) for one in recipes)


@lru_cache(maxsize=32)
def fit_recipes(
    transcripts: tuple[Actions, ...], n_classes: int, n_recipes: int | Literal["auto"]
) -> tuple[Recipe, ...]:
    """The recipes of training transcripts; at most as many as there are distinct transcripts."""
    groups = transcript_groups(transcripts, n_classes, n_recipes)
    found = []
    for number in range(groups.max() + 1):
        own = [one for one, group in zip(transcripts, groups, strict=True) if group == number]
        share = len(own) / len(transcripts)
        found.append(Recipe(float(np.log(share)), Transitions.fit(own, n_classes, ends=True)))
    return tuple(found)


def transcript_groups(
    transcripts: Sequence[Actions], n_classes: int, n_recipes: int | Literal["auto"]
) -> IntArray:
    """The group `(N,)` that each transcript belongs to, numbered from 0 without gaps."""
    numbers = Counter(transcripts)
    different, counts = list(numbers), np.array(list(numbers.values()))
    distances = _distances(different)
    place = {one: number for number, one in enumerate(different)}
    of_all = np.array([place[one] for one in transcripts])

    def grouped(number: int) -> IntArray:
        found: IntArray = _grouped(distances, counts, number)[of_all]
        return found

    if n_recipes != "auto":
        return grouped(min(n_recipes, len(different)))
    found = [grouped(number) for number in range(1, min(MOST_RECIPES, len(different)) + 1)]
    return min(found, key=lambda one: description_length(transcripts, one, n_classes))


def description_length(transcripts: Sequence[Actions], groups: IntArray, n_classes: int) -> float:
    """Nats to encode the groups `(N,)`, then each transcript from the earlier ones of its group.

    Nothing is known at first: each choice is coded by the counts of the choices before it, plus
    0.5. So a group pays for what it has to learn again.
    """
    n_groups = int(groups.max()) + 1
    total = _told(np.bincount(groups, minlength=n_groups), n_groups)
    for number in range(n_groups):
        follows = np.zeros((n_classes + 1, n_classes + 1))  # last row and column: start and end
        for one, group in zip(transcripts, groups, strict=True):
            if group == number:
                np.add.at(follows, ((n_classes, *one), (*one, n_classes)), 1)
        total += sum(_told(row, n_classes) for row in follows if row.any())
    return total


def _told(counts: NDArray[np.floating] | IntArray, n_choices: int) -> float:
    """Nats of a sequence with these counts, each choice coded by those before it."""
    start = SMOOTHING * n_choices
    total = gammaln(counts.sum() + start) - gammaln(start)
    seen = counts[counts > 0]
    return float(total - (gammaln(seen + SMOOTHING) - gammaln(SMOOTHING)).sum())


def _distances(transcripts: Sequence[Actions]) -> NDArray[np.float64]:
    """Edit distances `(N, N)` as shares of the longer transcript."""
    found = np.zeros((len(transcripts), len(transcripts)))
    for i, one in enumerate(transcripts):
        for j, other in enumerate(transcripts[:i]):
            found[i, j] = levenshtein(one, other) / max(len(one), len(other))
    return found + found.T


def _grouped(distances: NDArray[np.float64], counts: IntArray, n_groups: int) -> IntArray:
    """Groups `(N,)` around typical transcripts; `counts` are the videos of each transcript.

    The first one is the most typical of all, and each further one lowers the distances the most.
    Then they move within their groups until nothing changes.
    """
    weighted = distances * counts  # (N, N), a column for each transcript
    typical = [int(weighted.sum(1).argmin())]
    while len(typical) < n_groups:
        nearest = distances[typical].min(0)
        costs = (np.minimum(distances, nearest) * counts).sum(1)
        costs[typical] = np.inf
        typical.append(int(costs.argmin()))
    groups: IntArray
    for _ in range(MOST_ROUNDS):
        groups = distances[typical].argmin(0)
        groups[typical] = np.arange(n_groups)  # no group is ever empty
        moved = []
        for number in range(n_groups):
            (own,) = np.nonzero(groups == number)
            moved.append(int(own[weighted[np.ix_(own, own)].sum(1).argmin()]))
        if moved == typical:
            break
        typical = moved
    return groups
