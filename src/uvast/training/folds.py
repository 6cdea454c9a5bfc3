"""Which videos each inner run learns from, and which it is scored on."""

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
"""With fewer videos, an inner run would learn from at most two and say little; and a first model
from a few clicks should be ready soon."""


def folds_of(
    config: Config, train: tuple[str, ...], validation: tuple[str, ...], dataset: Dataset
) -> tuple[Fold, ...]:
    """The folds of a run's training side; none if a validation part chooses its weights."""
    if validation or not config.train.epochs or not config.train.folds:
        return ()
    try:
        subjects = known_subjects(train, dataset.spec.group_by, dataset.splits)
    except InputError:  # names that do not tell the subjects must not stop a run
        subjects = None
    return make_folds(train, config.train.folds, subjects, seed=config.train.seed)


def make_folds(
    names: Sequence[str], n_folds: int, subjects: Subjects | None = None, *, seed: int = 0
) -> tuple[Fold, ...]:
    """Holds out every video once, with all others of its subject where subjects are known.

    With fewer subjects or videos there are fewer folds, and with too few videos none. If there is
    only one subject, videos are held out on their own. A pure function of its arguments.
    """
    if n_folds < 2 or len(names) < LEAST_FOR_FOLDS:
        return ()
    if subjects is None or len(subjects) < 2:
        return inner_folds(names, min(n_folds, len(names)), seed=seed)
    return inner_folds(names, min(n_folds, len(subjects)), subjects, seed=seed)
