"""What the figures show, as matplotlib holds it."""

from __future__ import annotations

import numpy as np
import pytest
from planted_report import tracks

from uvast.report import Report
from uvast.report.compare import compare
from uvast.report.content import Chart
from uvast.report.drawing import draw_figures
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary


def test_few_classes_have_percents_in_the_confusion_matrix(planted: Report) -> None:
    axes = draw_figures(planted)["confusion"].axes[0]
    assert planted.comparison is not None
    frames = planted.comparison.scores[planted.comparison.main].confusion
    assert frames is not None
    percents = 100 * frames / np.maximum(frames.sum(1, keepdims=True), 1)
    written = {(one.get_position()[1], one.get_position()[0]): one for one in axes.texts}
    assert {place: one.get_text() for place, one in written.items()} == {
        (row, column): f"{percents[row, column]:.0f}"
        for row, column in np.argwhere(percents >= 0.5).tolist()
    }
    for place, one in written.items():
        assert one.get_color() == ("white" if percents[place] > 80 else "black")


@pytest.mark.parametrize(
    ("n_frames", "rate", "marks"),
    [
        (2400, 10.0, ["0:00", "0:30", "1:00", "1:30", "2:00", "2:30", "3:00", "3:30", "4:00"]),
        (100, 10.0, ["0:00", "0:02", "0:04", "0:06", "0:08", "0:10"]),
        (4, 10.0, ["0:00.0", "0:00.1", "0:00.2", "0:00.3", "0:00.4"]),
        (10 * 3600 * 20, 10.0, ["0:00", "3:00:00", "6:00:00", "9:00:00", "12:00:00", "15:00:00"]),
        (400, None, ["0", "50", "100", "150", "200", "250", "300", "350", "400"]),
    ],
)
def test_timelines_have_an_axis_of_time(
    n_frames: int, rate: float | None, marks: list[str]
) -> None:
    classes = Vocabulary(("a",))
    compared = compare({"x": tracks({"v": Segmentation([0], [n_frames])})}, {}, classes)
    report = Report("r", {}, vocabulary=classes, frames_per_second=rate, comparison=compared)
    figure = draw_figures(report)["timelines"]
    figure.canvas.draw()
    axes = figure.axes[0]
    assert [one.get_text() for one in axes.get_xticklabels()][: len(marks)] == marks
    assert axes.get_xlim() == (0, n_frames)


def test_a_timeline_has_a_row_for_whatever_there_is(planted: Report, unscored: Report) -> None:
    figures = draw_figures(unscored)
    assert list(figures) == ["timelines"]
    rows = [
        [one.get_text() for one in axes.get_yticklabels()] for axes in figures["timelines"].axes
    ]
    assert rows == [["clicks", "new"], ["new"]]
    rows = [
        [one.get_text() for one in axes.get_yticklabels()]
        for axes in draw_figures(planted)["timelines"].axes
    ]
    assert rows == [["ground truth", "frames", "viterbi <b>"]] * 2


def test_a_single_epoch_is_a_dot() -> None:
    one, two = (
        Chart("one", (1.0,), {"loss": (2.0,)}),
        Chart("two", (1.0, 2.0), {"loss": (2.0, 1.0)}),
    )
    axes = draw_figures(Report("run", {}, charts=(one, two)))["training"].axes
    assert [each.lines[0].get_marker() for each in axes[:2]] == ["o", ""]
