"""What the figures show, as matplotlib holds it."""

from __future__ import annotations

import numpy as np

from uvast.report import Report
from uvast.report.content import Chart
from uvast.report.drawing import draw_figures


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


def test_a_single_epoch_is_a_dot() -> None:
    one, two = (
        Chart("one", (1.0,), {"loss": (2.0,)}),
        Chart("two", (1.0, 2.0), {"loss": (2.0, 1.0)}),
    )
    axes = draw_figures(Report("run", {}, charts=(one, two)))["training"].axes
    assert [each.lines[0].get_marker() for each in axes[:2]] == ["o", ""]
