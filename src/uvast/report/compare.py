"""Decodings of the same videos side by side, scored where there is ground truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from uvast.evaluation import score_sides
from uvast.report.content import Comparison, Timeline

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from uvast.data import Timestamps
    from uvast.evaluation import Track
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary

    Tracks = Mapping[int | None, Mapping[str, Track]]

Item = TypeVar("Item")


def compare(
    predictions: Mapping[str, Tracks],
    truths: Mapping[str, Segmentation],
    vocabulary: Vocabulary,
    *,
    clicks: Mapping[str, Timestamps] | None = None,
    in_training: Mapping[int | None, Collection[str]] | None = None,
    main: int = 0,
) -> Comparison:
    """Collects what is known about each video, with scores where that includes the truth.

    Args:
        predictions: decoding to split to video to track, the same videos for every decoding;
            frames past the truth's end are cut off.
        truths: the ground truth of those videos that have one.
        vocabulary: the classes.
        clicks: the videos' annotated source frames.
        in_training: split to the videos that the model behind its predictions learned from.
        main: the index of the decoding that is shown first.
    """
    first = next(iter(predictions.values()))
    scored = {split: [name for name in tracks if name in truths] for split, tracks in first.items()}
    sides = {split: names for split, names in scored.items() if names}
    evaluations = [
        score_sides(
            truths,
            {split: {n: of[split][n].segmentation for n in sides[split]} for split in sides},
            sides,
            vocabulary,
            per_class=True,
            confusion=True,
        )
        for of in predictions.values()
        if sides
    ]
    scores = [{(v.video, v.split): v.scores for v in one.videos} for one in evaluations]
    videos = [
        Timeline(
            name,
            tracks=tuple(
                of[split][name].first(truths[name].n_frames) if name in truths else of[split][name]
                for of in predictions.values()
            ),
            true=truths.get(name),
            scores=tuple(one[name, split] for one in scores if name in truths),
            clicks=(clicks or {}).get(name),
            split=split,
            in_training=name in (in_training or {}).get(split, ()),
        )
        for split, tracks in first.items()
        for name in tracks
    ]
    return Comparison(
        tuple(predictions),
        tuple(sorted(videos, key=lambda one: (one.name, one.split or 0))),
        scores=tuple(one.scores for one in evaluations),
        main=main,
    )


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most `most` of the items, evenly spread from the first to the last."""
    places = np.linspace(0, len(items) - 1, min(len(items), most)).round().astype(int)
    return [items[place] for place in places.tolist()]


def order_of_videos(comparison: Comparison, decoding: int) -> list[int]:
    """Indices of the videos: scored ones from the worst, then others from the least sure."""

    def place(index: int) -> tuple[bool, float]:
        video = comparison.videos[index]
        if video.scores:
            return False, video.scores[decoding].quality
        confidence = video.tracks[decoding].confidence
        return True, 1.0 if confidence is None else confidence

    return sorted(range(len(comparison.videos)), key=place)
