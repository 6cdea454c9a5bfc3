"""Symmetries that a user declares in dataset.toml."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from uvast.data import Dataset, DatasetSpec, SymmetrySpec, check_dataset, read_spec, write_spec
from uvast.errors import ConfigError
from uvast.segments import UNLABELLED, Segmentation

VIDEOS = {"v": "abbc", "w": "cab"}
MIRROR = """
frames_per_second = 15.0

[symmetry]
columns = [2, 3, 0, 1]
signs = [-1, 1, -1, 1]
offsets = [640, 0, 640, 0.5]
classes = {a = "c", c = "a"}
"""


def test_a_mirrored_video_by_hand(make_dataset) -> None:
    dataset = Dataset.open(make_dataset(VIDEOS, spec=MIRROR))
    video, target = dataset.video("v", labels=False), Segmentation([0, 1, 2, UNLABELLED], [1] * 4)
    mirrored, changed = dataset.symmetry.mirrored(video, target)
    assert video.features[1].tolist() == [4, 5, 6, 7]
    assert mirrored.features[1].tolist() == [640 - 6, 7, 640 - 4, 5.5]
    assert mirrored.features.dtype == np.float32
    assert changed == Segmentation([2, 1, 0, UNLABELLED], [1] * 4)
    again, same = dataset.symmetry.mirrored(mirrored, changed)
    np.testing.assert_array_equal(again.features[:, ::2], video.features[:, ::2])
    assert same == target


def test_a_levelled_video_is_mirrored_as_if_that_had_come_first(make_dataset) -> None:
    dataset = Dataset.open(make_dataset(VIDEOS, spec=MIRROR))
    for name, target in (("v", Segmentation([0], [4])), ("w", Segmentation([2], [3]))):
        first, _ = dataset.symmetry.mirrored(dataset.video(name, labels=False), target)
        levelled = dataset.levelled()
        later, _ = levelled.symmetry.mirrored(levelled.video(name, labels=False), target)
        np.testing.assert_allclose(later.features, first.levelled().features, atol=1e-5)


def test_it_need_not_undo_itself(make_dataset) -> None:
    spec = "[symmetry]\ncolumns = [1, 2, 3, 0]\nclasses = {a = 'b', b = 'c', c = 'a'}"
    dataset = Dataset.open(make_dataset(VIDEOS, spec=spec))
    video, target = dataset.video("v", labels=False), Segmentation([0, 1, 2], [1, 2, 1])
    mirrored, changed = dataset.symmetry.mirrored(video, target)
    np.testing.assert_array_equal(mirrored.features, np.roll(video.features, -1, axis=1))
    assert changed.transcript.tolist() == [1, 2, 0]


def test_no_symmetry_is_declared(make_dataset) -> None:
    assert Dataset.open(make_dataset(VIDEOS)).symmetry is None


def test_a_declaration_round_trips(tmp_path: Path) -> None:
    spec = DatasetSpec(
        sampling_rate=2,
        symmetry=SymmetrySpec((1, 0), signs=(-1, 1), offsets=(0.5, 0.0), classes={"a": "a"}),
    )
    write_spec(tmp_path, spec)
    assert read_spec(tmp_path) == spec
    bare = replace(spec, symmetry=SymmetrySpec((1, 0)))
    write_spec(tmp_path, bare)
    assert read_spec(tmp_path) == bare
    assert "signs" not in (tmp_path / "dataset.toml").read_text()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("columns = [1, 0]", "symmetry.columns is for features of 2 columns, but these have 4; "
         "give one entry for each column"),
        ("columns = [0, 1, 2, 3]\nsigns = [1]", "symmetry.signs is for features of 1 columns, "
         "but these have 4; give one entry for each column"),
        ("columns = [0, 1, 2, 3]\noffsets = [0, 0, 0, 0, 0]", "symmetry.offsets is for features "
         "of 5 columns, but these have 4; give one entry for each column"),
        ("columns = [0, 1, 1, 1]", "symmetry.columns names column 1 more than once and column 2 "
         "never; name every column once, counted from 0"),
        ("columns = [0, 1, 2, 4]", "symmetry.columns names column 4, but the last one is 3; "
         "name every column once, counted from 0"),
        ("columns = [0, 1, 2, 3]\nclasses = {a = 'b'}", "symmetry.classes turns 2 classes into b; "
         "say what each of them becomes, every class once"),
        ("columns = [0, 1, 2, 3]\nclasses = {a = 'x', y = 'a'}", "symmetry.classes names classes "
         "that do not exist: x, y; choose from a, b, c"),
        ("signs = [1, 1, 1, 1]", "symmetry.columns is missing; correct symmetry"),
        ("columns = [0, 1, 2, -3]", "symmetry.columns.3 is -3, below 0; correct symmetry"),
        ("columns = [0, 1, 2, 3]\nsigns = [1, 1, 1, 2]", "symmetry.signs.3 is 2, not -1 or 1; "
         "correct symmetry"),
        ("columns = [0, 1, 2, 3]\noffsets = [nan, 0, 0, 0]", "symmetry.offsets.0 is nan"),
        ("columns = [0, 1, 2, 3]\nsign = 1", "symmetry.sign is unknown; correct symmetry"),
    ],
)  # fmt: skip
def test_faulty_declarations_are_one_sentence(make_dataset, lines: str, sentence: str) -> None:
    path = make_dataset(VIDEOS, spec=f"[symmetry]\n{lines}\n")
    with pytest.raises(ConfigError) as caught:
        Dataset.open(path).symmetry  # noqa: B018
    assert str(caught.value).startswith(f"{path / 'dataset.toml'}: {sentence}")
    (problem,) = check_dataset(path).problems
    assert problem == str(caught.value)


def test_data_check_shows_it(make_dataset) -> None:
    notes = check_dataset(make_dataset(VIDEOS, spec=MIRROR)).notes
    assert (
        "a symmetry is declared: 4 of 4 columns move and 2 change their sign, "
        "a becomes c, c becomes a" in notes
    )


def test_the_examples_of_the_docs_are_declarations(make_dataset) -> None:
    text = (Path(__file__).parents[2] / "docs" / "data.md").read_text("utf-8")
    blocks = re.findall(r"^```toml\n(.+?)^```", text, re.MULTILINE | re.DOTALL)
    declared = [block for block in blocks if "[symmetry]" in block]
    assert len(declared) == 2
    mapping = "0 turn_left\n1 turn_right\n2 SIL\n"
    path = make_dataset({"v": "ab", "w": "aab"}, spec=declared[1], mapping=mapping)
    assert Dataset.open(path).symmetry.classes.tolist() == [1, 0, 2]
    (path / "dataset.toml").write_text(declared[0])
    assert Dataset.open(path).symmetry.columns.tolist() == [2, 3, 0, 1]
