"""The one way to score: truths and predictions in, scores by split, video and class out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from uvast.errors import InputError
from uvast.evaluation.metrics import (
    check_lengths,
    count,
    count_stretches,
    count_transcript,
    sum_counts,
)
from uvast.evaluation.scores import VideoScores, mean_scores, worst_first
from uvast.segments import UNLABELLED, Segmentation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from uvast.evaluation.metrics import Counts
    from uvast.evaluation.scores import ScoreProtocol, Scores
    from uvast.evaluation.segment_errors import SegmentErrors
    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary


@dataclass(frozen=True)
class Evaluation:
    """Everything that scoring produces.

    Args:
        scores: the scores, the mean over splits if there are several.
        splits: the scores of each split; empty for a dataset without splits.
        videos: the scores of each video, the worst first; a video on the test side of several
            splits has one for each.
        unlabelled: videos that would have been scored but have no labels.
        errors: where the predictions go wrong, over the videos of all splits, if asked for.
    """

    scores: Scores
    splits: Mapping[int, Scores]
    videos: tuple[VideoScores, ...]
    unlabelled: tuple[str, ...] = ()
    errors: SegmentErrors | None = None

    @property
    def n_in_training(self) -> int:
        """How many scores are of videos the model learned from: these are not results."""
        return sum(one.in_training for one in self.videos)

    def marked(self, learned: Mapping[int | None, Collection[str]]) -> Evaluation:
        """A copy that marks the videos each split's model learned from."""
        videos = tuple(
            replace(one, in_training=one.video in learned.get(one.split, ())) for one in self.videos
        )
        return replace(self, videos=videos)


def score(
    pairs: Iterable[tuple[Segmentation, Segmentation]],
    classes: Vocabulary,
    *,
    protocol: ScoreProtocol = "standard",
    per_class: bool = False,
    confusion: bool = False,
) -> Scores:
    """Scores pairs of a predicted and a true segmentation of the same frames.

    The options are those of `score_sides`.
    """
    truths: dict[str, Segmentation] = {}
    predictions: dict[str, Segmentation] = {}
    for number, (predicted, true) in enumerate(pairs):
        check_lengths(predicted, true)
        predictions[str(number)], truths[str(number)] = predicted, true
    return score_sides(
        truths,
        {None: predictions},
        {None: list(truths)},
        classes,
        protocol=protocol,
        per_class=per_class,
        confusion=confusion,
    ).scores


def score_sides(
    truths: Mapping[str, Segmentation],
    predictions: Mapping[int | None, Mapping[str, Segmentation | IntArray]],
    sides: Mapping[int | None, Sequence[str]],
    vocabulary: Vocabulary,
    *,
    protocol: ScoreProtocol = "standard",
    per_class: bool = False,
    confusion: bool = False,
) -> Evaluation:
    """Scores predictions on the sides of splits.

    Args:
        truths: the ground truth of each video; every labelled stretch of one that is `UNLABELLED`
            elsewhere is a sequence of its own.
        predictions: split to video to segmentation, or to a bare transcript `(S,)`, which only has
            an Edit score. Videos that are not on the split's side are ignored. Frames past the
            truth's end are cut off: features may be a little longer than labels.
        sides: split to the videos that are scored; the key is None without splits.
        vocabulary: the classes, and which of them are background.
        protocol: `standard`, or `legacy` to compare with published numbers.
        per_class: also F1 of each class.
        confusion: also the frame confusion `(C, C)`.
    """

    def counted(split: int | None, video: str) -> Counts:
        if video not in predictions[split]:
            raise InputError(f"video {video} has no prediction", remedy="predict it too")
        true, predicted = truths[video], predictions[split][video]
        is_partial = UNLABELLED in true.transcript
        if not isinstance(predicted, Segmentation):
            if is_partial:
                raise _no_times(video)
            return count_transcript(predicted, true, vocabulary, protocol=protocol)
        fitted = fit(predicted, true.n_frames, video=video)
        counting = count_stretches if is_partial else count
        return counting(fitted, true, vocabulary, protocol=protocol, confusion=confusion)

    counts = {
        split: {video: counted(split, video) for video in videos} for split, videos in sides.items()
    }
    classes = vocabulary if per_class else None
    scores = {
        split: sum_counts(of_videos.values()).scores(classes=classes)
        for split, of_videos in counts.items()
    }
    return Evaluation(
        scores=mean_scores(list(scores.values())),
        splits={split: one for split, one in scores.items() if split is not None},
        videos=worst_first(
            [
                VideoScores(video, truths[video].n_frames, one.scores(), split)
                for split, of_videos in counts.items()
                for video, one in of_videos.items()
            ]
        ),
    )


def _no_times(video: str) -> InputError:
    return InputError(
        f"video {video} is labelled in part, and a bare transcript has no times, so it cannot be "
        "cut to that part",
        remedy="choose a decoding with durations",
    )


def fit(predicted: Segmentation, n_frames: int, *, video: str | None = None) -> Segmentation:
    """Fits a prediction to `n_frames` frames: cuts off the rest."""
    if predicted.n_frames < n_frames:
        raise InputError(
            f"a prediction of {predicted.n_frames} frames for a video of {n_frames}",
            where=video,
            remedy="predict every frame of the video",
        )
    return predicted if predicted.n_frames == n_frames else predicted.first(n_frames)
