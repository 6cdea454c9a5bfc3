"""The section of a report that shows where each decoding goes wrong."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from uvast.errors import printable
from uvast.evaluation import find_errors
from uvast.evaluation.segment_errors import KINDS, sum_errors
from uvast.report.content import TextTable
from uvast.report.fragments import text_table

if TYPE_CHECKING:
    from uvast.evaluation import SegmentErrors
    from uvast.report.content import Comparison
    from uvast.vocabulary import Vocabulary

HINT = (
    "Transcripts are aligned with the true ones by the fewest edits, as in the Edit score. "
    "Badly cut: named correctly, but with an overlap (IoU) below 0.5."
)


def errors_section(comparison: Comparison, vocabulary: Vocabulary) -> str:
    """A row per decoding, and the classes with most errors in the main one."""
    found = [_errors(comparison, place, vocabulary) for place in range(len(comparison.decodings))]
    rows = [
        (name, str(one.n_true), *(str(getattr(one, kind).sum()) for kind in KINDS))
        for name, one in zip(comparison.decodings, found, strict=True)
    ]
    columns = ("", "true segments", *KINDS.values())
    counts = text_table(TextTable("Errors of each decoding", columns, tuple(rows)))
    often = _most_frequent(found[comparison.main], vocabulary)
    return f'{counts}<p class="hint">{escape(" ".join((HINT, *often)))}</p>'


def _errors(comparison: Comparison, place: int, vocabulary: Vocabulary) -> SegmentErrors:
    return sum_errors(
        find_errors(video.tracks[place].segmentation, video.true, vocabulary)
        for video in comparison.videos
        if video.true is not None
    )


def _most_frequent(errors: SegmentErrors, vocabulary: Vocabulary) -> list[str]:
    """Sentences about the decoding that is shown first."""
    found = {kind: errors.most_frequent(kind, vocabulary) for kind in list(KINDS)[1:]}
    return [
        f"Most often {KINDS[kind].removeprefix('of these ')}: "
        + ", ".join(f"{printable(name)} ({n})" for name, n in most)
        + "."
        for kind, most in found.items()
        if most
    ]
