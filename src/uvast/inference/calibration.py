"""The weights of decoding, chosen on the validation part: never on the test side."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.evaluation.metrics import score
from uvast.inference.named_decodings import DECODINGS
from uvast.models import Uvast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from uvast.data import Video
    from uvast.evaluation.scores import Scores
    from uvast.inference.priors import Priors
    from uvast.inference.segmenter import EncodedVideos, Segmenter
    from uvast.segments import Segmentation

ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
DECODER_WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0)


def encoded_alone(segmenter: Segmenter, videos: Iterable[Video]) -> tuple[EncodedVideos, ...]:
    """Each video by itself, encoded once for all ways of decoding it at the model's rate."""
    return tuple(
        segmenter.encode_batch(
            [dataclasses.replace(video, source_frames=video.n_frames, sampling_rate=1)]
        )
        for video in videos
    )


def score_videos(
    segmenter: Segmenter,
    videos: Iterable[EncodedVideos],
    truths: Mapping[str, Segmentation],
    **options: object,
) -> Scores:
    """Scores at the model's rate of one way of decoding.

    Args:
        segmenter: the model.
        videos: what `encoded_alone` gave.
        truths: each video's segmentation at the model's rate, by name.
        options: settings of the config's `decode` section.
    """
    chosen = segmenter.options(**options)
    pairs = []
    for one in videos:
        (prediction,) = segmenter.decode_batch(one, chosen)
        assert prediction.segmentation is not None, "validation decodes with durations"
        pairs.append((prediction.segmentation, truths[one.videos[0].name].merged()))
    return score(pairs, segmenter.vocabulary)


def selection_score(scores: Scores) -> float:
    """The number that model selection and calibration raise: the mean of Acc, Edit and F1@50."""
    return float(np.mean([scores.acc, scores.edit, scores.f1[50]]))


def calibrate(
    segmenter: Segmenter, videos: Iterable[Video], truths: Mapping[str, Segmentation]
) -> Priors:
    """Chooses alpha for semi-Markov decoding, then the decoder's weight in `best`.

    Ties go to the value nearest to the default, so that a part too small to tell keeps it.
    """
    priors = segmenter.priors
    encoded = encoded_alone(segmenter, videos)

    def best_of(values: Sequence[float], name: str, way: str) -> float:
        default = getattr(priors, name)
        results = {}
        for value in values:
            change: dict[str, Any] = {name: value}
            segmenter.priors = dataclasses.replace(segmenter.priors, **change)
            scores = score_videos(segmenter, encoded, truths, **DECODINGS[way])
            results[value] = selection_score(scores)
        return max(results, key=lambda value: (results[value], -abs(value - default)))

    try:
        alpha = best_of(ALPHAS, "alpha", "semi-markov")
        segmenter.priors = dataclasses.replace(priors, alpha=alpha)
        weight = priors.decoder_weight
        if isinstance(segmenter.module, Uvast):
            weight = best_of(DECODER_WEIGHTS, "decoder_weight", "best")
        return dataclasses.replace(priors, alpha=alpha, decoder_weight=weight)
    finally:
        segmenter.priors = priors
