"""The page's figures as PNG and SVG through matplotlib; needs the extra `report`.

Figures are made without pyplot: no state, no window, and the same file for the same report.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.errors import ConfigError
from uvast.files import atomic_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.figure import Figure

    from uvast.report.content import Report

FORMATS = ("png", "svg")
_RESOLUTION = 160


def write_figures(report: Report, folder: Path) -> tuple[Path, ...]:
    """Writes every figure of the report in each format; returns the files."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ConfigError(
            "matplotlib is not installed",
            where="--figures",
            remedy="pip install '.[report]' in uvast's folder",
        ) from error
    from uvast.report.drawing import draw_figures

    paths = []
    with mpl.rc_context({"svg.hashsalt": "uvast", "font.size": 9, "hatch.linewidth": 1.0}):
        for name, figure in draw_figures(report).items():
            for suffix in FORMATS:
                path = folder / f"{name}.{suffix}"
                _save(figure, path, suffix)
                paths.append(path)
    return tuple(paths)


def _save(figure: Figure, path: Path, suffix: str) -> None:
    dated: Mapping[str, str | None] = {"Date": None} if suffix == "svg" else {"Software": None}
    with atomic_path(path) as temporary:
        figure.savefig(
            temporary, format=suffix, dpi=_RESOLUTION, bbox_inches="tight", metadata=dict(dated)
        )
