"""Which videos each inner run learns from, and which it is asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.data.folds import inner_folds, known_subjects
from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.config import Config
    from uvast.data import Dataset
    from uvast.data.folds import Fold, Subjects

LEAST_FOR_FOLDS = 4
"""An inner run of fewer would learn from two at most and tell little; and a first model from a few
clicks should be there soon."""


def folds_of(
    config: Config, train: tuple[str, ...], validation: tuple[str, ...], dataset: Dataset
) -> tuple[Fold, ...]:
    """The folds of a run's training side; none if a validation part chooses its weights."""
    if validation or not config.train.epochs or not config.train.folds:
        return ()
    try:
        subjects = known_subjects(train, dataset.spec.group_by, dataset.splits)
    except InputError:  # a run does not fail because names do not tell
        subjects = None
    return make_folds(train, config.train.folds, subjects, seed=config.train.seed)


def make_folds(
    names: Sequence[str], n_folds: int, subjects: Subjects | None = None, *, seed: int = 0
) -> tuple[Fold, ...]:
    """Every video is held out once, with all others of its subject where subjects are known.

    Where there are fewer subjects, or videos, there are fewer folds; with too few videos none. Of
    one subject alone each video stands for itself. A pure function of its arguments.
    """
    if n_folds < 2 or len(names) < LEAST_FOR_FOLDS:
        return ()
    if subjects is None or len(subjects) < 2:
        return inner_folds(names, min(n_folds, len(names)), seed=seed)
    return inner_folds(names, min(n_folds, len(subjects)), subjects, seed=seed)
