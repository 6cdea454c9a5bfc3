"""Scores of a folder of predictions: splits, coverage, sampling, trimming."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from uvast.data import Dataset, DatasetSpec, Split, write_spec, write_splits
from uvast.errors import LabelError, MissingFileError, SplitError
from uvast.evaluation import evaluate, evaluate_in_detail

TRUTH = {"v1": "AABB", "v2": "AAAA", "v3": "BBBB", "v4": "_AB_"}
SPLITS = {
    1: Split(train=("v3", "v4"), test=("v1", "v2")),
    2: Split(train=("v1", "v2"), test=("v3", "v4")),
}


def write_texts(folder, texts):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text("".join(f"{letter}\n" for letter in text))


@pytest.fixture
def data(tmp_path):
    """Four videos in two splits; `_` is background."""
    folder = tmp_path / "data"
    write_texts(folder / "groundTruth", TRUTH)
    (folder / "mapping.txt").write_text("0 A\n1 B\n2 _\n")
    write_spec(folder, DatasetSpec(background=("_",)))
    write_splits(folder / "splits", SPLITS)
    return folder


@pytest.fixture
def predictions(tmp_path):
    return tmp_path / "predictions"


def test_the_mean_over_all_splits(data, predictions):
    write_texts(predictions, TRUTH | {"v1": "AAAB"})
    found = evaluate_in_detail(predictions, data)
    assert found.splits[1].acc == 87.5
    assert found.splits[2].acc == 100
    assert found.scores.acc == 93.75
    assert found.scores.n_videos == 4
    assert [one.video for one in found.videos] == ["v1", "v2", "v3", "v4"]
    assert found.videos[0].scores.acc == 75


def test_one_split_needs_only_its_own_predictions(data, predictions):
    write_texts(predictions, {"v3": "BBBB", "v4": "_BB_", "extra": "nonsense"})
    scores = evaluate(predictions, Dataset.open(data), 2)
    assert (scores.acc, scores.n_videos) == (87.5, 2)
    assert scores.edit == 75
    assert scores.f1[50] == pytest.approx(200 * 2 / (2 + 3))


def test_background_comes_from_the_dataset(data, predictions):
    write_texts(predictions, TRUTH | {"v4": "AAB_"})
    assert evaluate(predictions, data, 2).edit == 100
    write_spec(data, DatasetSpec())
    assert evaluate(predictions, data, 2).edit == pytest.approx((100 + 75) / 2)


@pytest.mark.parametrize("pattern", ["split{}", "split_{}"])
def test_each_split_may_have_its_own_folder(data, predictions, pattern):
    overlapping = {1: SPLITS[1], 2: Split(train=("v3", "v4"), test=("v1", "v2"))}
    write_splits(data / "splits", overlapping, overwrite=True)
    for number, text in ((1, "AABB"), (2, "BBBB")):
        write_texts(predictions / pattern.format(number), {"v1": text, "v2": "AAAA"})
    found = evaluate_in_detail(predictions, data)
    assert {number: scores.acc for number, scores in found.splits.items()} == {1: 100, 2: 75}
    videos = [(one.video, one.split) for one in found.videos]
    # v1 is all wrong in split 2, the others are right
    assert videos == [("v1", 2), ("v1", 1), ("v2", 1), ("v2", 2)]


def test_without_splits_all_videos_are_scored(data, predictions):
    for path in (data / "splits").iterdir():
        path.unlink()
    write_texts(predictions, TRUTH | {"v2": "BBBB"})
    found = evaluate_in_detail(predictions, data)
    assert (found.scores.acc, found.scores.n_videos, found.splits) == (75, 4, {})
    with pytest.raises(SplitError, match="has no split 1; make splits with 'uvast data split'"):
        evaluate(predictions, data, 1)


def test_classes_and_confusion_on_request(data, predictions):
    write_texts(predictions, TRUTH | {"v1": "AAAB"})
    plain = evaluate(predictions, data)
    assert plain.per_class is None
    assert plain.confusion is None
    full = evaluate(predictions, data, per_class=True, confusion=True)
    assert [one.name for one in full.per_class] == ["A", "B"]
    assert full.confusion.tolist() == [[7, 0, 0], [1, 6, 0], [0, 0, 2]]


def test_the_protocol_reaches_the_metrics(data, predictions):
    write_texts(predictions, TRUTH)
    write_texts(data / "groundTruth", {"v2": "AAAB"})
    write_texts(predictions, {"v2": "AAAB"})
    assert evaluate(predictions, data, 1).f1[10] == 100
    legacy = evaluate(predictions, data, 1, protocol="legacy")
    assert legacy.f1[10] == 75
    assert legacy.protocol == "legacy"


def test_sampled_predictions_are_scored_at_the_original_rate(data, predictions):
    write_spec(data, DatasetSpec(sampling_rate=3))
    write_texts(predictions, {"v1": "AB", "v2": "AA"})
    assert evaluate(predictions, data, 1).acc == pytest.approx(100 * 7 / 8)


def test_predictions_are_trimmed_as_the_labels_are(data, predictions):
    write_spec(data, DatasetSpec(tolerance=0.1, feature_axis="time-first"))
    write_texts(data / "groundTruth", {name: text * 5 for name, text in TRUTH.items()})
    (data / "features").mkdir()
    for name in TRUTH:
        np.save(data / "features" / f"{name}.npy", np.zeros((19, 2), np.float32))
    write_texts(predictions, {"v1": ("AABB" * 5)[:19], "v2": "A" * 19 + "B"})
    assert evaluate(predictions, data, 1).acc == 100


def test_missing_predictions_are_all_named(data, predictions):
    write_texts(predictions, {"v1": "AABB", "v2": "AAAA", "v3": "BBBB"})
    with pytest.raises(
        MissingFileError,
        match=r"1 of 4 videos have no prediction \(v4\); predict them too, or score a split that "
        r"is covered: --split 1$",
    ):
        evaluate(predictions, data)
    with pytest.raises(MissingFileError, match=r"1 of 2 videos .*\(v4\); predict them too$"):
        evaluate(predictions, data, 2)


def test_a_folder_of_something_else(data, predictions):
    predictions.mkdir()
    with pytest.raises(
        MissingFileError, match=r"4 of 4 videos .*files are called like v1.txt or v1"
    ):
        evaluate(predictions, data)


def test_a_wrong_length_names_the_file(data, predictions):
    write_texts(predictions, TRUTH | {"v3": "BBBBB"})
    with pytest.raises(LabelError, match=r"v3.txt: holds 5 labels, the video has 4 frames"):
        evaluate(predictions, data)


def test_scoring_a_folder_never_imports_torch(data, predictions):
    write_texts(predictions, TRUTH)
    code = (
        "import sys; from uvast.evaluation import evaluate; "
        f"print(evaluate({str(predictions)!r}, {str(data)!r}).acc, 'torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["100.0", "False"]
