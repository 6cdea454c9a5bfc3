"""A report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from uvast._version import __version__
from uvast.errors import counted, printable
from uvast.files import write_text
from uvast.report.confidence import confidence_section
from uvast.report.errors_section import errors_section
from uvast.report.fragments import (
    benchmark_table,
    chart,
    facts_list,
    file_details,
    note_list,
    scores_table,
    text_table,
)
from uvast.report.payload import page_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from uvast.report.content import Comparison, Report
    from uvast.vocabulary import Vocabulary

SCRIPTS = ("base.js", "tracks.js", "videos.js", "times.js", "matrices.js", "start.js")


def write_page(report: Report, path: Path) -> None:
    """Writes the report's page."""
    write_text(path, page(report))


def page(report: Report) -> str:
    """The report's HTML.

    The content security policy allows only the page's own script and style, by their hashes: a name
    that slipped through the escaping could still not run or load anything.
    """
    style = _template("page.css")
    script = "(() => {\n" + "".join(_template(name) for name in SCRIPTS) + "})();"
    sections = list(_sections(report))
    return Template(_template("page.html")).substitute(
        title=escape(printable(report.title)),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        summary=_summary(report) if report.comparison is not None else "",
        navigation="".join(f'<a href="#{key}">{escape(title)}</a>' for key, title, _ in sections),
        facts=facts_list(report.facts),
        notes=note_list(report.notes),
        sections="\n".join(
            f'<section id="{key}" aria-labelledby="{key}-title">'
            f'<h2 id="{key}-title">{escape(title)}</h2>\n{body}</section>'
            for key, title, body in sections
        ),
        version=escape(__version__),
        data=page_json(report),
    )


def _sections(report: Report) -> Iterator[tuple[str, str, str]]:
    """Key, title and HTML of each section with something to show."""
    comparison, attention, pseudo_labels = report.comparison, report.attention, report.pseudo_labels
    scored = comparison is not None and bool(comparison.scores)
    if report.agreement:
        yield "agreement", "Agreement", "".join(map(text_table, report.agreement))
    if report.benchmark:
        yield "benchmark", "Scores", benchmark_table(report.benchmark)
    if comparison is not None and scored:
        yield "scores", "Scores", _scores(comparison, report.vocabulary)
    if comparison is not None:
        yield "videos", "Timelines", _template("videos.html")
        yield "times", "Time in each action", _template("times.html")
    if comparison is not None and report.vocabulary is not None and scored:
        yield "errors", "Errors", errors_section(comparison, report.vocabulary)
    if scored:
        yield "classes", "Classes", _template("classes.html")
        yield "confusion", "Confusion", _template("confusion.html")
    if comparison is not None and scored and (drawn := confidence_section(comparison)):
        yield "reliability", "Confidence", f'<div class="charts">{drawn}</div>'
    if attention is not None:
        video = escape(printable(attention.video))
        filled = Template(_template("attention.html")).substitute(video=video)
        yield "attention", "Cross-attention", filled
    if pseudo_labels is not None:
        yield "pseudo-labels", "Pseudo-labels", _pseudo_labels(pseudo_labels)
    if report.charts:
        charts = "".join(map(chart, report.charts))
        yield "training", "Training", f'<div class="charts">{charts}</div>'
    if report.files:
        yield "configuration", "Configuration", file_details(report.files)


def _summary(report: Report) -> str:
    return Template(_template("summary.html")).substitute(what=escape(report.timelines_are))


def _scores(comparison: Comparison, vocabulary: Vocabulary | None) -> str:
    hints = [f"Protocol: {comparison.scores[0].protocol}."]
    if vocabulary is not None and vocabulary.background:
        hints.append(f"F1 and Edit leave out {', '.join(vocabulary.background)}.")
    if len(comparison.decodings) > 1:
        hints.append("Bold: the best of each column.")
    table = scores_table(comparison, caption="Scores of each decoding, in percent")
    return f'{table}<p class="hint">{escape(" ".join(hints))}</p>'


def _pseudo_labels(comparison: Comparison) -> str:
    n_videos, caption = len(comparison.videos), "Scores of pseudo-labels, in percent"
    return Template(_template("pseudo_labels.html")).substitute(
        n_videos=counted(n_videos, "training video"),
        scores=scores_table(comparison, caption=caption) if comparison.scores else "",
    )


def _template(name: str) -> str:
    return (resources.files("uvast.report") / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
