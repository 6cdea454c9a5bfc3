"""Ways to segment the same videos, scored side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.evaluation import VideoScores, count, mean_scores, sum_counts, worst_first
from uvast.report.content import Comparison, VideoResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.evaluation import Counts, Scores
    from uvast.segments import IntArray, Segmentation
    from uvast.vocabulary import Vocabulary


def compare(
    truths: Mapping[str, Segmentation],
    predictions: Mapping[str, Mapping[str, Segmentation]],
    vocabulary: Vocabulary,
    *,
    sides: Sequence[Sequence[str]] | None = None,
    timestamps: Mapping[str, IntArray] | None = None,
    main: int = 0,
) -> Comparison:
    """Scores every way on every video.

    Args:
        truths: the ground truth of each video at the source rate.
        predictions: way to video to segmentation; frames past the truth's end are cut off.
        vocabulary: the classes.
        sides: the videos of each split, whose scores are averaged; None: all videos are one side.
        timestamps: annotated source frames of each video, to be drawn.
        main: the index of the way that is shown first.
    """
    fitted = {
        way: {name: found[name].first(true.n_frames) for name, true in truths.items()}
        for way, found in predictions.items()
    }
    counts = {
        way: {
            name: count(found[name], true, vocabulary, confusion=True)
            for name, true in truths.items()
        }
        for way, found in fitted.items()
    }
    return Comparison(
        ways=tuple(predictions),
        scores=tuple(
            mean_scores([_pooled(of_way, side, vocabulary) for side in sides or [list(truths)]])
            for of_way in counts.values()
        ),
        videos=tuple(
            VideoResult(
                name,
                true,
                predicted=tuple(found[name] for found in fitted.values()),
                scores=tuple(of_way[name].scores() for of_way in counts.values()),
                timestamps=None if timestamps is None else timestamps.get(name),
            )
            for name, true in sorted(truths.items())
        ),
        main=main,
    )


def _pooled(counts: Mapping[str, Counts], names: Sequence[str], vocabulary: Vocabulary) -> Scores:
    return sum_counts(counts[name] for name in names).scores(classes=vocabulary)


def order_of_videos(comparison: Comparison, way: int) -> list[int]:
    """Indices of the videos, the worst of this way first."""
    indices = {video.name: index for index, video in enumerate(comparison.videos)}
    scored = [VideoScores(v.name, v.true.n_frames, v.scores[way]) for v in comparison.videos]
    return [indices[one.video] for one in worst_first(scored)]
