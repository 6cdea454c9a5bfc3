"""Whether a model's confidences mean what they say: a reliability diagram on labelled frames."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import printable
from uvast.evaluation import reliability
from uvast.segments import UNLABELLED

if TYPE_CHECKING:
    from uvast.evaluation import Reliability
    from uvast.report.content import Comparison

_SIDE, _LEFT, _BOTTOM, _TOP = 180.0, 34.0, 22.0, 8.0
_LARGEST = 9.0
"""Radius of a bin that holds every frame."""


def trust(comparison: Comparison) -> Reliability | None:
    """The main decoding's confidences on labelled frames of videos the model did not learn from.

    Every frame has the confidence of its segment. None if no frame has one.
    """
    confidences, correct = [], []
    for video in comparison.videos:
        track = video.tracks[comparison.main]
        if video.true is None or track.confidences is None or video.in_training:
            continue
        found, true = track.segmentation, video.true.labels
        known = true != UNLABELLED
        confidences.append(np.repeat(track.confidences, found.durations)[known])
        correct.append((found.labels == true)[known])
    if not sum(map(len, correct)):
        return None
    return reliability(np.clip(np.concatenate(confidences), 0, 1), np.concatenate(correct))


def confidence_section(comparison: Comparison) -> str:
    """A reliability diagram as HTML; nothing where no confidence can be checked."""
    found = trust(comparison)
    if found is None:
        return ""
    name = printable(comparison.decodings[comparison.main])
    caption = f"Expected calibration error of {name}: {100 * found.error:.1f} %"
    return (
        f'<figure class="chart">{_diagram(found, caption)}<figcaption>{escape(caption)}'
        "</figcaption></figure>"
        '<p class="hint">Frames grouped by the confidence of their segment, and the share of each '
        "group that is right; the larger a dot, the more frames. Dots below the line are "
        "overconfident.</p>"
    )


def _diagram(found: Reliability, caption: str) -> str:
    def x(share: float) -> float:
        return _LEFT + share * _SIDE

    def y(share: float) -> float:
        return _TOP + (1 - share) * _SIDE

    bins = zip(found.confidence, found.accuracy, found.share, strict=True)
    dots = "".join(
        f'<circle class="curve-0" cx="{x(confidence):.1f}" cy="{y(accuracy):.1f}" '
        f'r="{max(1.5, _LARGEST * share**0.5):.1f}"><title>{100 * confidence:.0f} % sure, '
        f"{100 * accuracy:.0f} % right, {100 * share:.0f} % of the frames</title></circle>"
        for confidence, accuracy, share in bins
        if share
    )
    floor, right = y(0), x(1)
    labels = (
        f'<text x="{_LEFT - 6}" y="{_TOP + 8}" text-anchor="end">100</text>'
        f'<text x="{_LEFT - 6}" y="{floor}" text-anchor="end">0</text>'
        f'<text x="{_LEFT}" y="{floor + 16}" text-anchor="start">0 % sure</text>'
        f'<text x="{right}" y="{floor + 16}" text-anchor="end">100</text>'
    )
    width, height = right + _LARGEST + 2, floor + _BOTTOM
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(caption)}">'
        f'<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{right}M{_LEFT} {floor}L{right} {_TOP}"/>'
        f"{dots}{labels}</svg>"
    )
