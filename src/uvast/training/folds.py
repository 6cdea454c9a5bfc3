"""Which videos each inner run learns from, and which it is asked about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.data.splits import make_splits
from uvast.data.subjects import group_by_subject
from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_VIDEOS = 3
"""An inner run of fewer videos would learn from one alone."""


@dataclass(frozen=True)
class Fold:
    """An inner run, counted from 1: the videos that it learns from, and the others."""

    number: int
    train: tuple[str, ...]
    held_out: tuple[str, ...]


def make_folds(
    names: Sequence[str], n_folds: int, *, group_by: str | None = None, seed: int = 0
) -> tuple[Fold, ...]:
    """Every video is held out once, with all others of its subject where subjects are known.

    Where there are fewer subjects, or videos, there are fewer folds; with too few videos none. Of
    one subject alone each video stands for itself. A pure function of its arguments.
    """
    if n_folds < 2 or len(names) < LEAST_VIDEOS:
        return ()
    n_groups = _n_subjects(names, group_by)
    if n_groups < 2:
        group_by, n_groups = None, len(names)
    splits = make_splits(names, folds=min(n_folds, n_groups), group_by=group_by, seed=seed)
    return tuple(Fold(number, one.train, one.test) for number, one in splits.items())


def _n_subjects(names: Sequence[str], group_by: str | None) -> int:
    """0 if the names do not tell: a run does not fail for that."""
    try:
        return len(group_by_subject(names, group_by))
    except InputError:
        return 0
