"""Figures along a video's time: timelines and attention maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from uvast.errors import printable
from uvast.report.compare import evenly, order_of_videos
from uvast.report.palette import UNLABELLED_STYLE
from uvast.segments import UNLABELLED, Segmentation
from uvast.times import format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from uvast.data import Timestamps
    from uvast.report.content import Attention, Comparison, Timeline
    from uvast.report.palette import ClassStyle, Pattern
    from uvast.vocabulary import Vocabulary

N_VIDEOS = 4
"""How many videos a figure of timelines has, evenly spread from the worst to the best."""

HATCHES: dict[Pattern, str] = {
    "solid": "",
    "rising": "////",
    "dots": "....",
    "level": "----",
    "crossed": "xxxx",
    "falling": "\\\\\\\\",
}
BLUE = "#1f5fa8"
SHADES = LinearSegmentedColormap.from_list("uvast", ["#ffffff", BLUE])
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Seconds between the marks of an axis; beyond these, whole hours."""
_N_MARKS = 8


def draw_timelines(
    comparison: Comparison,
    vocabulary: Vocabulary,
    styles: Sequence[ClassStyle],
    frames_per_second: float | None,
) -> Figure:
    """The paper's qualitative figure: truth, clicks and every decoding of several videos."""
    order = order_of_videos(comparison, comparison.main)
    videos = [comparison.videos[index] for index in evenly(order, N_VIDEOS)]
    n_rows = max(len(_rows(one, comparison.decodings)) for one in videos)
    figure = Figure(figsize=(8, len(videos) * (0.26 * n_rows + 0.55) + 0.8))
    for axes, video in zip(figure.subplots(len(videos), squeeze=False)[:, 0], videos, strict=True):
        _draw_video(axes, video, comparison.decodings, styles)
        time_axis(axes, video.n_frames, frames_per_second, named=video is videos[-1])
    shown = [one for video in videos for one in _rows(video, comparison.decodings).values()]
    used = np.unique(np.concatenate([one.transcript for one in shown])).tolist()
    figure.legend(
        handles=[
            Patch(label=_name(vocabulary, action), **look(_style(styles, action)))
            for action in used
        ],
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=5,
        frameon=False,
    )
    figure.subplots_adjust(hspace=0.7 / (0.26 * n_rows), bottom=0.08)
    return figure


def draw_attention(
    attention: Attention, styles: Sequence[ClassStyle], frames_per_second: float | None
) -> Figure:
    """The truth above the maps, on a shared time axis."""
    n_maps = len(attention.maps)
    figure = Figure(figsize=(8, 0.8 + 1.6 * n_maps))
    ratios = [0.25] + [1.0] * n_maps
    rows = figure.subplots(n_maps + 1, sharex=True, gridspec_kw={"height_ratios": ratios})
    n_frames, n_segments = attention.true.n_frames, len(attention.true)
    _draw_segments(rows[0], attention.true, styles, 0)
    rows[0].set_yticks([])
    rows[0].set_title(f"{plain(attention.video)}, ground truth", loc="left", fontsize=9)
    for axes, (title, weights) in zip(rows[1:], attention.maps.items(), strict=True):
        axes.imshow(
            weights,
            cmap=SHADES,
            vmin=0,
            vmax=1,
            aspect="auto",
            interpolation="nearest",
            extent=(0, n_frames, n_segments, 0),
        )
        axes.set_title(plain(title), loc="left", fontsize=9)
        axes.set_ylabel("segment")
    time_axis(rows[-1], n_frames, frames_per_second)
    figure.subplots_adjust(hspace=0.6)
    return figure


def time_axis(
    axes: Axes, n_frames: int, frames_per_second: float | None, *, named: bool = True
) -> None:
    """Puts minutes and seconds along the bottom, or frames where the rate is unknown."""
    axes.set_xlim(0, n_frames)
    if named:
        name = "frame" if frames_per_second is None else "minutes and seconds"
        axes.set_xlabel(name, fontsize=8)
    if frames_per_second is None:
        axes.xaxis.set_major_locator(MaxNLocator(_N_MARKS, integer=True))
        return
    rate, seconds = frames_per_second, n_frames / frames_per_second
    hours = 3600.0 * np.ceil(seconds / 3600 / _N_MARKS)
    step = next((one for one in _STEPS if seconds / one <= _N_MARKS), hours)
    decimals = 0 if step >= 1 else 1
    axes.set_xticks(np.arange(0, seconds + step / 1000, step) * rate)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: format_time(x / rate, decimals)))


def _rows(video: Timeline, decodings: Sequence[str]) -> dict[str, Segmentation | Timestamps]:
    """The rows a video has, from top to bottom."""
    found: dict[str, Segmentation | Timestamps] = {}
    if video.true is not None:
        found["ground truth"] = video.true
    if video.clicks is not None:
        found["clicks"] = video.clicks
    return found | {
        name: one.segmentation for name, one in zip(decodings, video.tracks, strict=True)
    }


def _draw_video(
    axes: Axes, video: Timeline, decodings: Sequence[str], styles: Sequence[ClassStyle]
) -> None:
    rows = _rows(video, decodings)
    for row, one in enumerate(rows.values()):
        if isinstance(one, Segmentation):
            _draw_segments(axes, one, styles, row)
            continue
        colours = [styles[action].colour for action in one.transcript.tolist()]
        axes.vlines(one.frames, row - 0.4, row + 0.4, colors="black", linewidth=3)
        axes.vlines(one.frames, row - 0.36, row + 0.36, colors=colours, linewidth=2)
    axes.set_yticks(range(len(rows)), [plain(name) for name in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    split = "" if video.split is None else f", split {video.split}"
    training = ", used in training" if video.in_training else ""
    axes.set_title(plain(video.name + split + training), loc="left", fontsize=9)
    axes.tick_params(axis="x", labelsize=8)
    quiet(axes)


def _draw_segments(axes: Axes, one: Segmentation, styles: Sequence[ClassStyle], row: int) -> None:
    for action in np.unique(one.transcript).tolist():
        its = one.transcript == action
        axes.barh(
            np.full(its.sum(), row),
            one.durations[its],
            0.8,
            left=one.starts[its],
            **look(_style(styles, action)),
        )


def _style(styles: Sequence[ClassStyle], action: int) -> ClassStyle:
    return UNLABELLED_STYLE if action == UNLABELLED else styles[action]


def _name(vocabulary: Vocabulary, action: int) -> str:
    return "unlabelled" if action == UNLABELLED else plain(vocabulary.names[action])


def look(style: ClassStyle) -> dict[str, Any]:
    """A class's style as matplotlib keywords for anything filled."""
    hatch = HATCHES[style.pattern]
    return {"facecolor": style.colour, "edgecolor": style.ink, "hatch": hatch, "linewidth": 0}


def quiet(axes: Axes) -> None:
    """Removes the top and right edges of the frame."""
    axes.spines[["top", "right"]].set_visible(False)


def plain(text: str) -> str:
    """Text safe to draw: never read as a formula, or dropped from the legend for a leading `_`."""
    return " " * text.startswith("_") + printable(text).replace("$", r"\$")
