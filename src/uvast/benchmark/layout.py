"""Tables as the paper prints them: our numbers and published ones, side by side, never mixed up.

In text, Markdown and LaTeX, each line of a table with published numbers says whose numbers it
holds; in CSV and JSON, each line of any table does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from uvast.errors import printable
from uvast.evaluation.scores import HEADINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.benchmark.tables import Table
    from uvast.evaluation.scores import ScoreProtocol

OURS = "ours"
DASH = "–"
LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", DASH: "--"}
)


class Printed(Protocol):
    """What can be printed as a table."""

    @property
    def title(self) -> str:
        """The table's title."""
        ...

    @property
    def texts(self) -> tuple[str, ...]:
        """The headings of the text columns, which come first."""
        ...

    @property
    def header(self) -> tuple[str, ...]:
        """The headings of all columns."""
        ...

    @property
    def sources(self) -> str:
        """Where published numbers come from, and how ours are scored; empty if all are ours."""
        ...

    def cells(self) -> list[list[str]]:
        """The table as text."""
        ...


@dataclass(frozen=True)
class Line:
    """One line of a printed table.

    Args:
        method: what was scored.
        source: `ours`, or the mark of published numbers.
        scores: column to number.
        spread: column to standard deviation over seeds, empty if there is none.
        remark: what the reader must know, such as that splits are missing.
        run: the folders of the runs, relative to the table's.
    """

    method: str
    source: str = OURS
    scores: Mapping[str, float] = field(default_factory=dict)
    spread: Mapping[str, float] = field(default_factory=dict)
    remark: str = ""
    run: tuple[str, ...] = ()

    def shown(self, column: str) -> str:
        """A number with its spread, or a dash."""
        if column not in self.scores:
            return DASH
        spread = f" ± {self.spread[column]:.1f}" if column in self.spread else ""
        return f"{self.scores[column]:.1f}{spread}"

    @property
    def label(self) -> str:
        """The method with its remark, safe to print."""
        return printable(f"{self.method} [{self.remark}]" if self.remark else self.method)


@dataclass(frozen=True)
class Layout:
    """A table of one dataset.

    Args:
        title: the table's title.
        dataset: the dataset's name.
        columns: the scores it shows.
        lines: in the order of the paper, ours below the published line of the same method.
        citation: where published numbers come from; empty if there are none.
        protocol: by which our numbers are scored.
    """

    title: str
    dataset: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    citation: str
    protocol: ScoreProtocol = "standard"

    @property
    def sources(self) -> str:
        """Where the numbers come from; some published scores end the last segment a frame early."""
        if not self.citation:
            return ""
        return f"Published numbers: {self.citation}. Ours: {self.protocol} protocol."

    @property
    def header(self) -> tuple[str, ...]:
        """The headings of all columns."""
        return (*self.texts, *(HEADINGS[column] for column in self.columns))

    @property
    def texts(self) -> tuple[str, ...]:
        """The headings of the text columns; `numbers` is there only beside published numbers."""
        return ("method", "numbers") if self.citation else ("method",)

    def cells(self) -> list[list[str]]:
        """The table as text."""
        return [
            [
                line.label,
                *([line.source] if self.citation else []),
                *(line.shown(column) for column in self.columns),
            ]
            for line in self.lines
        ]

    def records(self) -> list[dict[str, Any]]:
        """Flat lines, for CSV."""
        return [
            {
                "dataset": self.dataset,
                "method": line.method,
                "numbers": line.source,
                **{column: line.scores.get(column) for column in self.columns},
                **{f"{column} spread": line.spread.get(column) for column in self.columns},
                "remark": line.remark,
            }
            for line in self.lines
        ]

    def figure(self) -> dict[str, Any]:
        """The data of a bar chart, for JSON: one series per line."""
        return {
            "title": self.title,
            "dataset": self.dataset,
            "columns": list(self.columns),
            "protocol": self.protocol,
            "citation": self.citation,
            "series": [
                {
                    "method": line.method,
                    "numbers": line.source,
                    "values": [line.scores.get(column) for column in self.columns],
                    "spread": [line.spread.get(column) for column in self.columns],
                    "remark": line.remark,
                    "runs": list(line.run),
                }
                for line in self.lines
            ],
        }


def laid_out(
    title: str,
    columns: Sequence[str],
    table: Table,
    dataset: str,
    ours: Mapping[str, Sequence[Line]],
    protocol: ScoreProtocol,
) -> Layout:
    """Puts our lines below published ones, which appear if `dataset` names a published dataset.

    `ours` maps a row of the paper's table to our lines for it; lines of other rows come last. The
    title names a `protocol` other than the standard one.
    """
    name = dataset.lower()
    lines: list[Line] = []
    for row in table.rows:
        if row.published.get(name):
            lines.append(Line(row.name, row.mark, row.published[name], remark=row.remark))
        lines += ours.get(row.name, ())
    known = {row.name for row in table.rows}
    lines += [line for row, mine in ours.items() if row not in known for line in mine]
    cited = any(line.source != OURS for line in lines)
    source = table.source if cited else ""
    if protocol != "standard":
        title = f"{title}, {protocol} protocol"
    return Layout(printable(title), dataset, tuple(columns), tuple(lines), source, protocol)


def as_text(layout: Printed) -> str:
    """A table for the terminal. Rows never wrap, so each line shows whose numbers it holds."""
    rows = [list(layout.header), *layout.cells()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["─" * width for width in widths])
    lines = [layout.title]
    for row in rows:
        cells = [
            one.ljust(width) if place < len(layout.texts) else one.rjust(width)
            for place, (one, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    if layout.sources:
        lines.append(layout.sources)
    return "\n".join([*lines, ""])


def as_markdown(layout: Printed) -> str:
    """A table for documents."""
    rows = [layout.header, ["---"] * len(layout.header), *layout.cells()]
    body = "\n".join(f"| {' | '.join(one.replace('|', '/') for one in row)} |" for row in rows)
    cited = f"\n{layout.sources}\n" if layout.sources else ""
    return f"**{layout.title}**\n\n{body}\n{cited}"


def as_latex(layout: Layout) -> str:
    """A `tabular`; it needs the package booktabs."""
    header, *rows = (
        " & ".join(one.translate(LATEX) for one in row) + r" \\"
        for row in (layout.header, *layout.cells())
    )
    cited = f" {layout.sources}" if layout.sources else ""
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{f'{layout.title}.{cited}'.translate(LATEX)}}}",
            rf"\begin{{tabular}}{{{'l' * len(layout.texts)}{'r' * len(layout.columns)}}}",
            r"\toprule",
            header,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
