import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.data import Split, make_splits, validation_part, write_splits
from uvast.data.splits import read_splits, split_faults
from uvast.data.video_names import VideoNames
from uvast.errors import ConfigError, CorruptFileError, InputError, OutputError, SplitError

NAMES = tuple(f"P{subject:02d}_{take}" for subject in range(7) for take in range(subject % 3 + 1))


@settings(max_examples=30, deadline=None)  # each starts a process
@given(folds=st.integers(2, 7), seed=st.integers(0, 99))
def test_subjects_never_sit_on_both_sides(folds: int, seed: int) -> None:
    splits = make_splits(NAMES, folds=folds, group_by=r"^(P\d+)_", seed=seed)
    assert list(splits) == list(range(1, folds + 1))
    for split in splits.values():
        assert sorted((*split.train, *split.test)) == sorted(NAMES)
        assert not {name[:3] for name in split.train} & {name[:3] for name in split.test}
        assert split.test
    tested = [name for split in splits.values() for name in split.test]
    assert sorted(tested) == sorted(NAMES)


def test_folds_are_as_equal_as_can_be() -> None:
    splits = make_splits(NAMES, folds=4)
    assert {len(split.test) for split in splits.values()} <= {len(NAMES) // 4, -(-len(NAMES) // 4)}


def test_splits_depend_on_the_seed_alone() -> None:
    assert make_splits(NAMES, folds=4, seed=3) == make_splits(NAMES, folds=4, seed=3)
    assert make_splits(NAMES, folds=4, seed=3) != make_splits(NAMES, folds=4, seed=4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"folds": 1},
            f"1 folds cannot be made from {len(NAMES)} videos; "
            "choose from 2 to the number of videos",
        ),
        (
            {"folds": 8, "group_by": "(P..)"},
            "8 folds cannot be made from 7 subjects; choose from 2 to the number of subjects",
        ),
        (
            {"folds": 2, "group_by": "P"},
            "group_by is 'P', not a regular expression with one group, "
            r"as in '^(P\d+)_'; correct group_by",
        ),
        (
            {"folds": 2, "group_by": "(P00)"},
            "'(P00)' finds no subject in video P01_0; "
            "change the expression so that it matches every video",
        ),
    ],
)
def test_impossible_splits(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises((ConfigError, InputError)) as caught:
        make_splits(NAMES, **arguments)
    assert str(caught.value) == sentence


def test_a_video_named_twice_cannot_be_split() -> None:
    with pytest.raises(InputError, match="a video is named more than once; name it once"):
        make_splits(("a", "a", "b"), folds=2)


def test_bundles_round_trip(tmp_path: Path) -> None:
    splits = {1: Split(("a", "b"), ("c",)), 2: Split(("c",), ("a", "b"))}
    write_splits(tmp_path / "splits", splits)
    assert read_splits(tmp_path / "splits") == splits
    assert (tmp_path / "splits" / "train.split1.bundle").read_text() == "a.txt\nb.txt\n"


def test_bundles_with_or_without_suffix_and_any_line_end(tmp_path: Path) -> None:
    (tmp_path / "train.split3.bundle").write_bytes(b"a.txt\r\nb\r\n\r\n")
    (tmp_path / "test.split3.bundle").write_bytes(b"c.npy")
    (tmp_path / "other.bundle").write_bytes(b"x")
    assert read_splits(tmp_path) == {3: Split(("a", "b"), ("c",))}


def test_no_splits(tmp_path: Path) -> None:
    assert read_splits(tmp_path / "none") == {}


def test_splits_are_replaced_only_on_request_and_then_all(tmp_path: Path) -> None:
    write_splits(tmp_path, make_splits(NAMES, folds=5))
    with pytest.raises(OutputError) as caught:
        write_splits(tmp_path, make_splits(NAMES, folds=3))
    assert str(caught.value) == (
        f"{tmp_path}: already has splits; pass --overwrite to replace them"
    )
    assert len(read_splits(tmp_path)) == 5
    write_splits(tmp_path, make_splits(NAMES, folds=3), overwrite=True)
    assert len(read_splits(tmp_path)) == 3


def test_two_files_of_one_side_are_a_fault_and_both_are_replaced(tmp_path: Path) -> None:
    write_splits(tmp_path, make_splits(NAMES, folds=2))
    second = tmp_path / "train.split1.bundle"
    (tmp_path / "train.split01.bundle").write_text("P00_0\n")
    with pytest.raises(SplitError) as caught:
        read_splits(tmp_path)
    assert str(caught.value) == (
        f"{second}: is a second file for the train side of split 1; remove one of them"
    )
    faults: list[Exception] = []
    assert list(read_splits(tmp_path, faults.append)) == [2]
    assert len(faults) == 1
    write_splits(tmp_path, make_splits(NAMES, folds=3), overwrite=True)
    assert not (tmp_path / "train.split01.bundle").exists()
    assert list(read_splits(tmp_path)) == [1, 2, 3]


def test_faults_of_a_split() -> None:
    folder = Path("splits")
    split = Split(("a", "a", "b", "x"), ("b",))
    faults = [str(fault) for fault in split_faults(2, split, VideoNames("ab"), folder)]
    train = folder / "train.split2.bundle"
    assert faults == [
        f"{train}: names video a 2 times; name it once",
        f"{train}: names video x, which does not exist; add its files or remove it from the split",
        f"{folder}: video b is on both sides of split 2; name it once",
    ]


def test_a_side_without_a_file_is_not_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "train.split1.bundle").write_text("a\n")
    test = tmp_path / "test.split1.bundle"

    def faults() -> list[str]:
        split = read_splits(tmp_path)[1]
        return [str(fault) for fault in split_faults(1, split, VideoNames("a"), tmp_path)]

    assert faults() == [f"{test}: does not exist; list one video per line"]
    test.with_name("test.split01.bundle").touch()
    assert faults() == [f"{test}: names no videos; list one video per line"]


def test_an_unreadable_bundle(tmp_path: Path) -> None:
    write_splits(tmp_path, make_splits(NAMES, folds=2))
    (tmp_path / "test.split1.bundle").write_bytes(b"\xff")
    with pytest.raises(CorruptFileError, match=r"test.split1.bundle: cannot be read as text"):
        read_splits(tmp_path)
    faults: list[Exception] = []
    assert list(read_splits(tmp_path, faults.append)) == [2]
    assert len(faults) == 1


@settings(max_examples=30, deadline=None)
@given(fraction=st.floats(0.05, 0.95), seed=st.integers(0, 99))
def test_the_validation_part_keeps_subjects_together(fraction: float, seed: int) -> None:
    train, validation = validation_part(NAMES, fraction, group_by=r"^(P\d+)", seed=seed)
    assert sorted((*train, *validation)) == sorted(NAMES)
    assert train
    assert validation
    assert not {name[:3] for name in train} & {name[:3] for name in validation}
    # as near as the largest subject allows, if the first one drawn is not too large already
    assert abs(len(validation) - fraction * len(NAMES)) <= 3


@pytest.mark.parametrize(
    ("names", "fraction", "sentence"),
    [
        (NAMES, 0.0, "a validation fraction of 0.0; choose one in (0, 1)"),
        (
            ("a",),
            0.5,
            "1 video is too few for a validation part; "
            "train on at least two videos or without a validation part",
        ),
    ],
)
def test_impossible_validation_parts(
    names: tuple[str, ...], fraction: float, sentence: str
) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        validation_part(names, fraction)


@pytest.mark.parametrize("name", ["a.npy", "a.txt", "a.npy.txt", "a b", "é", "a\u00a0b"])
def test_odd_names_come_back(tmp_path: Path, name: str) -> None:
    splits = {1: Split((name,), ("b",))}
    write_splits(tmp_path, splits)
    assert read_splits(tmp_path) == splits


@pytest.mark.parametrize("name", ["a\nb", "a\rb", " a", "\u00a0a", "\ufeffa"])
def test_a_name_that_no_bundle_can_hold_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError) as caught:
        write_splits(tmp_path, {1: Split((name,), ("b",))})
    assert "cannot be listed in a split; rename its files" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_splits_are_not_replaced_through_a_link(tmp_path: Path) -> None:
    write_splits(tmp_path / "theirs", make_splits(NAMES, folds=5))
    (tmp_path / "splits").symlink_to("theirs")
    with pytest.raises(OutputError) as caught:
        write_splits(tmp_path / "splits", make_splits(NAMES, folds=3), overwrite=True)
    assert str(caught.value) == (
        f"{tmp_path / 'splits'}: is a link to theirs, whose splits would be replaced; "
        "remove the link, or split the dataset it belongs to"
    )
    assert len(read_splits(tmp_path / "theirs")) == 5
