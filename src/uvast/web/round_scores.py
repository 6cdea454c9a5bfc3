"""The score of each round against what people have reviewed since."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING

from uvast.errors import UvastError
from uvast.evaluation.metrics import count, sum_counts
from uvast.exchange import ConstantRate, Event, VideoAnnotations, frame_labels
from uvast.files import read_record
from uvast.vocabulary import BACKGROUND, Vocabulary
from uvast.web.classes import background_of
from uvast.web.rounds import Round, round_files, rounds_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.evaluation.metrics import Counts
    from uvast.web.app import App
    from uvast.web.documents import Document

_TICKS = 10
"""Per second; predictions and labels are compared at each."""


def curve(app: App) -> list[dict[str, object]]:
    """The scores of every round, on reviewed videos that its model had not learned from.

    If there is no such video, those that it had learned from count, and the entry says so.
    """
    documents = app.store.documents
    reviewed = {name: one for name, one in documents.items() if one.reviewed and one.segments}
    found = []
    for path in sorted(round_files(rounds_folder(app)), key=lambda one: int(one.stem)):
        with suppress(UvastError):
            found.append(_scored(app, int(path.stem), read_record(path, Round), reviewed))
    return found


def _scored(
    app: App, number: int, one: Round, reviewed: Mapping[str, Document]
) -> dict[str, object]:
    names = [name for name in one.videos if name in reviewed]
    unseen = [name for name in names if name not in one.train]
    classes = _vocabulary(app, one)
    counts = [_counts(app, name, one, reviewed[name], classes) for name in unseen or names]
    scores = sum_counts(counts).scores() if counts else None
    return {
        "round": number,
        "at": one.at,
        "run": f"runs/{one.run}",
        "n_train": len(one.train),
        "n_videos": len(counts),
        "learned_from": bool(names) and not unseen,
        "scores": None
        if scores is None
        else {"acc": scores.acc, "edit": scores.edit, "f1@50": scores.f1[50]},
    }


def _vocabulary(app: App, one: Round) -> Vocabulary:
    background = background_of(app.store.classes) or (BACKGROUND,)
    predicted = {label for segments in one.videos.values() for label, _, _ in segments}
    names = {*background, *predicted, *(one.name for one in app.store.classes)}
    return Vocabulary(tuple(sorted(names)), background)


def _counts(app: App, name: str, one: Round, document: Document, classes: Vocabulary) -> Counts:
    """Compares both on the same ticks; what nobody labelled counts as background."""
    predicted = tuple(Event(*segment) for segment in one.videos[name])
    true = tuple(item.event for item in document.segments)
    last = max(event.start + event.seconds for event in (*predicted, *true))
    seconds = app.project.video(name).seconds or last
    times = ConstantRate(Fraction(_TICKS), max(1, round(seconds * _TICKS)))
    both = [
        frame_labels(
            VideoAnnotations(name, events),
            times,
            names=classes.names,
            background=classes.background[0],
            overlaps="first",
        ).segmentation
        for events in (predicted, true)
    ]
    return count(both[0], both[1], classes)
