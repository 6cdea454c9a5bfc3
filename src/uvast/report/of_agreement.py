"""Two annotators compared: their agreement in tables, their differences in timelines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from uvast.evaluation import Track
from uvast.report.content import Comparison, Report, TextTable, Timeline
from uvast.segments import UNLABELLED, Segmentation
from uvast.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.evaluation.agreement import Agreement, Differences
    from uvast.evaluation.annotations import AnnotatorComparison, Labelled

DIFFERENCES = "differences"
_SCORES = ("frames", "kappa", "F1@10", "F1@25", "F1@50", "Edit", "Acc")


def agreement_tables(found: AnnotatorComparison, first: str, second: str) -> tuple[TextTable, ...]:
    """Scores by video, differences between boundaries, and the confusion of labels.

    Args:
        found: the comparison.
        first: what the first side is called.
        second: what the second side is called.
    """
    whole = found.agreement
    rows = [(name, *_row(one)) for name, one in found.videos.items()]
    if len(rows) > 1:
        rows.append(("all videos", *_row(whole)))
    matched = f"{whole.n_matched} of {whole.n_first} and {whole.n_second} segments match"
    names = found.classes.names
    frames = whole.confusion.tolist()
    return (
        TextTable(f"{first} and {second}", ("video", *_SCORES), tuple(rows)),
        TextTable(
            f"Boundaries in seconds, {matched}",
            ("", "boundaries", "median", "95 % below", f"mean shift of {second}"),
            (("starts", *_differences(whole.starts)), ("ends", *_differences(whole.ends))),
        ),
        TextTable(
            f"Frames, rows {first}, columns {second}",
            ("", *names),
            tuple((name, *map(str, row)) for name, row in zip(names, frames, strict=True)),
        ),
    )


def report_agreement(found: AnnotatorComparison, first: str, second: str) -> Report:
    """A report with both timelines of every video, and a third that shows where they differ.

    Args:
        found: the comparison.
        first: what the first side is called.
        second: what the second side is called.
    """
    extra = _unused_names(("(unlabelled)", "(same)", "(different)"), found.classes.names)
    vocabulary = Vocabulary((*found.classes.names, *extra), (*found.classes.background, *extra[:2]))
    unlabelled = len(found.classes)
    videos = tuple(
        Timeline(name, tuple(map(Track, _rows(one, unlabelled))))
        for name, one in sorted(found.labels.items())
    )
    rates = {one.rate for one in found.labels.values()}
    sides = (first, second) if first != second else (f"{first} (A)", f"{second} (B)")
    return Report(
        title=f"{first} and {second}",
        facts={"A": first, "B": second, "Videos": str(len(videos))},
        notes=found.notes,
        vocabulary=vocabulary,
        frames_per_second=rates.pop() if len(rates) == 1 else None,
        comparison=Comparison((*sides, DIFFERENCES), videos),
        agreement=agreement_tables(found, first, second),
        timelines_are="Annotator",
    )


def _rows(one: Labelled, unlabelled: int) -> list[Segmentation]:
    """Both sides, and whether they agree where both are labelled."""
    known = (one.first != UNLABELLED) & (one.second != UNLABELLED)
    same, different = unlabelled + 1, unlabelled + 2
    third = np.where(one.first == one.second, same, different)
    sides = [np.where(side == UNLABELLED, unlabelled, side) for side in (one.first, one.second)]
    return [
        Segmentation.from_labels(labels) for labels in (*sides, np.where(known, third, unlabelled))
    ]


def _unused_names(names: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    found = []
    for name in names:
        while name in taken:
            name = f"({name})"
        found.append(name)
    return tuple(found)


def _row(one: Agreement) -> list[str]:
    kappa = "–" if math.isnan(one.kappa) else f"{one.kappa:.3f}"
    scores = [*one.f1.values(), one.edit, one.acc]
    return [str(one.n_frames), kappa, *(f"{score:.1f}" for score in scores)]


def _differences(one: Differences) -> list[str]:
    values = (one.median, one.most, one.shift)
    return [str(one.n), *("–" if math.isnan(value) else f"{value:.3f}" for value in values)]
