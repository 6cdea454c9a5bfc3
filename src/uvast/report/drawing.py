"""Each figure of a report as a matplotlib figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from uvast.report.compare import order_of_videos
from uvast.report.content import SCORE_NAMES, score_values
from uvast.report.palette import class_styles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from uvast.report.content import (
        Attention,
        BenchmarkRow,
        Chart,
        Comparison,
        Report,
        VideoResult,
    )
    from uvast.report.palette import ClassStyle, Pattern
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary

N_VIDEOS = 4
"""Videos in a figure of timelines: from the worst to the best, evenly spread."""

N_NUMBERED = 12
"""Classes up to which the cells of a confusion matrix have room for percents."""

HATCHES: dict[Pattern, str] = {
    "solid": "",
    "rising": "////",
    "dots": "....",
    "level": "----",
    "crossed": "xxxx",
    "falling": "\\\\\\\\",
}
_BLUE = "#1f5fa8"
_SHADES = LinearSegmentedColormap.from_list("uvast", ["#ffffff", _BLUE])


def draw_figures(report: Report) -> dict[str, Figure]:
    """File name to figure, for everything that the report has."""
    figures: dict[str, Figure] = {}
    if report.benchmark:
        figures["benchmark"] = _benchmark(report.benchmark)
    if report.vocabulary is not None:
        styles = class_styles(report.vocabulary)
        if report.comparison is not None:
            figures["scores"] = _scores(report.comparison)
            figures["timelines"] = _timelines(report.comparison, report.vocabulary, styles)
            figures["classes"] = _classes(report.comparison, report.vocabulary, styles)
            figures["confusion"] = _confusion(report.comparison, report.vocabulary)
        if report.attention is not None:
            figures["attention"] = _attention(report.attention, styles)
        if report.pseudo_labels is not None:
            figures["pseudo-labels"] = _timelines(report.pseudo_labels, report.vocabulary, styles)
    if report.charts:
        figures["training"] = _charts(report.charts)
    return figures


def _scores(comparison: Comparison) -> Figure:
    """Groups of bars: a group for each score, a bar for each way."""
    figure = Figure(figsize=(7.5, 3))
    axes = figure.subplots()
    n_ways = len(comparison.ways)
    shades = _SHADES(np.linspace(0.3, 1, n_ways))
    for place, (way, scores) in enumerate(zip(comparison.ways, comparison.scores, strict=True)):
        left = np.arange(len(SCORE_NAMES)) + (place - (n_ways - 1) / 2) * 0.8 / n_ways
        axes.bar(left, score_values(scores), 0.8 / n_ways, color=shades[place], label=_plain(way))
    axes.set_xticks(range(len(SCORE_NAMES)), SCORE_NAMES)
    axes.set_ylim(0, 100)
    _quiet(axes)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _benchmark(rows: Sequence[BenchmarkRow]) -> Figure:
    """F1@50 and Edit of every row."""
    figure = Figure(figsize=(7.5, 0.8 + 0.3 * len(rows)))
    axes = figure.subplots()
    places = np.arange(len(rows))
    for shift, (name, colour) in enumerate((("F1@50", _BLUE), ("Edit", "#b0480f"))):
        values = [row.means.get(name, np.nan) for row in rows]
        spreads = [row.spreads.get(name, 0.0) for row in rows]
        axes.barh(places + (shift - 0.5) * 0.4, values, 0.4, xerr=spreads, color=colour, label=name)
    axes.set_yticks(places, [_plain(", ".join(row.labels)) for row in rows])
    axes.set_xlim(0, 100)
    axes.invert_yaxis()
    _quiet(axes)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _timelines(
    comparison: Comparison, vocabulary: Vocabulary, styles: Sequence[ClassStyle]
) -> Figure:
    """The paper's qualitative figure: truth and every way, one video below the other."""
    order = order_of_videos(comparison, comparison.main)
    places = np.linspace(0, len(order) - 1, min(len(order), N_VIDEOS)).round().astype(int)
    videos = [comparison.videos[order[place]] for place in places.tolist()]
    n_rows = len(comparison.ways) + 1
    figure = Figure(figsize=(8, len(videos) * (0.26 * n_rows + 0.45) + 0.8))
    for axes, video in zip(figure.subplots(len(videos), squeeze=False)[:, 0], videos, strict=True):
        _draw_video(axes, video, comparison.ways, styles)
    used = {
        int(action)
        for video in videos
        for one in (video.true, *video.predicted)
        for action in one.transcript
    }
    figure.legend(
        handles=[_key(styles[action], vocabulary.names[action]) for action in sorted(used)],
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=5,
        frameon=False,
    )
    figure.subplots_adjust(hspace=0.55 / (0.26 * n_rows), bottom=0.05)
    return figure


def _draw_video(
    axes: Axes, video: VideoResult, ways: Sequence[str], styles: Sequence[ClassStyle]
) -> None:
    for row, one in enumerate((video.true, *video.predicted)):
        _draw_track(axes, one, styles, row)
    if video.timestamps is not None:
        axes.vlines(video.timestamps, -0.4, 0.4, colors="black", linewidth=1)
    axes.set_yticks(range(len(ways) + 1), ["ground truth", *map(_plain, ways)])
    axes.set_xlim(0, video.true.n_frames)
    axes.set_ylim(len(ways) + 0.5, -0.5)
    axes.set_title(_plain(video.name), loc="left", fontsize=9)
    _quiet(axes)


def _draw_track(
    axes: Axes, one: Segmentation, styles: Sequence[ClassStyle], row: int, height: float = 0.8
) -> None:
    for action in np.unique(one.transcript).tolist():
        its = one.transcript == action
        axes.barh(
            np.full(its.sum(), row),
            one.durations[its],
            height,
            left=one.starts[its],
            facecolor=styles[action].colour,
            edgecolor=styles[action].ink,
            hatch=HATCHES[styles[action].pattern],
            linewidth=0,
        )


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
        style = styles[vocabulary.id_of(one.name)]
        axes.barh(
            place,
            one.f1[50],
            facecolor=style.colour,
            edgecolor=style.ink,
            hatch=HATCHES[style.pattern],
            linewidth=0,
        )
    axes.set_yticks(range(len(found)), [_plain(one.name) for one in found])
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"F1@50, {_plain(comparison.ways[comparison.main])}")
    axes.invert_yaxis()
    _quiet(axes)
    return figure


def _confusion(comparison: Comparison, vocabulary: Vocabulary) -> Figure:
    frames = comparison.scores[comparison.main].confusion
    assert frames is not None, "a comparison has it"
    shares = frames / np.maximum(frames.sum(1, keepdims=True), 1)
    numbered = len(vocabulary) <= N_NUMBERED
    side = 2 + (0.35 if numbered else 0.2) * len(vocabulary)
    figure = Figure(figsize=(side, side))
    axes = figure.subplots()
    image = axes.imshow(shares, cmap=_SHADES, vmin=0, vmax=1)
    names = [_plain(name) for name in vocabulary.names]
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


def _attention(attention: Attention, styles: Sequence[ClassStyle]) -> Figure:
    """The truth above the maps, on one axis of time."""
    n_maps = len(attention.maps)
    figure = Figure(figsize=(8, 0.8 + 1.6 * n_maps))
    ratios = [0.25] + [1.0] * n_maps
    rows = figure.subplots(n_maps + 1, sharex=True, gridspec_kw={"height_ratios": ratios})
    n_frames, n_segments = attention.true.n_frames, len(attention.true)
    _draw_track(rows[0], attention.true, styles, 0)
    rows[0].set_yticks([])
    rows[0].set_title(f"{_plain(attention.video)}, ground truth", loc="left", fontsize=9)
    for axes, one in zip(rows[1:], attention.maps, strict=True):
        axes.imshow(
            one.weights,
            cmap=_SHADES,
            vmin=0,
            vmax=1,
            aspect="auto",
            interpolation="nearest",
            extent=(0, n_frames, n_segments, 0),
        )
        axes.set_title(_plain(one.title), loc="left", fontsize=9)
        axes.set_ylabel("segment")
    rows[-1].set_xlabel("frame")
    figure.subplots_adjust(hspace=0.6)
    return figure


def _charts(charts: Sequence[Chart]) -> Figure:
    n_columns = 3
    n_rows = -(-len(charts) // n_columns)
    figure = Figure(figsize=(9, 2.2 * n_rows))
    places = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes, one in zip(places, charts, strict=False):
        for (name, curve), line in zip(one.curves.items(), ("-", "--", ":"), strict=False):
            marker = "o" if len(one.epochs) == 1 else ""  # a line of one point is nothing
            axes.plot(one.epochs, curve, line, marker=marker, label=_plain(name))
        axes.set_title(_plain(one.title), loc="left", fontsize=9)
        if len(one.curves) > 1:
            axes.legend(frameon=False)
        _quiet(axes)
    for axes in places[len(charts) :]:
        axes.set_axis_off()
    figure.subplots_adjust(hspace=0.6, wspace=0.3)
    return figure


def _key(style: ClassStyle, name: str) -> Patch:
    return Patch(
        facecolor=style.colour,
        edgecolor=style.ink,
        hatch=HATCHES[style.pattern],
        linewidth=0,
        label=_plain(name),
    )


def _quiet(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def _plain(text: str) -> str:
    """No name is read as a formula, and none that starts with `_` leaves the legend."""
    return " " * text.startswith("_") + text.replace("$", r"\$")
