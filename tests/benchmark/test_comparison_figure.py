"""The figure of a comparison: there with differences, the same file each time, none without."""

from __future__ import annotations

from pathlib import Path

from uvast.benchmark.compared import ComparedRow, write_comparison_figure
from uvast.benchmark.paired import Difference


def compared(change: str, **differences: Difference) -> ComparedRow:
    return ComparedRow(
        "data", "full", "small", change, "best", 3, 3, {"acc": 70.0}, differences, ()
    )


def test_differences_are_drawn_and_the_base_is_not(tmp_path: Path) -> None:
    rows = [
        compared("base"),
        compared("train.epochs=9", acc=Difference(1.5, 0.5, 3), edit=Difference(-2.0, None, 1)),
    ]
    (png, svg) = write_comparison_figure(tmp_path, rows)
    assert (png.name, svg.name) == ("comparison.png", "comparison.svg")
    first, text = png.read_bytes(), svg.read_text()
    assert "train.epochs=9" in text
    assert "base" not in text
    write_comparison_figure(tmp_path, rows)
    assert (png.read_bytes(), svg.read_text()) == (first, text)


def test_a_base_alone_has_no_figure(tmp_path: Path) -> None:
    assert write_comparison_figure(tmp_path, [compared("base")]) == ()
    assert list(tmp_path.iterdir()) == []
