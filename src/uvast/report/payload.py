"""What the page's script draws, as compact JSON.

A segmentation is one flat list, `[action, frames, action, frames, …]`, with -1 for unlabelled
frames; scores are rounded to one decimal, confidences to percents; attention maps and pictures are
base64 bytes. A thousand videos without pictures take about a megabyte, and so do the pictures.
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.errors import printable
from uvast.features.pictures import IMAGE_TYPE
from uvast.report.compare import order_of_videos
from uvast.report.content import SCORE_NAMES, score_values
from uvast.report.palette import class_styles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from uvast.evaluation import Scores
    from uvast.report.content import Attention, Comparison, FilmStrip, Report, Timeline
    from uvast.segments import IntArray, Segmentation
    from uvast.vocabulary import Vocabulary


def page_json(report: Report) -> str:
    """The report's drawings as JSON that is safe inside a script element.

    No class or video name can end the element: `<`, `>` and `&` are written as escapes.
    """
    text = json.dumps(_payload(report), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _payload(report: Report) -> dict[str, Any]:
    vocabulary = report.vocabulary
    if vocabulary is None:
        return {"classes": [], "fps": None, "scoreNames": SCORE_NAMES}
    return {
        "classes": [
            {"name": name, **asdict(style)}
            for name, style in zip(vocabulary.names, class_styles(vocabulary), strict=True)
        ],
        "fps": report.frames_per_second,
        "scoreNames": SCORE_NAMES,
        "imageType": IMAGE_TYPE,
        "comparison": _comparison(report.comparison, vocabulary, details=True),
        "pseudoLabels": _comparison(report.pseudo_labels, vocabulary, details=False),
        "attention": None if report.attention is None else _attention(report.attention),
    }


def _comparison(
    comparison: Comparison | None, vocabulary: Vocabulary, *, details: bool
) -> dict[str, Any] | None:
    if comparison is None:
        return None
    return {
        "decodings": [
            {"name": printable(name), "order": order_of_videos(comparison, index)}
            for index, name in enumerate(comparison.decodings)
        ],
        "scores": [
            {"means": _rounded(scores)} | (_details(scores, vocabulary) if details else {})
            for scores in comparison.scores
        ],
        "main": comparison.main,
        "videos": [_video(one) for one in comparison.videos],
    }


def _video(one: Timeline) -> dict[str, Any]:
    """A video as JSON values; unknown ones are left out."""
    sure = [_percents(track.confidences) for track in one.tracks]
    values = {
        "name": printable(one.name),
        "frames": one.n_frames,
        "tracks": [_segments(track.segmentation) for track in one.tracks],
        "split": one.split,
        "truth": None if one.true is None else _segments(one.true),
        "clicks": None if one.clicks is None else _pairs(one.clicks.transcript, one.clicks.frames),
        "scores": [_rounded(scores) for scores in one.scores] or None,
        "sure": sure if any(sure) else None,
        "inTraining": one.in_training or None,
        "strip": None if one.strip is None else _strip(one.strip),
    }
    return {key: value for key, value in values.items() if value is not None}


def _strip(strip: FilmStrip) -> dict[str, Any]:
    pictures = [base64.b64encode(one).decode("ascii") for one in strip.pictures]
    return {"shape": round(strip.shape, 3), "pictures": pictures}


def _details(scores: Scores, vocabulary: Vocabulary) -> dict[str, Any]:
    assert scores.per_class is not None, "asked for"
    assert scores.confusion is not None, "asked for"
    return {
        "classes": [
            [
                vocabulary.id_of(one.name),
                *(None if math.isnan(value) else round(value, 1) for value in one.f1.values()),
                one.n_true,
                one.n_predicted,
            ]
            for one in scores.per_class
        ],
        "confusion": scores.confusion.tolist(),
    }


def _rounded(scores: Scores) -> list[float]:
    return [round(value, 1) for value in score_values(scores)]


def _segments(one: Segmentation) -> list[int]:
    return _pairs(one.transcript, one.durations)


def _pairs(first: IntArray, second: IntArray) -> list[int]:
    """`[a, x, b, y, …]`."""
    pairs: list[int] = np.stack((first, second), 1).ravel().tolist()
    return pairs


def _percents(shares: NDArray[np.float64] | None) -> list[int]:
    percents = [] if shares is None else (shares * 100).round().astype(int).tolist()
    return list(percents)


def _attention(attention: Attention) -> dict[str, Any]:
    return {
        "video": printable(attention.video),
        "frames": attention.true.n_frames,
        "true": _segments(attention.true),
        "maps": [
            {
                "title": title,
                "columns": weights.shape[1],
                "levels": base64.b64encode(_bytes(weights)).decode("ascii"),
            }
            for title, weights in attention.maps.items()
        ],
    }


def _bytes(shares: NDArray[np.float64]) -> bytes:
    return (shares * 255).round().astype(np.uint8).tobytes()
