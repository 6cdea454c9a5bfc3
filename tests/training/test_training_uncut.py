"""What decoding learns of lengths and order where stretches cut videos."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from uvast.data import Dataset, write_labelled
from uvast.data.labelled import LABELLED_FILE
from uvast.data.spec import DatasetSpec
from uvast.durations import CutEnds, LengthModel
from uvast.inference.priors import Priors
from uvast.segments import Segmentation
from uvast.training.samples import cut_ends

WHOLE = Segmentation([0, 1, 2], [5, 6, 7])
STRETCH = Segmentation([2, 0, 1, 3], [1, 8, 9, 2])


@pytest.mark.parametrize(
    ("cut", "actions", "durations"),
    [
        (CutEnds(), [2, 0, 1, 3], [1, 8, 9, 2]),
        (CutEnds(at_start=True), [0, 1, 3], [8, 9, 2]),
        (CutEnds(at_end=True), [2, 0, 1], [1, 8, 9]),
        (CutEnds(at_start=True, at_end=True), [0, 1], [8, 9]),
    ],
)
def test_segments_that_may_go_on_outside_have_no_length(
    cut: CutEnds, actions: list[int], durations: list[int]
) -> None:
    inside = cut.inside(STRETCH)
    assert inside.transcript.tolist() == actions
    assert inside.durations.tolist() == durations
    priors = Priors.fit([WHOLE, STRETCH], 4, cuts=[CutEnds(), cut])
    expected = LengthModel.fit([WHOLE, inside], 4, "gamma")
    np.testing.assert_array_equal(priors.gamma.means, expected.means)


def test_only_the_ends_of_a_video_count_as_its_first_and_last_actions() -> None:
    plain = Priors.fit([WHOLE] * 6, 4).transitions
    both = CutEnds(at_start=True, at_end=True)
    found = Priors.fit([WHOLE] * 6, 4, cuts=[both] * 6).transitions
    np.testing.assert_array_equal(found.bigram, plain.bigram)
    np.testing.assert_allclose(np.exp(found.initial), 0.25)
    assert found.final is not None
    # 6 times 0 and 1 were seen to go on, 2 and 3 were never seen to go on or to end
    np.testing.assert_allclose(np.exp(found.final), [0.5 / 7, 0.5 / 7, 0.5, 0.5])
    start = Priors.fit([WHOLE] * 6, 4, cuts=[CutEnds(at_end=True)] * 6).transitions
    np.testing.assert_array_equal(start.initial, plain.initial)
    end = Priors.fit([WHOLE] * 6, 4, cuts=[CutEnds(at_start=True)] * 6).transitions
    np.testing.assert_array_equal(end.final, plain.final)


def test_recipes_are_of_whole_videos_if_there_are_any() -> None:
    cut = CutEnds(at_start=True)
    assert Priors.fit([WHOLE, STRETCH], 4, cuts=[CutEnds(), cut]).transcripts == ((0, 1, 2),)
    assert Priors.fit([STRETCH], 4, cuts=[cut]).transcripts == ((2, 0, 1, 3),)


def test_if_all_are_cut_all_count() -> None:
    short = Segmentation([1], [3])
    cuts = [CutEnds(at_start=True)]
    np.testing.assert_array_equal(
        Priors.fit([short], 4, cuts=cuts).gamma.means, Priors.fit([short], 4).gamma.means
    )


def test_where_stretches_are_cut(tiny_path: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_path, tmp_path / "data")
    data = Dataset.open(copy)
    name = data.names[0]
    n_frames = data.source_frames(name)
    write_labelled(copy / LABELLED_FILE, {name: [(0, 5), (7, 12), (20, n_frames)]})
    data = Dataset.open(copy)
    assert [cut_ends(data, one) for one in data.samples(name)] == [
        CutEnds(at_start=False, at_end=True),
        CutEnds(at_start=True, at_end=True),
        CutEnds(at_start=True, at_end=False),
    ]
    assert cut_ends(data, data.names[1]) == CutEnds()


def test_a_stretch_up_to_the_end_of_the_labels_is_not_cut_there(
    tiny_path: Path, tmp_path: Path
) -> None:
    """Features may be a little longer than labels."""
    copy = Path(shutil.copytree(tiny_path, tmp_path / "data"))
    name = Dataset.open(copy).names[0]
    path = copy / "groundTruth" / f"{name}.txt"
    labels = path.read_text().splitlines()[:-1]
    path.write_text("\n".join(labels) + "\n")
    write_labelled(copy / LABELLED_FILE, {name: [(20, len(labels))]})
    data = Dataset.open(copy, spec=DatasetSpec(tolerance=0.1))
    (stretch,) = data.samples(name)
    assert cut_ends(data, stretch) == CutEnds(at_start=True, at_end=False)
