"""Videos that are labelled in part, in figures, tables of times and reports of labels."""

from __future__ import annotations

import shutil
from pathlib import Path

from planted_report import CLASSES, tracks

from uvast.data import Dataset, write_labelled
from uvast.evaluation import write_prediction
from uvast.report import Report, report_predictions, write_page
from uvast.report.action_times import action_times
from uvast.report.compare import compare
from uvast.report.drawing import draw_figures
from uvast.segments import UNLABELLED, Segmentation
from uvast.supervision import PseudoLabelOptions, pseudo_segmentations
from uvast.supervision.output import write_pseudo_labels

TRUTH = Segmentation([1, UNLABELLED, 2], [20, 50, 30])


def partial_copy(source: Dataset, folder: Path) -> tuple[Dataset, str, int]:
    """Half of a video is labelled; another one is not at all."""
    shutil.copytree(source.path, folder)
    name, bare = source.names[:2]
    half = source.source_frames(name) // 2
    write_labelled(folder / "labelled.json", {name: [(0, half)], bare: []})
    return Dataset.open(folder), name, half


def test_no_class_has_the_time_of_unlabelled_frames() -> None:
    times = action_times([TRUTH], CLASSES)
    assert [(one.action, one.n_frames, one.share) for one in times] == [(1, 20, 0.4), (2, 30, 0.6)]


def test_the_figure_has_a_legend_for_unlabelled() -> None:
    found = Segmentation([1, 0, 2], [25, 45, 30])
    made = compare({"frames": tracks({"v": found})}, {"v": TRUTH}, CLASSES)
    figure = draw_figures(Report("t", {}, vocabulary=CLASSES, comparison=made))["timelines"]
    (legend,) = figure.legends
    assert "unlabelled" in [text.get_text() for text in legend.get_texts()]
    looks = [one for one in figure.axes[0].patches if one.get_hatch() == "////"]
    assert [(one.get_x(), one.get_width()) for one in looks] == [(20, 50)]


def test_a_report_notes_what_stays_out(tiny: Dataset, tmp_path: Path) -> None:
    data, name, half = partial_copy(tiny, tmp_path / "data")
    for video in data.names:
        truth = tiny.source_segmentation(video)
        write_prediction(tmp_path / "found" / f"{video}.txt", truth, tiny.vocabulary)
    shutil.rmtree(tmp_path / "data" / "splits")
    made = report_predictions(tmp_path / "found", data.path)
    assert made.comparison is not None
    timelines = {one.name: one for one in made.comparison.videos}
    truth = timelines[name].true
    assert truth is not None
    assert truth.labelled_parts() == ((0, half),)
    assert timelines[data.names[1]].true is None
    n_frames = tiny.source_frames(name)
    assert made.notes[:2] == (
        f"1 video has no labels and stays out: {data.names[1]}.",
        f"1 video is labelled in part, the rest stays out: {name} ({half} of {n_frames} frames).",
    )
    write_page(made, tmp_path / "page.html")


def test_pseudo_labels_of_stretches_are_a_dataset_and_a_report(
    tiny: Dataset, tmp_path: Path
) -> None:
    data, name, half = partial_copy(tiny, tmp_path / "data")
    clicks = data.timestamps()
    assert [one for one in clicks if one.startswith(name)] == [f"{name}/0:{half}"]
    made = pseudo_segmentations(data, clicks, clicks, PseudoLabelOptions("midpoint"))
    write_pseudo_labels(tmp_path / "pseudo", data, made, clicks)
    again = Dataset.open(tmp_path / "pseudo")
    assert data.names[1] not in again.names
    assert again.samples(name) == (f"{name}/0:{half}",)
    assert (
        Segmentation.from_labels(again.source_labels(f"{name}/0:{half}"))
        == made[f"{name}/0:{half}"]
    )
    assert again.timestamps() == clicks
    lines = (tmp_path / "pseudo" / "groundTruth" / f"{name}.txt").read_text().splitlines()
    assert set(lines[half:]) == {"unlabelled"}
    for dataset in (None, data.path):
        report = report_predictions(tmp_path / "pseudo", dataset)
        assert report.comparison is not None
        shown = next(one for one in report.comparison.videos if one.name == name)
        assert shown.tracks[0].segmentation.labelled_parts() == ((0, half),)
        assert (shown.true is None) == (dataset is None)
