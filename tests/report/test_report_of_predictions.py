"""Folders of predictions and labels to reports: with a dataset, with a manifest, with neither."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from uvast.config import Config
from uvast.data import Dataset, DatasetSpec, Split, write_spec, write_splits
from uvast.errors import CorruptFileError, MissingFileError
from uvast.evaluation import evaluate_in_detail, write_prediction
from uvast.files import write_json
from uvast.files.names import MANIFEST
from uvast.inference import Prediction
from uvast.inference.output import Manifest
from uvast.inference.output import write_prediction as write_outputs
from uvast.report import (
    provenance,
    report_predictions,
    write_action_times,
    write_figures,
    write_page,
)
from uvast.report.of_predictions import clicks_of
from uvast.report.pseudo_labels import compare_pseudo_labels
from uvast.runs import RunInfo
from uvast.segments import Segmentation
from uvast.supervision import PseudoLabelOptions, pseudo_segmentations
from uvast.supervision.output import write_pseudo_labels


def write_noisy(folder: Path, dataset: Dataset, names: tuple[str, ...], seed: int = 0) -> None:
    generator = np.random.default_rng(seed)
    for name in names:
        labels = dataset.source_labels(name).copy()
        labels[generator.integers(0, len(labels), 5)] = 0
        path = folder / f"{name}.txt"
        write_prediction(path, Segmentation.from_labels(labels), dataset.vocabulary)


def write_segmented(folder: Path, dataset: Dataset, names: tuple[str, ...]) -> None:
    """As `uvast segment` does: perfect, with falling confidence."""
    for name in names:
        true = dataset.source_segmentation(name)
        sure = np.linspace(1, 0.5, len(true))
        made = Prediction(true.transcript, true, sure, 0.8, dataset.vocabulary, 15.0)
        write_outputs(folder, name, made, ("txt", "json"))


def write_manifest(
    folder: Path, dataset: Dataset | None, names: tuple[str, ...], **more: object
) -> None:
    manifest = Manifest(
        model="/gone/run",
        checkpoint="0" * 64,
        options={},
        formats=("txt", "json"),
        videos=dict.fromkeys(names, "/gone/features.npy"),
        dataset=None if dataset is None else str(dataset.path.resolve()),
        **more,
    )
    write_json(folder / MANIFEST, dataclasses.asdict(manifest))


def test_predictions_of_all_splits_are_averaged(tiny: Dataset, tmp_path: Path) -> None:
    for number in tiny.splits:
        write_noisy(tmp_path / f"split{number}", tiny, tiny.side(number, "test"), number)
    made = report_predictions(tmp_path, tiny.path)
    expected = evaluate_in_detail(tmp_path, tiny, per_class=True)
    assert made.comparison is not None
    assert made.comparison.scores[0] == expected.scores
    assert [(v.name, v.split, v.scores[0]) for v in made.comparison.videos] == [
        (one.video, one.split, one.scores)
        for one in sorted(expected.videos, key=lambda one: (one.video, one.split))
    ]
    one_split = report_predictions(tmp_path, tiny, 2)
    assert one_split.comparison is not None
    assert (
        one_split.comparison.scores[0]
        == evaluate_in_detail(tmp_path, tiny, 2, per_class=True).scores
    )


def test_a_video_on_two_test_sides_keeps_both_predictions(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name, text in {"v": "AABB", "w": "AAAA", "x": "BBBB"}.items():
        path = data / "groundTruth" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(text))
    write_spec(data, DatasetSpec())
    write_splits(data / "splits", {1: Split(("w",), ("v",)), 2: Split(("x",), ("v",))})
    for split, text in {1: "AABB", 2: "BBAA"}.items():
        path = tmp_path / "predictions" / f"split{split}" / "v.txt"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(text))
    scores = evaluate_in_detail(tmp_path / "predictions", data).scores
    made = report_predictions(tmp_path / "predictions", data).comparison
    assert made is not None
    assert scores.acc == made.scores[0].acc == 50
    assert [(one.split, one.scores[0].acc) for one in made.videos] == [(1, 100), (2, 0)]


def test_a_missing_prediction_is_named(tiny: Dataset, tmp_path: Path) -> None:
    write_noisy(tmp_path, tiny, tiny.side(1, "test")[1:])
    with pytest.raises(MissingFileError, match="1 of 4 videos have no prediction"):
        report_predictions(tmp_path, tiny, 1)


def test_new_videos_need_no_dataset(tiny: Dataset, tmp_path: Path) -> None:
    names = tiny.names[:3]
    write_segmented(tmp_path, tiny, names)
    write_manifest(tmp_path, None, names)
    made = report_predictions(tmp_path)
    assert made.comparison is not None
    assert made.vocabulary is not None
    assert (made.comparison.scores, made.frames_per_second) == ((), 15.0)
    assert made.facts["Videos"] == "3 videos; none with ground truth"
    for video in made.comparison.videos:
        true = tiny.source_segmentation(video.name)
        (track,) = video.tracks
        assert made.vocabulary.decode(track.segmentation.transcript) == tiny.vocabulary.decode(
            true.transcript
        )
        assert track.segmentation.durations.tolist() == true.durations.tolist()
        assert track.confidences is not None
        np.testing.assert_allclose(track.confidences, np.linspace(1, 0.5, len(true)), atol=1e-4)


@pytest.mark.parametrize("suffix", ["txt", "csv", "json"])
def test_every_format_is_drawn(tiny: Dataset, tmp_path: Path, suffix: str) -> None:
    true = tiny.source_segmentation(tiny.names[0])
    made = Prediction(true.transcript, true, np.ones(len(true)), 1.0, tiny.vocabulary, 15.0)
    write_outputs(tmp_path, "v.1", made, (suffix,))
    (video,) = report_predictions(tmp_path).comparison.videos
    assert video.name == "v.1"
    assert video.tracks[0].segmentation.durations.tolist() == true.durations.tolist()
    assert (video.tracks[0].confidence is None) == (suffix == "txt")


def test_the_manifest_s_dataset_gives_truth_and_marks(tiny: Dataset, tmp_path: Path) -> None:
    names = tiny.side(1, "test")
    write_segmented(tmp_path, tiny, names)
    learned = (min(names),)
    write_manifest(tmp_path, tiny, names, split=1, train=learned)
    for dataset in (None, tiny):  # the split that was predicted is the one that is shown
        made = report_predictions(tmp_path, dataset)
        assert made.comparison is not None
        assert made.comparison.scores[0].acc == 100
        assert {one.name for one in made.comparison.videos} == set(names)
        assert [one.name for one in made.comparison.videos if one.in_training] == list(learned)
        assert made.comparison.videos[0].tracks[0].confidences is not None
        assert made.notes == (
            "1 of the 4 videos scored was used in training: "
            "these scores do not show how well the model does on new videos.",
        )


def test_predictions_that_are_not_finished_are_drawn(tiny: Dataset, tmp_path: Path) -> None:
    names = tiny.side(1, "test")
    write_segmented(tmp_path, tiny, names[:2])
    write_manifest(tmp_path, tiny, names, split=1)
    made = report_predictions(tmp_path).comparison
    assert made is not None
    assert len(made.videos) == made.scores[0].n_videos == 2


def test_pseudo_labels_are_drawn_alone_and_scored_with_their_dataset(
    tiny: Dataset, tmp_path: Path
) -> None:
    clicks = tiny.timestamps()
    labelled = pseudo_segmentations(tiny, clicks, clicks, PseudoLabelOptions("midpoint"))
    write_pseudo_labels(tmp_path, tiny, labelled, clicks)
    alone = report_predictions(tmp_path)
    assert alone.comparison is not None
    assert alone.comparison.scores == ()
    assert alone.vocabulary == tiny.vocabulary
    assert "Dataset" not in alone.facts
    for video in alone.comparison.videos:
        assert video.tracks[0].segmentation == labelled[video.name]
        assert video.clicks == clicks[video.name]
        assert video.true is None
    scored = report_predictions(tmp_path, tiny)
    assert scored.comparison is not None
    assert scored.comparison.scores[0].n_videos == len(labelled)
    assert scored.comparison.videos[0].true == tiny.source_segmentation(tiny.names[0])


def test_clicks_are_shown_where_they_were_made(tiny: Dataset) -> None:
    exact, sparse = tiny.timestamps(), tiny.at_rate(2)
    assert sparse.source_timestamps(sparse.timestamps()) != exact
    assert clicks_of(sparse, tiny.names) == exact
    compared = compare_pseudo_labels(sparse, tiny.names, Config().supervision)
    assert compared is not None
    assert {video.name: video.clicks for video in compared.videos} == exact


def test_predictions_of_other_videos_are_one_sentence(tiny: Dataset, tmp_path: Path) -> None:
    data = tmp_path / "unlabelled"
    data.mkdir()
    for part in ("features", "mapping.txt"):
        (data / part).symlink_to(tiny.path / part)
    predictions = tmp_path / "predictions"
    (predictions / "groundTruth").mkdir(parents=True)
    for place in (predictions, predictions / "groundTruth"):
        (place / "other.txt").write_text("a\nb\n")
    sentence = r"predictions: holds no prediction of a video in .*unlabelled; choose the dataset"
    with pytest.raises(MissingFileError, match=sentence):  # as labels
        report_predictions(predictions, data)
    (predictions / "groundTruth" / "other.txt").unlink()
    (predictions / "groundTruth").rmdir()
    with pytest.raises(MissingFileError, match=sentence):
        report_predictions(predictions, data)


def test_files_called_like_a_video_with_a_dot_are_drawn(tmp_path: Path) -> None:
    for name in ("P01.cam1", "P01.cam2"):
        (tmp_path / name).write_text("### Frame level recognition: ###\na a b\n")
    (tmp_path / "P01.mp4").write_bytes(b"\0\0\0\x18ftyp")
    (tmp_path / "empty.log").touch()
    made = report_predictions(tmp_path).comparison
    assert [one.name for one in made.videos] == ["P01.cam1", "P01.cam2"]
    assert made.videos[0].tracks[0].segmentation.durations.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("rates", "shown"),
    [((29.97, 29.972), 29.97), ((29.97, 30.03), None), ((29.97, None), None)],
)
def test_rates_that_differ_by_rounding_are_one(
    tiny: Dataset, tmp_path: Path, rates: tuple[float | None, ...], shown: float | None
) -> None:
    true = tiny.source_segmentation(tiny.names[0])
    for number, rate in enumerate(rates):
        made = Prediction(true.transcript, true, np.ones(len(true)), 1.0, tiny.vocabulary, rate)
        write_outputs(tmp_path, f"v{number}", made, ("json",))
    assert report_predictions(tmp_path).frames_per_second == shown


def test_a_folder_of_nothing_and_broken_files_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes.pdf").touch()
    with pytest.raises(MissingFileError, match="holds no run, no benchmark and no predictions"):
        report_predictions(tmp_path)
    (tmp_path / "v.json").write_text('{"segments": 3}')
    with pytest.raises(CorruptFileError, match=r"v\.json: segments is 3, not a list"):
        report_predictions(tmp_path)


def test_names_that_are_no_text_are_shown_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / os.fsdecode(b"v\xff\x1b.txt")).write_text("a\nb\n")
    made = report_predictions(folder)
    write_page(made, tmp_path / "page.html")
    write_action_times(made, tmp_path / "times.csv")
    write_figures(made, tmp_path / "figures")
    assert r"v\xff\x1b,,odd,a,1," in (tmp_path / "times.csv").read_text("utf-8")
    assert r'"name":"v\\xff\\x1b"' in (tmp_path / "page.html").read_text("utf-8")


def test_videos_of_another_dataset_are_not_taken_for_those_of_the_run(tmp_path: Path) -> None:
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
    info = RunInfo(
        dataset=str(tmp_path / "own"),
        split=1,
        seed=0,
        supervision="full",
        timestamps=None,
        train=("v",),
        validation=("w",),
        versions={},
    )
    assert provenance.learned_by_run(info, tmp_path / "own") == {"v", "w"}
    assert provenance.learned_by_run(info, tmp_path / "other") == frozenset()
    (tmp_path / "own").rename(tmp_path / "moved")
    assert provenance.learned_by_run(info, tmp_path / "moved") == {"v", "w"}


@pytest.mark.parametrize(
    ("n_scored", "n_learned", "beginning"),
    [
        (5, 0, None),
        (5, 1, "1 of the 5 videos scored was used in training"),
        (5, 2, "2 of the 5 videos scored were used in training"),
        (5, 5, "All videos scored were used in training"),
        (1, 1, "The video scored was used in training"),
    ],
)
def test_the_note_counts(n_scored: int, n_learned: int, beginning: str | None) -> None:
    note = provenance.training_note(n_scored, n_learned)
    assert (note is None) == (beginning is None)
    assert note is None or note.startswith(f"{beginning}: these scores")
