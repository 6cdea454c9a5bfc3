"""Prediction files: both formats, every length, and each error's sentence."""

from __future__ import annotations

import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.errors import CorruptFileError, LabelError, MissingFileError
from uvast.evaluation import (
    find_predictions,
    folder_of_split,
    read_prediction,
    write_prediction,
)
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

CLASSES = Vocabulary(("cut", "pour", "stir"))
HEADER = "### Frame level recognition: ###\n"


@pytest.fixture
def read(tmp_path):
    """Reads a text as the prediction of a video; gives frame labels."""

    def read_text(text: str, n_frames: int, classes: Vocabulary = CLASSES, **options):
        path = tmp_path / "video.txt"
        path.write_bytes(text.encode())
        return read_prediction(
            path, classes, n_frames=n_frames, **options
        ).segmentation.labels.tolist()

    return read_text


@pytest.mark.parametrize(
    "text",
    [
        "cut\ncut\npour\n",
        "cut\ncut\npour",
        "cut\r\ncut\r\npour\r\n",
        "\ufeffcut\ncut\npour\n\n",
        "cut \n cut\npour\n",
        HEADER + "cut cut pour",
        HEADER + "cut cut pour\n",
        HEADER.replace("\n", "\r\n") + "cut  cut\tpour \r\n",
        "#\ncut cut pour",
    ],
)
def test_both_formats_with_any_line_ends(read, text):
    assert read(text, 3) == [0, 0, 1]


def test_one_frame(read):
    assert read("stir", 1) == [2]
    assert read(HEADER + "stir\n", 1) == [2]


def test_a_class_may_start_with_a_hash(read):
    classes = Vocabulary(("#1", "#2"))
    assert read("#1\n#2\n", 2, classes) == [0, 1]
    assert read(HEADER + "#1 #2", 2, classes) == [0, 1]


def test_class_names_with_blanks_take_one_line_each(read):
    classes = Vocabulary(("cut", "pour milk"))
    assert read("cut\npour milk\n", 2, classes) == [0, 1]
    with pytest.raises(
        LabelError, match=r"label 2: unknown label 'pour'; write one label per line"
    ):
        read(HEADER + "cut pour milk", 2, classes)


def test_a_sampled_prediction_is_repeated_back(read):
    assert read("cut\npour\nstir\n", 6, sampling_rate=2) == [0, 0, 1, 1, 2, 2]
    assert read("cut\npour\nstir\n", 5, sampling_rate=2) == [0, 0, 1, 1, 2]
    assert read("cut\npour\n", 4, sampling_rate=3) == [0, 0, 0, 1]


def test_a_prediction_repeated_past_the_end_is_cut(read):
    # published code repeats the last sampled frame in full
    text = HEADER + "cut cut pour pour stir stir"
    assert read(text, 5, sampling_rate=2) == [0, 0, 1, 1, 2]
    with pytest.raises(LabelError, match="holds 6 labels, the video has 5 frames"):
        read(HEADER + "cut pour pour pour stir stir", 5, sampling_rate=2)


def test_a_length_that_another_rate_explains_names_that_rate(read):
    repeated = HEADER + "cut cut pour pour stir stir"
    for text, n_frames in ((repeated, 5), ("cut\npour\nstir\n", 5), ("cut\npour\nstir\n", 6)):
        with pytest.raises(LabelError, match=r"frame, or set sampling_rate = 2 in dataset\.toml"):
            read(text, n_frames)
    with pytest.raises(LabelError, match=r"5 frames; predict one label for every frame$"):
        read(HEADER + "cut pour pour pour stir stir", 5)


def test_a_prediction_at_the_original_rate_is_taken_as_it_is(read):
    assert read("cut\npour\ncut\npour\n", 4, sampling_rate=2) == [0, 1, 0, 1]


def test_a_prediction_of_an_untrimmed_length_is_trimmed(read):
    assert read("cut\npour\nstir\n", 2, untrimmed=(3, 2)) == [0, 1]
    with pytest.raises(LabelError, match="holds 3 labels, the video has 2 frames"):
        read("cut\npour\nstir\n", 2, untrimmed=(4, 2))


@settings(deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=30), st.integers(1, 4), st.integers(0, 3))
def test_sampling_and_repeating_back_is_what_the_model_saw(tmp_path_factory, labels, rate, cut):
    n_frames = max(1, len(labels) * rate - min(cut, rate - 1))
    path = tmp_path_factory.mktemp("predictions") / "video"
    write_prediction(path, Segmentation.from_labels(labels), CLASSES)
    found = read_prediction(
        path, CLASSES, n_frames=n_frames, sampling_rate=rate
    ).segmentation.labels
    assert found.tolist() == [labels[frame // rate] for frame in range(n_frames)]


def test_written_predictions_look_like_ground_truth(tmp_path):
    write_prediction(tmp_path / "video.txt", Segmentation([1, 0], [2, 1]), CLASSES)
    assert (tmp_path / "video.txt").read_text() == "pour\npour\ncut\n"


def test_writing_takes_little_more_than_the_file(tmp_path):
    classes = Vocabulary(("cut", "a long name " * 5 + "of a class"))
    long = Segmentation([0, 1, 0], [100_000, 1, 100_000])
    tracemalloc.start()
    write_prediction(tmp_path / "video.txt", long, classes)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = (tmp_path / "video.txt").stat().st_size
    assert size == 200_001 * 4 + len(classes.names[1]) - 3
    assert peak < 5 * size


def test_paths_may_be_plain_text(tmp_path):
    folder = str(tmp_path)
    write_prediction(f"{folder}/split1/a.txt", Segmentation([1, 0], [2, 1]), CLASSES)
    found = find_predictions(folder_of_split(folder, 1), ["a"])
    assert find_predictions(f"{folder}/split1", ["a"]) == found
    read = read_prediction(str(found["a"]), CLASSES, n_frames=3)
    assert read.segmentation.labels.tolist() == [1, 1, 0]


def test_files_are_found_with_and_without_suffix(tmp_path):
    (tmp_path / "a.txt").touch()
    (tmp_path / "b").touch()
    (tmp_path / "v1.0.txt").touch()
    (tmp_path / "d").mkdir()
    assert find_predictions(tmp_path, ["a", "b", "v1.0", "c", "d"]) == {
        "a": tmp_path / "a.txt",
        "b": tmp_path / "b",
        "v1.0": tmp_path / "v1.0.txt",
    }


def test_two_predictions_of_one_video(tmp_path):
    (tmp_path / "a.txt").touch()
    (tmp_path / "a").touch()
    with pytest.raises(LabelError, match=r"two predictions of one video: a.txt and a; remove one"):
        find_predictions(tmp_path, ["a"])


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(MissingFileError, match="nowhere: does not exist; give the folder that"):
        find_predictions(tmp_path / "nowhere", ["a"])
    (tmp_path / "a.txt").touch()
    with pytest.raises(MissingFileError, match=r"a.txt: is a file, not a folder; give the folder"):
        find_predictions(tmp_path / "a.txt", ["a"])


@pytest.mark.parametrize(
    ("text", "n_frames", "error", "sentence"),
    [
        ("", 1, LabelError, "video.txt: holds no labels; predict the video again"),
        (" \n\n", 1, LabelError, "video.txt: holds no labels; predict the video again"),
        ("cut\nfry\n", 2, LabelError, "video.txt, line 2: unknown label 'fry'; correct it or"),
        (HEADER + "cut fry", 2, LabelError, "video.txt, line 2, label 2: unknown label 'fry'; cor"),
        (HEADER, 2, CorruptFileError, "has a header and 0 more lines, not one line of labels; wri"),
        (HEADER + "cut\ncut", 2, CorruptFileError, "has a header and 2 more lines, not one line"),
        (
            "cut\ncut\n",
            7,
            LabelError,
            "video.txt: holds 2 labels, the video has 7 frames; predict one label for every frame, "
            "or set sampling_rate = 4 in dataset.toml if it was made at that rate",
        ),
    ],
)
def test_errors_name_the_place_and_the_cure(read, text, n_frames, error, sentence):
    with pytest.raises(error, match=re.escape(sentence)):
        read(text, n_frames)


def test_a_length_that_no_rate_explains(read):
    with pytest.raises(LabelError, match=r"has 3 frames; predict one label for every frame$"):
        read("cut\n" + "pour\n" * 3, 3)
    with pytest.raises(LabelError, match=r"has 73 frames; predict one label for every frame$"):
        read("cut\n", 73)  # a transcript, or the like
    with pytest.raises(LabelError, match="has 9 frames, or 5 at sampling rate 2; predict"):
        read("cut\n" * 8, 9, sampling_rate=2)
