"""Paired differences and their intervals as one figure; needs the extra `report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from uvast.report.timeline_figures import BLUE, plain, quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.report.content import Compared


def draw_differences(lines: Sequence[Compared]) -> Figure:
    """Draws a column of points per score; hollow if the interval contains 0 or there is none."""
    scores = tuple(dict.fromkeys(name for one in lines for name in one.means))
    figure = Figure(figsize=(2 + 2.2 * len(scores), 0.8 + 0.3 * len(lines)))
    columns = figure.subplots(1, len(scores), squeeze=False, sharey=True)[0]
    for axes, score in zip(columns, scores, strict=True):
        axes.axvline(0, color="0.6", linewidth=0.8)
        for place, one in enumerate(lines):
            if score not in one.means:
                continue
            mean, width = one.means[score], one.half_widths.get(score)
            clear = width is not None and abs(mean) > width
            face = BLUE if clear else "white"
            axes.errorbar(
                mean, place, xerr=width, fmt="o", color=BLUE, markerfacecolor=face, capsize=2
            )
        axes.set_title(f"Δ {score}", loc="left", fontsize=9)
        quiet(axes)
    columns[0].set_yticks(range(len(lines)), [plain(one.label) for one in lines])
    columns[0].invert_yaxis()
    return figure
