"""A report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from uvast._version import __version__
from uvast.errors import printable
from uvast.files import write_text
from uvast.report.fragments import (
    benchmark_table,
    chart,
    facts_list,
    file_details,
    note_list,
    scores_table,
)
from uvast.report.payload import page_json

if TYPE_CHECKING:
    from pathlib import Path

    from uvast.report.content import Report

SCRIPTS = ("base.js", "tracks.js", "videos.js", "times.js", "matrices.js", "start.js")


def write_page(report: Report, path: Path) -> None:
    """Writes the report's page."""
    write_text(path, page(report))


def page(report: Report) -> str:
    """The report's HTML.

    The content security policy admits the page's own script and style by their hashes and nothing
    else: a name that slipped through the escapes could still not run, nor load anything.
    """
    style = _template("page.css")
    script = "(() => {\n" + "".join(_template(name) for name in SCRIPTS) + "})();"
    sections = [(key, title, body) for key, title, body in _sections(report) if body]
    return Template(_template("page.html")).substitute(
        title=escape(printable(report.title)),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        summary=_template("summary.html") if report.comparison is not None else "",
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


def _sections(report: Report) -> list[tuple[str, str, str]]:
    """Key, title and HTML of each section; those with nothing to show have none."""
    compared = report.comparison is not None
    scored = report.comparison is not None and bool(report.comparison.scores)
    return [
        ("benchmark", "Scores", benchmark_table(report.benchmark) if report.benchmark else ""),
        ("scores", "Scores", _scores(report)),
        ("videos", "Timelines", _template("videos.html") if compared else ""),
        ("times", "Time in each action", _template("times.html") if compared else ""),
        ("classes", "Classes", _template("classes.html") if scored else ""),
        ("confusion", "Confusion", _template("confusion.html") if scored else ""),
        ("attention", "Cross-attention", _attention(report)),
        ("pseudo-labels", "Pseudo-labels", _pseudo_labels(report)),
        (
            "training",
            "Training",
            f'<div class="charts">{"".join(map(chart, report.charts))}</div>'
            if report.charts
            else "",
        ),
        ("configuration", "Configuration", file_details(report.files)),
    ]


def _scores(report: Report) -> str:
    if report.comparison is None or not report.comparison.scores:
        return ""
    hints = [f"Protocol: {report.comparison.scores[0].protocol}."]
    if report.vocabulary is not None and report.vocabulary.background:
        hints.append(f"F1 and Edit leave out {', '.join(report.vocabulary.background)}.")
    if len(report.comparison.decodings) > 1:
        hints.append("Bold: the best of each column.")
    return (
        scores_table(report.comparison, caption="Scores of each decoding, in percent")
        + f'<p class="hint">{escape(" ".join(hints))}</p>'
    )


def _attention(report: Report) -> str:
    if report.attention is None:
        return ""
    return Template(_template("attention.html")).substitute(
        video=escape(printable(report.attention.video))
    )


def _pseudo_labels(report: Report) -> str:
    if report.pseudo_labels is None:
        return ""
    n_videos = len(report.pseudo_labels.videos)
    return Template(_template("pseudo_labels.html")).substitute(
        n_videos=f"{n_videos} training video{'s' * (n_videos != 1)}",
        scores=scores_table(report.pseudo_labels, caption="Scores of pseudo-labels, in percent")
        if report.pseudo_labels.scores
        else "",
    )


def _template(name: str) -> str:
    return (resources.files("uvast.report") / "templates" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
