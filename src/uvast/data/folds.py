"""Inner folds: a training side cut into parts, each held out once, without touching a test side."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.data.splits import balanced_parts, parted
from uvast.data.subjects import group_by_subject
from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.data.splits import Split

Subjects = tuple[tuple[str, ...], ...]
"""The videos of each subject."""


@dataclass(frozen=True)
class Fold:
    """One part of the videos to score, and the others to learn from.

    Args:
        number: which fold, from 1.
        train: the videos to learn from.
        held_out: the videos to score.
        whole_subjects: whether no subject has videos in both.
    """

    number: int
    train: tuple[str, ...]
    held_out: tuple[str, ...]
    whole_subjects: bool


def inner_folds(
    names: Sequence[str], n_folds: int, subjects: Subjects | None = None, *, seed: int = 0
) -> tuple[Fold, ...]:
    """Cuts videos into folds: each video is held out in exactly one of them.

    Folds keep subjects whole if these are known and there are enough of them; else they take
    videos one by one. Their sizes are as equal as that allows. A pure function of its arguments.

    Args:
        names: the videos, usually a split's training side.
        n_folds: how many folds.
        subjects: see `known_subjects`; videos that are not in `names` are ignored.
        seed: of the order in which videos are dealt out.
    """
    if not 2 <= n_folds <= len(names):
        raise InputError(
            f"{n_folds} folds cannot be made from {len(names)} videos",
            remedy="choose from 2 to the number of videos on the training side",
        )
    groups = tuple((name,) for name in sorted(names))
    together = _among(names, subjects or ())
    whole = len(together) >= n_folds
    parts = balanced_parts(together if whole else groups, n_folds, seed=seed)
    sides = (parted(names, part) for part in parts)
    return tuple(Fold(n, side.train, side.test, whole) for n, side in enumerate(sides, 1))


def known_subjects(
    names: Sequence[str], group_by: str | None, splits: Mapping[int, Split]
) -> Subjects | None:
    """Which videos belong to one subject, or None if that is unknown.

    `group_by` decides (see `DatasetSpec`). Without it the splits do, if each video is on one test
    side: videos that every split keeps together count as one subject's, as in datasets that leave
    out one subject at a time. No label is read.
    """
    if group_by is not None:
        return tuple(map(tuple, group_by_subject(names, group_by)))
    n_tests = Counter(name for split in splits.values() for name in split.test)
    if len(splits) < 2 or any(n_tests[name] != 1 for name in names):
        return None
    return _among(names, tuple(split.test for split in splits.values()))


def _among(names: Sequence[str], subjects: Subjects) -> Subjects:
    """Each subject's videos among `names`; sorted, so that the order depends on names alone."""
    wanted = set(names)
    kept = (tuple(name for name in one if name in wanted) for one in subjects)
    found = tuple(sorted(tuple(sorted(one)) for one in kept if one))
    if Counter(name for one in found for name in one) != Counter(names) and found:
        raise InputError(
            "the subjects do not name every video once", remedy="give each video one subject"
        )
    return found
