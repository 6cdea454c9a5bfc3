"""Figures: every one as PNG and SVG, the same file for the same report."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from uvast.errors import ConfigError, OutputError
from uvast.report import Report, check_figures, write_figures
from uvast.report.figures import FIGURES

PNG = b"\x89PNG\r\n\x1a\n"


def test_every_part_has_a_figure_in_both_formats(planted: Report, tmp_path: Path) -> None:
    paths = write_figures(planted, tmp_path)
    names = {
        *("scores", "timelines", "classes", "confusion", "attention", "pseudo-labels", "training")
    }
    assert {path.name for path in paths} == {f"{n}.{s}" for n in names for s in ("png", "svg")}
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}
    assert names == set(FIGURES["run"])
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
    with pytest.raises(ConfigError, match=r"pip install '\.\[report\]' in uvast's folder"):
        check_figures(tmp_path, "run", overwrite=False)


def test_figures_that_exist_are_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "timelines.svg").touch()
    for kind in ("run", "predictions"):
        with pytest.raises(OutputError, match=r"timelines.svg: exists already; pass --overwrite"):
            check_figures(tmp_path, kind, overwrite=False)
        check_figures(tmp_path, kind, overwrite=True)
    check_figures(tmp_path, "benchmark", overwrite=False)
