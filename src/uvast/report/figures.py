"""The page's figures as PNG and SVG through matplotlib; needs the extra `report`.

Figures are made without pyplot: no state, no window, and the same file for the same report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.errors import ConfigError
from uvast.files import atomic_path, check_absent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from uvast.report.content import Report
    from uvast.report.sources import Kind

FORMATS: Mapping[str, str] = {"png": "Software", "svg": "Date"}
"""Each format, and what it tells that would change from day to day: that is left out."""
_OF_PREDICTIONS = ("scores", "timelines", "classes", "confusion")
FIGURES: Mapping[Kind, tuple[str, ...]] = {
    "run": (*_OF_PREDICTIONS, "attention", "pseudo-labels", "training"),
    "benchmark": ("benchmark",),
    "predictions": _OF_PREDICTIONS,
}
"""The figures that a report can have."""
_RESOLUTION = 160


def check_figures(folder: Path, kind: Kind, *, overwrite: bool) -> None:
    """Refuses what would fail or replace files after the work; see `write_figures`."""
    _check_matplotlib()
    if not overwrite:
        check_absent(*(folder / f"{name}.{one}" for name in FIGURES[kind] for one in FORMATS))


def write_figures(report: Report, folder: Path) -> tuple[Path, ...]:
    """Writes every figure of the report in each format; returns the files."""
    _check_matplotlib()
    import matplotlib as mpl

    from uvast.report.drawing import draw_figures

    paths = []
    with mpl.rc_context({"svg.hashsalt": "uvast", "font.size": 9, "hatch.linewidth": 1.0}):
        for name, figure in draw_figures(report).items():
            for suffix, changing in FORMATS.items():
                paths.append(folder / f"{name}.{suffix}")
                with atomic_path(paths[-1]) as temporary:
                    figure.savefig(
                        temporary,
                        format=suffix,
                        dpi=_RESOLUTION,
                        bbox_inches="tight",
                        metadata={changing: None},
                    )
    return tuple(paths)


def _check_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            "matplotlib is not installed",
            where="--figures",
            remedy="pip install '.[report]' in uvast's folder",
        ) from error
