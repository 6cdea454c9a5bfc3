"""The same video under the names that tools give it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from uvast.data import Dataset, Split, check_dataset
from uvast.data.video_names import VideoNames, core_name, listed_stems, pair_stems
from uvast.errors import MissingFileError, SplitError

DLC = "DLC_resnet50_boxJul1shuffle1_100000"


@pytest.mark.parametrize(
    ("name", "core"),
    [
        ("mouse01", "mouse01"),
        ("mouse01.mp4", "mouse01"),
        ("mouse01.MP4.csv", "mouse01"),
        (f"mouse01{DLC}", "mouse01"),
        (f"mouse01{DLC}.h5", "mouse01"),
        ("rgb-01-1.5", "rgb-01-1.5"),
        (".mp4", ".mp4"),
    ],
)
def test_what_tools_add_is_taken_off(name, core):
    assert core_name(name) == core


def names_of(features: set[str], labels: set[str]) -> tuple[dict[str, str], dict[str, str]]:
    return pair_stems(frozenset(features), frozenset(labels))


def test_equal_names_stay_as_they_are():
    names = {"a.mp4", "b.mp4", f"c{DLC}"}
    assert names_of(names, names) == ({n: n for n in names}, {n: n for n in names})


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        ({f"m1{DLC}", f"m2{DLC}"}, {"m1", "m2"}),
        ({"m1.mp4", "m2.mp4"}, {"m1", "m2"}),
        ({"m1", "m2"}, {"m1.avi", "m2.avi"}),
        ({f"m1{DLC}", f"m2{DLC}"}, {"m1.mp4", "m2.mp4"}),
        ({"m1_features", "m2_features"}, {"m1", "m2"}),
        ({"m1", "m2"}, {"m1-labels", "m2-labels"}),
    ],
)
def test_names_that_only_differ_by_what_was_added_belong_together(features, labels):
    by_features, by_labels = names_of(features, labels)
    assert set(by_features) == set(by_labels) == {"m1", "m2"}
    assert set(by_features.values()) == features
    assert set(by_labels.values()) == labels
    assert all(by_features[name].startswith(name) for name in ("m1", "m2"))


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        ({"mouse10"}, {"mouse1"}),
        ({"mouse1_2"}, {"mouse1"}),
        ({f"m1{DLC}", "m1DLC_other"}, {"m1"}),
        ({"m1.mp4", "m1.avi"}, {"m1"}),
        ({"a_left", "b_left"}, {"a_right", "b_right"}),
        ({"m1_x", "m2_x"}, {"m1"}),
    ],
)
def test_what_may_be_another_video_is_left_alone(features, labels):
    assert names_of(features, labels) == ({n: n for n in features}, {n: n for n in labels})


def test_a_dataset_under_four_kinds_of_names(make_dataset):
    path = make_dataset({"m1": "aab", "m2": "ab", "m3": "abab"})
    for file in (path / "features").iterdir():
        file.rename(file.with_name(f"{file.stem}{DLC}.npy"))
    (path / "timestamps.csv").write_text("video,frame,label\nm1.mp4,0,a\nm2.MOV,1,b\n")
    (path / "splits").mkdir()
    (path / "splits" / "train.split1.bundle").write_text("m1.avi.txt\nm3\n")
    (path / "splits" / "test.split1.bundle").write_text(f"m2{DLC}.npy\n")
    dataset = Dataset.open(path)
    assert dataset.names == ("m1", "m2", "m3")
    assert dataset.video("m3").n_frames == 4
    np.testing.assert_array_equal(dataset.video("m1").labels, [0, 0, 1])
    assert list(dataset.timestamps()) == ["m1", "m2"]
    assert dataset.splits == {1: Split(("m1", "m3"), ("m2",))}
    assert dataset.side(1, "test") == ("m2",)
    report = check_dataset(path)
    assert report.ok
    assert f"features m1{DLC}.npy are matched to labels m1.txt by name (and 2 more)" in report.notes


def test_a_name_that_nothing_matches_is_told_with_the_nearest(make_dataset):
    path = make_dataset({"mouse01_day1": "aab", "mouse02_day1": "ab"})
    (path / "splits").mkdir()
    for side in ("train", "test"):
        (path / "splits" / f"{side}.split1.bundle").write_text("mouse02\n")
    with pytest.raises(SplitError) as caught:
        Dataset.open(path).side(1, "train")
    assert str(caught.value).endswith(
        "names video mouse02, which does not exist; did you mean mouse02_day1? "
        "If not, add its files or remove it from the split"
    )
    assert VideoNames(["abc"]).remedy("xyz", "mend") == "mend"
    assert VideoNames([]).remedy("xyz", "mend") == "mend"
    assert "MOUSE7" in VideoNames(["MOUSE7", "rat"]).remedy("mouse7", "mend")


def test_files_of_macos_and_links_to_nowhere(make_dataset, tmp_path: Path):
    path = make_dataset({"v": "aab", "w": "ab"})
    (path / "features" / "._v.npy").write_bytes(b"\0")
    (path / "groundTruth" / "._v.txt").write_bytes(b"\0")
    (path / "._x_annotation_all.npy").write_bytes(b"\0")
    assert check_dataset(path).ok
    (path / "features" / "w.npy").unlink()
    (path / "features" / "w.npy").symlink_to("gone.npy")
    (problem,) = check_dataset(path).problems
    assert problem == (
        f"{path / 'features' / 'w.npy'}: is a link to gone.npy, which does not exist; "
        "restore what it links to, or remove the link"
    )
    (tmp_path / "folder").symlink_to("gone")
    with pytest.raises(MissingFileError, match="is a link to gone"):
        listed_stems(tmp_path / "folder", ".npy")
    (tmp_path / "file").touch()
    with pytest.raises(MissingFileError, match="is not a folder"):
        listed_stems(tmp_path / "file", ".npy")


@pytest.mark.parametrize("name", ["dataset.toml", "mapping.txt", "timestamps.json"])
def test_a_link_to_nowhere_is_not_an_absent_file(make_dataset, name):
    path = make_dataset({"v": "aab", "w": "ab"})
    (path / name).symlink_to("gone")
    assert f"{path / name}: is a link to gone, which does not exist" in "".join(
        check_dataset(path).problems
    )
