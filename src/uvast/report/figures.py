"""The page's figures as PNG and SVG, drawn with matplotlib; needs the extra `report`.

Figures are made without pyplot: no state, no window, and the same file for the same report.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from uvast.errors import ConfigError
from uvast.files import atomic_path, check_absent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from uvast.report.content import Compared, Report
    from uvast.report.sources import Kind

FORMATS: Mapping[str, str] = {"png": "Software", "svg": "Date"}
"""Each format, and the metadata to leave out because it changes with the day or version."""
_OF_PREDICTIONS = ("scores", "timelines", "classes", "confusion")
FIGURES: Mapping[Kind, tuple[str, ...]] = {
    "run": (*_OF_PREDICTIONS, "attention", "pseudo-labels", "training"),
    "benchmark": ("benchmark",),
    "predictions": _OF_PREDICTIONS,
}
"""The figures that a report can have."""
_RESOLUTION = 160


def check_figures(folder: Path, kind: Kind, *, overwrite: bool) -> None:
    """Refuses early what would fail or replace files in `write_figures`, after all the work."""
    _check_matplotlib()
    if not overwrite:
        check_absent(*(folder / f"{name}.{one}" for name in FIGURES[kind] for one in FORMATS))


def write_figures(report: Report, folder: Path) -> tuple[Path, ...]:
    """Writes every figure of the report in each format; returns the files."""
    _check_matplotlib()
    from uvast.report.drawing import draw_figures

    return _write(lambda: draw_figures(report), folder)


def write_differences(lines: Sequence[Compared], folder: Path, name: str) -> tuple[Path, ...]:
    """Writes the figure of paired differences in each format; returns the files.

    Writes none without matplotlib, or if there is nothing to compare.
    """
    if not lines or find_spec("matplotlib") is None:
        return ()
    from uvast.report.differences import draw_differences

    return _write(lambda: {name: draw_differences(lines)}, folder)


def _write(draw: Callable[[], Mapping[str, Figure]], folder: Path) -> tuple[Path, ...]:
    import matplotlib as mpl

    paths = []
    with mpl.rc_context({"svg.hashsalt": "uvast", "font.size": 9, "hatch.linewidth": 1.0}):
        for name, figure in draw().items():
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
