"""Figures: every one as PNG and SVG, the same file for the same report."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from uvast.errors import ConfigError
from uvast.report import Report, write_figures

PNG = b"\x89PNG\r\n\x1a\n"


def test_every_part_has_a_figure_in_both_formats(planted: Report, tmp_path: Path) -> None:
    paths = write_figures(planted, tmp_path)
    names = {
        *("scores", "timelines", "classes", "confusion", "attention", "pseudo-labels", "training")
    }
    assert {path.name for path in paths} == {f"{n}.{s}" for n in names for s in ("png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}
    for path in paths:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(PNG)
        else:
            assert ET.parse(path).getroot().tag.endswith("svg")


def test_figures_are_reproducible(benchmark_report: Report, tmp_path: Path) -> None:
    first = write_figures(benchmark_report, tmp_path / "a")
    second = write_figures(benchmark_report, tmp_path / "b")
    assert [one.name for one in first] == ["benchmark.png", "benchmark.svg"]
    assert [a.read_bytes() for a in first] == [b.read_bytes() for b in second]


def test_without_matplotlib_the_extra_is_named(
    planted: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[report\]' in uvast's folder"):
        write_figures(planted, tmp_path)
