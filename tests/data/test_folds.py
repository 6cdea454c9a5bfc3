import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.data import Split, make_splits
from uvast.data.folds import inner_folds, known_subjects
from uvast.errors import InputError

NAMES = tuple(f"P{subject}_{take}" for subject in range(6) for take in range(subject % 3 + 1))
SUBJECTS = tuple(
    tuple(name for name in NAMES if name.startswith(f"P{subject}_")) for subject in range(6)
)


@settings(deadline=None)  # a busy machine
@given(n_folds=st.integers(2, 6), seed=st.integers(0, 99))
def test_no_subject_is_on_both_sides_of_a_fold(n_folds: int, seed: int) -> None:
    folds = inner_folds(NAMES, n_folds, SUBJECTS, seed=seed)
    assert len(folds) == n_folds
    for fold in folds:
        assert fold.whole_subjects
        assert fold.held_out
        assert sorted((*fold.train, *fold.held_out)) == sorted(NAMES)
        assert not {name[:2] for name in fold.train} & {name[:2] for name in fold.held_out}
    assert sorted(name for fold in folds for name in fold.held_out) == sorted(NAMES)


@pytest.mark.parametrize(
    ("names", "subjects"),
    [(NAMES, None), (SUBJECTS[2] + SUBJECTS[5], SUBJECTS)],
    ids=["unknown", "two subjects"],
)
def test_without_enough_subjects_folds_hold_videos(
    names: tuple[str, ...], subjects: tuple[tuple[str, ...], ...] | None
) -> None:
    folds = inner_folds(names, 4, subjects)
    assert not any(fold.whole_subjects for fold in folds)
    assert {len(fold.held_out) for fold in folds} <= {len(names) // 4, -(-len(names) // 4)}


def test_the_order_of_names_and_subjects_changes_no_fold() -> None:
    generator = random.Random(0)
    for n_folds in (2, 3, 8):
        expected = [set(fold.held_out) for fold in inner_folds(NAMES, n_folds, SUBJECTS)]
        names, subjects = list(NAMES), list(SUBJECTS)
        generator.shuffle(names)
        generator.shuffle(subjects)
        found = inner_folds(names, n_folds, tuple(one[::-1] for one in subjects))
        assert [set(fold.held_out) for fold in found] == expected


def test_the_expression_tells_subjects_and_splits_do_without_it() -> None:
    assert known_subjects(NAMES, r"^(P\d)_", {}) == SUBJECTS
    leave_one_out = {
        number: Split(tuple(name for name in NAMES if name not in test), test)
        for number, test in enumerate(SUBJECTS, start=1)
    }
    side = leave_one_out[1].train
    found = known_subjects(side, None, leave_one_out)
    assert found == SUBJECTS[1:]
    assert all(len({n[:2] for n in fold.held_out}) == 1 for fold in inner_folds(side, 5, found))


def test_splits_that_test_a_video_twice_or_never_tell_nothing() -> None:
    splits = make_splits(NAMES, folds=3)
    assert known_subjects(NAMES, None, {}) is None
    assert known_subjects(NAMES, None, {1: splits[1]}) is None
    assert known_subjects((*NAMES, "more"), None, splits) is None
    assert known_subjects(NAMES, None, {**splits, 4: splits[1]}) is None


@pytest.mark.parametrize(
    ("n_folds", "subjects", "sentence"),
    [
        (
            1,
            None,
            "1 folds cannot be made from 12 videos; choose from 2 to the number of videos on",
        ),
        (13, None, "13 folds cannot be made from 12 videos"),
        (2, SUBJECTS[1:], "the subjects do not name every video once; give each video one subj"),
        (2, (*SUBJECTS, ("P0_0",)), "the subjects do not name every video once"),
    ],
    ids=["one", "many", "missing", "twice"],
)
def test_impossible_folds(
    n_folds: int, subjects: tuple[tuple[str, ...], ...] | None, sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        inner_folds(NAMES, n_folds, subjects)
    assert sentence in str(caught.value)
