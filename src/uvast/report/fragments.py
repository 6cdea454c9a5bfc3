"""Pieces of HTML; all outside text is escaped here."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from uvast.errors import printable
from uvast.report.content import SCORE_NAMES, score_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.report.content import BenchmarkRow, Chart, Comparison, TextTable

_LONGEST = 1_000
_WIDTH, _HEIGHT = 320.0, 130.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 8.0, 8.0, 20.0


def facts_list(facts: Mapping[str, str]) -> str:
    """A definition list."""
    rows = (
        f"<div><dt>{escape(name)}</dt><dd>{escape(printable(value, _LONGEST))}</dd></div>"
        for name, value in facts.items()
    )
    return f'<dl class="facts">{"".join(rows)}</dl>'


def note_list(notes: Sequence[str]) -> str:
    """Sentences a reader has to know, or nothing."""
    return "".join(f'<p class="note">{escape(note)}</p>' for note in notes)


def table(
    columns: Sequence[str], rows: Sequence[tuple[Sequence[str], Sequence[str]]], *, caption: str
) -> str:
    """A table; each row is texts, then numbers, both already escaped HTML."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = []
    for texts, numbers in rows:
        cells = [f'<th scope="row">{texts[0]}</th>', *(f"<td>{text}</td>" for text in texts[1:])]
        cells += [f'<td class="number">{number}</td>' for number in numbers]
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def text_table(one: TextTable) -> str:
    """A table of text; all cells but the first in each row are numbers."""
    rows = [
        ([escape(printable(row[0]))], [escape(printable(cell)) for cell in row[1:]])
        for row in one.rows
    ]
    return table(list(map(printable, one.columns)), rows, caption=printable(one.title))


def scores_table(comparison: Comparison, *, caption: str) -> str:
    """A row per decoding, the best of each column marked."""
    values = [score_values(scores) for scores in comparison.scores]
    best = [max(column) for column in zip(*values, strict=True)]
    several = len(values) > 1
    rows = [
        (
            [escape(printable(name))],
            [_number(v, mark=several and v == b) for v, b in zip(row, best, strict=True)],
        )
        for name, row in zip(comparison.decodings, values, strict=True)
    ]
    return table(["", *SCORE_NAMES], rows, caption=caption)


def benchmark_table(rows: Sequence[BenchmarkRow]) -> str:
    """A benchmark's table; marks the best among whole rows of each dataset and supervision."""
    best: dict[tuple[str, str, str], float] = {}
    for row in (row for row in rows if row.is_whole):
        for name, value in row.means.items():
            key = (row.labels[0], row.labels[2], name)
            best[key] = max(value, best.get(key, value))

    def cell(row: BenchmarkRow, name: str) -> str:
        if name not in row.means:
            return "–"
        mean = row.means[name]
        spread = f" ± {row.spreads[name]:.1f}" if name in row.spreads else ""
        mark = row.is_whole and mean == best[row.labels[0], row.labels[2], name]
        return _number(mean, mark=mark) + spread

    return table(
        ["Dataset", "Model", "Supervision", "Decoding", *SCORE_NAMES, "Splits", "Seeds"],
        [
            (
                [escape(label) for label in row.labels],
                [*(cell(row, name) for name in SCORE_NAMES), str(row.n_splits), str(row.n_seeds)],
            )
            for row in rows
        ],
        caption="Scores of the benchmark",
    )


def _number(value: float, *, mark: bool) -> str:
    return f"<strong>{value:.1f}</strong>" if mark else f"{value:.1f}"


def file_details(files: Mapping[str, str]) -> str:
    """Each file's text, folded away."""
    return "".join(
        f"<details><summary>{escape(name)}</summary>"
        f'<pre tabindex="0">{escape(text)}</pre></details>'
        for name, text in files.items()
    )


def chart(one: Chart) -> str:
    """Curves as SVG; the axes show the first and last epoch and the range of values.

    A single epoch is a dot, and a constant axis has one label.
    """
    drawn = (*one.thin, one)
    values = [value for each in drawn for curve in each.curves.values() for value in curve]
    low, high = min(values), max(values)
    first = min(each.epochs[0] for each in drawn)
    last = max(each.epochs[-1] for each in drawn)

    def x(epoch: float) -> float:
        share = (epoch - first) / (last - first) if last > first else 0.5
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)

    lines = []
    for each in drawn:
        thin = "" if each is one else " thin"
        for place, curve in enumerate(each.curves.values()):
            points = [(x(e), y(value)) for e, value in zip(each.epochs, curve, strict=True)]
            lines.append(_curve(f"curve-{place % 3}{thin}", points))
    ends = ", ".join(f"{name} {curve[-1]:.3g}" for name, curve in one.curves.items())
    caption = f"{one.title}, last: {ends}" if len(one.curves) > 1 else f"{one.title}, {ends}"
    floor = _HEIGHT - _BOTTOM
    return f"""<figure class="chart">
<svg viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{escape(caption)}">
<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{_WIDTH - _RIGHT}"/>{"".join(lines)}
{_value_labels(low, high)}{_epoch_labels(first, last)}
</svg><figcaption>{escape(one.title)}{_legend(one)}</figcaption></figure>"""


def _curve(name: str, points: Sequence[tuple[float, float]]) -> str:
    if len(points) == 1:
        ((x, y),) = points
        return f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="{name}" points="{places}"/>'


def _value_labels(low: float, high: float) -> str:
    floor, top, x = _HEIGHT - _BOTTOM, _TOP + 8, _LEFT - 6
    if f"{low:.3g}" == f"{high:.3g}":
        return _label(x, (floor + top) / 2, "end", f"{low:.3g}")
    return _label(x, top, "end", f"{high:.3g}") + _label(x, floor, "end", f"{low:.3g}")


def _epoch_labels(first: float, last: float) -> str:
    y = _HEIGHT - 4
    if first == last:
        return _label((_LEFT + _WIDTH - _RIGHT) / 2, y, "middle", f"epoch {first:.0f}")
    start = _label(_LEFT, y, "start", f"epoch {first:.0f}")
    return start + _label(_WIDTH - _RIGHT, y, "end", f"{last:.0f}")


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def _legend(one: Chart) -> str:
    keys = (
        f' <span class="key curve-{place % 3}">'
        f"{escape(name) if len(one.curves) > 1 else ''} {curve[-1]:.3g}</span>"
        for place, (name, curve) in enumerate(one.curves.items())
    )
    others = "the other member" if len(one.thin) == 1 else f"the {len(one.thin)} other members"
    behind = f" (thin: {others})" if one.thin else ""
    return "".join(keys) + behind
