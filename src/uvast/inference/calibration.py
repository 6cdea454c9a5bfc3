"""The weights of decoding, chosen on the validation part: never on the test side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from uvast.evaluation.scoring import score
from uvast.models import Uvast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from uvast.data import Video
    from uvast.evaluation.scores import Scores
    from uvast.inference.prediction import DecodedVideo, Prediction
    from uvast.inference.priors import Priors
    from uvast.inference.segmenter import Segmenter
    from uvast.segments import Segmentation

ALPHAS = (0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
DECODER_WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0)


def selection_score(scores: Scores) -> float:
    """The number that model selection and calibration raise: the mean of Acc, Edit and F1@50."""
    return float(np.mean([scores.acc, scores.edit, scores.f1[50]]))


def calibrate(
    segmenter: Segmenter, videos: Iterable[Video], truths: Mapping[str, Segmentation]
) -> Priors:
    """Chooses alpha for semi-Markov decoding, then the decoder's weight in `best`.

    Ties go to the value nearest to the default, so that a part too small to tell keeps it. Each
    video is encoded once, and its candidates for `best` are found once for all weights. The
    videos' source rate is the model's.
    """
    encoded = [segmenter.encode_batch([video]) for video in videos]
    true = [truths[one.videos[0].name].merged() for one in encoded]

    def judge(found: Iterable[Prediction | DecodedVideo]) -> float:
        pairs = []
        for one, truth in zip(found, true, strict=True):
            assert one.segmentation is not None, "both decodings give durations"
            pairs.append((one.segmentation, truth))
        return selection_score(score(pairs, segmenter.vocabulary))

    joint = segmenter.options(transcript="semi-markov")

    def judge_alpha(alpha: float) -> float:
        tried = replace(segmenter.priors, alpha=alpha)
        return judge(segmenter.decode_batch(one, joint, priors=tried)[0] for one in encoded)

    alpha = _best(ALPHAS, judge_alpha, segmenter.priors.alpha)
    priors = replace(segmenter.priors, alpha=alpha)
    if not isinstance(segmenter.module, Uvast):
        return priors
    best = segmenter.options(transcript="best")
    candidates = [segmenter.candidates(one, best, priors=priors)[0] for one in encoded]

    def judge_weight(weight: float) -> float:
        return judge(one.winner(weight) for one in candidates)

    weight = _best(DECODER_WEIGHTS, judge_weight, priors.decoder_weight)
    return replace(priors, decoder_weight=weight)


def _best(values: Sequence[float], judge: Callable[[float], float], default: float) -> float:
    return max(values, key=lambda value: (judge(value), -abs(value - default)))
