import shutil
from pathlib import Path

import numpy as np
import pytest

from uvast.data import Dataset, DatasetSpec, Video
from uvast.errors import (
    ConfigError,
    FeatureError,
    InputError,
    LabelError,
    MissingFileError,
    SplitError,
)
from uvast.segments import Segmentation


def test_a_dataset_by_hand(make_dataset) -> None:
    path = make_dataset({"v2": "aabbb", "v1": "bba"}, spec='background = ["b"]')
    dataset = Dataset.open(path)
    assert dataset.names == ("v1", "v2")
    assert dataset.name == "data"
    assert repr(dataset) == f"Dataset({str(path)!r}, 2 videos)"
    assert dataset.vocabulary.names == ("a", "b")
    assert dataset.vocabulary.background == ("b",)
    assert (dataset.feature_axis, dataset.n_features) == ("features-first", 4)
    video = dataset.video("v2")
    np.testing.assert_array_equal(video.labels, [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(video.features, np.arange(20).reshape(5, 4))
    assert dataset.source_segmentation("v1") == Segmentation([1, 0], [2, 1])
    assert dataset.splits == {}
    assert dataset.side(None, "train") == ("v1", "v2")
    assert dataset.trim_summary() is None


def test_the_axis_is_read_from_the_spec_or_the_files(make_dataset) -> None:
    path = make_dataset({"v": "aabb"}, n_features=4)
    with pytest.raises(FeatureError) as caught:
        Dataset.open(path).video("v")
    assert str(caught.value) == (
        f"{path / 'features' / 'v.npy'}: features of shape 4x4 do not show which axis is time; "
        'set feature_axis to "time-first" or "features-first" in dataset.toml'
    )
    for axis, expected in (("features-first", [0, 1, 2, 3]), ("time-first", [0, 4, 8, 12])):
        dataset = Dataset.open(path, spec=DatasetSpec(feature_axis=axis))
        np.testing.assert_array_equal(dataset.video("v").features[0], expected)


def test_sub_sampling(make_dataset) -> None:
    path = make_dataset({"v": "aaabbbb"}, spec="sampling_rate = 3")
    video = Dataset.open(path).video("v")
    np.testing.assert_array_equal(video.labels, [0, 1, 1])
    np.testing.assert_array_equal(video.features[:, 0], [0, 12, 24])
    assert (video.n_frames, video.source_frames, video.sampling_rate) == (3, 7, 3)


def test_one_frame_one_class_and_one_video_are_fine(make_dataset) -> None:
    dataset = Dataset.open(make_dataset({"v": "a"}))
    assert dataset.vocabulary.names == ("a",)
    video = dataset.video("v")
    assert video.features.shape == (1, 4)
    np.testing.assert_array_equal(video.labels, [0])


def test_small_differences_in_length_are_trimmed_with_a_summary(make_dataset) -> None:
    path = make_dataset({"v1": "a" * 100, "v2": "a" * 110})
    labels = path / "groundTruth" / "v1.txt"
    dataset = Dataset.open(path)
    for n_labels, n_frames in ((98, 98), (102, 100)):
        labels.write_text("a\n" * n_labels)
        video = dataset.video("v1")
        assert (video.n_frames, len(video.labels)) == (n_frames, n_frames)
        assert dataset.trim_summary() == (
            "1 video trimmed: labels and features differ by up to 2 frames (first: v1)"
        )
    labels.write_text("a\n" * 97)
    with pytest.raises(LabelError) as caught:
        dataset.video("v1")
    assert str(caught.value) == (
        f"{labels}: holds 97 labels for the 100 frames of {path / 'features' / 'v1.npy'}; "
        "extract the features again, or set tolerance = 0.03 in dataset.toml"
    )


def test_an_unknown_label(make_dataset) -> None:
    path = make_dataset({"v": "aab"}, mapping="0 a\n1 c\n")
    with pytest.raises(LabelError) as caught:
        Dataset.open(path).source_labels("v")
    assert str(caught.value) == (
        f"{path / 'groundTruth' / 'v.txt'}, line 3: unknown label 'b'; "
        "correct it or add it to a mapping.txt of all classes (known: a, c)"
    )


def test_the_word_for_frames_without_a_label_is_no_class(make_dataset):
    path = make_dataset({"v": "aab"})
    labels = path / "groundTruth" / "v.txt"
    labels.write_text("a\na\nunlabelled\n")
    with pytest.raises(LabelError, match=r"'unlabelled' is the word for frames without a label.*"):
        _ = Dataset.open(path).vocabulary
    (path / "mapping.txt").write_text("0 a\n1 b\n")
    with pytest.raises(LabelError, match=r"line 3: unknown label 'unlabelled'; say in labelled"):
        Dataset.open(path).source_labels("v")


def test_a_video_of_another_width(generated_copy: Path) -> None:
    dataset = Dataset.open(generated_copy)
    path = dataset.features_path(dataset.names[0])
    np.save(path, np.load(path)[:5])
    with pytest.raises(FeatureError) as caught:
        dataset.video(dataset.names[0])
    assert str(caught.value) == (
        f"{path}: has features of width 5, but other videos have 8; "
        "extract the features of this video again"
    )


def test_a_transposed_video(generated_copy: Path) -> None:
    dataset = Dataset.open(generated_copy)
    name = dataset.names[0]
    path, labels = dataset.features_path(name), dataset.labels_path(name)
    features = np.load(path)
    np.save(path, features.T)
    width, n_frames = features.shape
    dataset = Dataset.open(generated_copy)
    with pytest.raises(FeatureError) as caught:
        dataset.video(name, labels=False)
    assert str(caught.value) == (
        f"{path}: has features of width {n_frames}, but other videos have {width}; "
        "transpose this file: its axes are the other way round"
    )
    with pytest.raises(LabelError) as caught:
        dataset.source_labels(name)
    assert str(caught.value) == (
        f"{labels}: holds {n_frames} labels for the {width} frames of {path}; "
        "transpose the features, whose other axis fits, "
        "or set feature_axis in dataset.toml if all files are like this one"
    )


def test_nan_features(generated_copy: Path) -> None:
    dataset = Dataset.open(generated_copy)
    path = dataset.features_path(dataset.names[0])
    features = np.load(path)
    features[3, 7] = np.nan
    np.save(path, features)
    with pytest.raises(FeatureError) as caught:
        dataset.video(dataset.names[0])
    assert str(caught.value) == (
        f"{path}: holds 1 NaN or infinite values, first in frame 7; "
        "extract the features of this video again"
    )


def test_videos_without_labels_load_without_labels(generated_copy: Path) -> None:
    shutil.rmtree(generated_copy / "groundTruth")
    dataset = Dataset.open(generated_copy)
    assert dataset.video(dataset.names[0], labels=False).labels is None
    assert not dataset.has_labels(dataset.names[0])
    with pytest.raises(MissingFileError, match="does not exist; label this video or remove it"):
        dataset.video(dataset.names[0])


def test_labels_without_features(generated_copy: Path) -> None:
    expected = Dataset.open(generated_copy).names
    shutil.rmtree(generated_copy / "features")
    dataset = Dataset.open(generated_copy)
    assert dataset.names == expected
    assert dataset.source_frames(expected[0]) == len(dataset.source_labels(expected[0]))
    with pytest.raises(MissingFileError) as caught:
        _ = dataset.n_features
    assert str(caught.value) == (
        f"{generated_copy / 'features'}: does not exist; this dataset has no features, add them"
    )


def test_what_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError) as caught:
        Dataset.open(tmp_path / "none")
    assert str(caught.value) == f"{tmp_path / 'none'}: does not exist; give the folder of a dataset"
    (tmp_path / "file").touch()
    with pytest.raises(MissingFileError) as caught:
        Dataset.open(tmp_path / "file")
    assert (
        str(caught.value) == f"{tmp_path / 'file'}: is not a folder; give the folder of a dataset"
    )
    with pytest.raises(MissingFileError) as caught:
        Dataset.open(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: has no videos, neither features/*.npy nor groundTruth/*.txt; "
        "give the folder of a dataset"
    )


def test_an_unknown_video(generated: Path) -> None:
    dataset = Dataset.open(generated)
    for call in (dataset.video, dataset.source_labels, dataset.source_frames):
        with pytest.raises(MissingFileError) as caught:
            call("nobody")
        assert str(caught.value) == (
            f"{generated}: has no video nobody; check the name of the video"
        )


def test_a_class_called_background_is_background_unless_the_spec_says_otherwise(
    make_dataset,
) -> None:
    (path := make_dataset({"v": "aab"})).joinpath("mapping.txt").write_text(
        "0 a\n1 b\n2 background\n"
    )
    assert Dataset.open(path).vocabulary.background == ("background",)
    (path / "dataset.toml").write_text("background = []\n")
    assert Dataset.open(path).vocabulary.background == ()


def test_background_that_is_no_class(make_dataset) -> None:
    path = make_dataset({"v": "aab"}, spec='background = ["SIL"]')
    with pytest.raises(ConfigError) as caught:
        _ = Dataset.open(path).vocabulary
    assert str(caught.value) == (
        f"{path / 'dataset.toml'}: background names classes that do not exist: SIL; "
        "choose from a, b"
    )


def test_classes_that_nothing_tells(make_dataset) -> None:
    path = make_dataset({"v": "aab"})
    (path / "groundTruth" / "v.txt").unlink()
    with pytest.raises(MissingFileError) as caught:
        _ = Dataset.open(path).vocabulary
    assert str(caught.value) == (
        f"{path}: has neither mapping.txt nor labels that show its classes; "
        "add mapping.txt with lines 'id name'"
    )
    (path / "timestamps.json").write_text('{"v": [{"frame": 0, "label": "pour"}]}')
    assert Dataset.open(path).vocabulary.names == ("pour",)


def test_splits_of_a_dataset(generated: Path) -> None:
    dataset = Dataset.open(generated)
    assert list(dataset.splits) == [1, 2, 3, 4]
    sides = (*dataset.side(1, "train"), *dataset.side(1, "test"))
    assert sorted(sides) == list(dataset.names)
    with pytest.raises(SplitError) as caught:
        dataset.side(9, "test")
    assert str(caught.value) == f"{generated}: has no split 9; choose from 1, 2, 3, 4"
    with pytest.raises(InputError, match="side 'val'; choose 'train' or 'test'"):
        dataset.side(1, "val")


def test_no_splits_and_broken_splits(generated_copy: Path) -> None:
    bundle = generated_copy / "splits" / "test.split1.bundle"
    bundle.write_text("nobody.txt\n")
    with pytest.raises(SplitError) as caught:
        Dataset.open(generated_copy).side(1, "train")
    assert str(caught.value) == (
        f"{bundle}: names video nobody, which does not exist; "
        "add its files or remove it from the split"
    )
    shutil.rmtree(generated_copy / "splits")
    with pytest.raises(SplitError) as caught:
        Dataset.open(generated_copy).side(1, "train")
    assert str(caught.value) == (
        f"{generated_copy}: has no split 1; make splits with 'uvast data split'"
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.zeros(3), None, 3), "features of shape (3,), not (T, F)"),
        (
            (np.zeros((3, 2)), None, 4),
            "4 source frames at sampling rate 1 cannot be 3 frames",
        ),
        ((np.zeros((3, 2)), np.zeros(4, int), 3), "labels of shape (4,), not (3,)"),
    ],
)
def test_videos_whose_parts_do_not_fit(arguments: tuple, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        Video("v", *arguments)
    assert str(caught.value) == sentence
