"""What a person should look at next: predicted segments, the least sure first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from uvast.exchange.records import joined
from uvast.proposals import is_known
from uvast.web.documents import spans_of
from uvast.web.predictions import timed
from uvast.web.views import lost

if TYPE_CHECKING:
    from uvast.web.app import App
    from uvast.web.predictions import PredictedSegment

MOST_SHOWN = 500


@dataclass(frozen=True)
class Doubtful:
    """A predicted segment that nobody has looked at."""

    video: str
    segment: PredictedSegment
    uncertainty: float
    why: str

    @property
    def view(self) -> dict[str, object]:
        """As the page gets it."""
        one = self.segment
        return {
            "video": self.video,
            "segment": {
                "label": one.label,
                "start": one.start_seconds,
                "end": one.end_seconds,
                "confidence": one.confidence,
            },
            "uncertainty": round(self.uncertainty, 4),
            "why": self.why,
            "measures": measures(self.segment),
        }


def doubtful(app: App) -> list[Doubtful]:
    """The segments of all videos that were not reviewed, the least sure first."""
    documents = app.store.documents
    found: list[Doubtful] = []
    for name in app.project.names:
        document, prediction = documents.get(name), app.predictions.of(name)
        if prediction is None or (document is not None and document.reviewed):
            continue
        if lost(app, app.project.video(name)) is not None:  # nobody can look at it
            continue
        segments = timed(prediction)
        spans = joined(spans_of(item.event for item in document.segments)) if document else ()
        edges = [(one.start_seconds or 0.0, one.end_seconds or 0.0) for one in segments]
        found += [
            Doubtful(name, one, one.uncertainty, why_unsure(one))
            for one, is_settled in zip(segments, is_known(edges, spans).tolist(), strict=True)
            if not is_settled
        ]
    return sorted(found, key=lambda one: (-one.uncertainty, one.video, one.segment.start))


def why_unsure(one: PredictedSegment) -> str:
    """Why the model is unsure, in a few words for people."""
    if one.agreement is not None and one.agreement < 0.5:
        return f"only {100 * one.agreement:.0f} % of its frames look like {one.label}"
    if one.divergence is not None and one.divergence > 0.5:
        return "the models that were combined disagree about it"
    if one.entropy is not None and one.entropy > 0.5:
        return "it looks like several actions at once"
    if one.confidence is not None:
        return f"the model is {100 * one.confidence:.0f} % sure"
    return "the model does not say how sure it is"


def measures(one: PredictedSegment) -> str:
    """The numbers behind it, for those who know what they mean (docs/method.md, Confidences)."""
    values = {
        "agreement": one.agreement,
        "divergence": one.divergence,
        "entropy": one.entropy,
        "confidence": one.confidence,
    }
    known = (f"{name} {value:.2f}" for name, value in values.items() if value is not None)
    return ", ".join(known)
