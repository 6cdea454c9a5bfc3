"""Draws each figure of a report with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from uvast.report.content import SCORE_NAMES, score_values
from uvast.report.palette import class_styles
from uvast.report.timeline_figures import (
    BLUE,
    SHADES,
    draw_attention,
    draw_timelines,
    look,
    plain,
    quiet,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.report.content import BenchmarkRow, Chart, Comparison, Report
    from uvast.report.palette import ClassStyle
    from uvast.vocabulary import Vocabulary

N_NUMBERED = 12
"""With up to this many classes, a confusion matrix has room for percentages."""


def draw_figures(report: Report) -> dict[str, Figure]:
    """File name to figure, for everything in the report."""
    figures: dict[str, Figure] = {}
    if report.benchmark:
        figures["benchmark"] = _benchmark(report.benchmark)
    vocabulary, rate, made = report.vocabulary, report.frames_per_second, report.comparison
    if vocabulary is not None:
        styles = class_styles(vocabulary)
        if made is not None:
            figures["timelines"] = draw_timelines(made, vocabulary, styles, rate)
        if made is not None and made.scores:
            figures["scores"] = _scores(made)
            figures["classes"] = _classes(made, vocabulary, styles)
            figures["confusion"] = _confusion(made, vocabulary)
        if report.attention is not None:
            figures["attention"] = draw_attention(report.attention, styles, rate)
        if report.pseudo_labels is not None:
            drawn = draw_timelines(report.pseudo_labels, vocabulary, styles, rate)
            figures["pseudo-labels"] = drawn
    if report.charts:
        figures["training"] = _charts(report.charts)
    return figures


def _scores(comparison: Comparison) -> Figure:
    """Groups of bars: a group per score, a bar per decoding."""
    figure = Figure(figsize=(7.5, 3))
    axes = figure.subplots()
    n_decodings = len(comparison.decodings)
    width = 0.8 / n_decodings
    shades = SHADES(np.linspace(0.3, 1, n_decodings))
    for place, (name, scores) in enumerate(
        zip(comparison.decodings, comparison.scores, strict=True)
    ):
        left = np.arange(len(SCORE_NAMES)) + (place - (n_decodings - 1) / 2) * width
        axes.bar(left, score_values(scores), width, color=shades[place], label=plain(name))
    axes.set_xticks(range(len(SCORE_NAMES)), SCORE_NAMES)
    axes.set_ylim(0, 100)
    quiet(axes)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _benchmark(rows: Sequence[BenchmarkRow]) -> Figure:
    """F1@50 and Edit of every row."""
    figure = Figure(figsize=(7.5, 0.8 + 0.3 * len(rows)))
    axes = figure.subplots()
    places = np.arange(len(rows))
    for shift, (name, colour) in enumerate((("F1@50", BLUE), ("Edit", "#b0480f"))):
        values = [row.means.get(name, np.nan) for row in rows]
        spreads = [row.spreads.get(name, 0.0) for row in rows]
        axes.barh(places + (shift - 0.5) * 0.4, values, 0.4, xerr=spreads, color=colour, label=name)
    axes.set_yticks(places, [plain(", ".join(row.labels)) for row in rows])
    axes.set_xlim(0, 100)
    axes.invert_yaxis()
    quiet(axes)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _classes(
    comparison: Comparison, vocabulary: Vocabulary, styles: Sequence[ClassStyle]
) -> Figure:
    """F1@50 of each class, the worst first."""
    scores = comparison.scores[comparison.main]
    found = [one for one in scores.per_class or () if one.f1[50] == one.f1[50]]
    found.sort(key=lambda one: one.f1[50])
    figure = Figure(figsize=(6, 0.6 + 0.24 * len(found)))
    axes = figure.subplots()
    for place, one in enumerate(found):
        axes.barh(place, one.f1[50], **look(styles[vocabulary.id_of(one.name)]))
    axes.set_yticks(range(len(found)), [plain(one.name) for one in found])
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"F1@50, {plain(comparison.decodings[comparison.main])}")
    axes.invert_yaxis()
    quiet(axes)
    return figure


def _confusion(comparison: Comparison, vocabulary: Vocabulary) -> Figure:
    frames = comparison.scores[comparison.main].confusion
    assert frames is not None, "a comparison has it"
    shares = frames / np.maximum(frames.sum(1, keepdims=True), 1)
    numbered = len(vocabulary) <= N_NUMBERED
    side = 2 + (0.35 if numbered else 0.2) * len(vocabulary)
    figure = Figure(figsize=(side, side))
    axes = figure.subplots()
    image = axes.imshow(shares, cmap=SHADES, vmin=0, vmax=1)
    names = [plain(name) for name in vocabulary.names]
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    figure.colorbar(image, shrink=0.6, label="share of the true class's frames")
    for row, column in np.argwhere(numbered & (shares >= 0.005)).tolist():
        share = shares[row, column]
        ink = "white" if share > 0.8 else "black"
        axes.text(column, row, f"{100 * share:.0f}", color=ink, size=7, ha="center", va="center")
    return figure


def _charts(charts: Sequence[Chart]) -> Figure:
    n_columns = 3
    n_rows = -(-len(charts) // n_columns)
    figure = Figure(figsize=(9, 2.2 * n_rows))
    places = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes, one in zip(places, charts, strict=False):
        for (name, curve), line in zip(one.curves.items(), ("-", "--", ":"), strict=False):
            marker = "o" if len(one.epochs) == 1 else ""  # a line with one point is invisible
            (drawn,) = axes.plot(one.epochs, curve, line, marker=marker, label=plain(name))
            for each in (each for each in one.thin if name in each.curves):
                thin, ink = each.curves[name], drawn.get_color()
                axes.plot(each.epochs, thin, line, marker=marker, color=ink, linewidth=0.5)
        axes.set_title(plain(one.title), loc="left", fontsize=9)
        if len(one.curves) > 1:
            axes.legend(frameon=False)
        quiet(axes)
    for axes in places[len(charts) :]:
        axes.set_axis_off()
    figure.subplots_adjust(hspace=0.6, wspace=0.3)
    return figure
