"""The weights of decoding, chosen on a validation part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import uvast
from uvast.config import DecodeConfig
from uvast.data import Dataset
from uvast.evaluation import score
from uvast.inference.calibration import ALPHAS, DECODER_WEIGHTS, calibrate, selection_score
from uvast.segments import Segmentation


def test_calibration_is_a_search_that_encodes_and_searches_each_video_once(
    model: uvast.Segmenter, tiny: Dataset, count_calls: Callable[..., list[str]]
) -> None:
    videos = [tiny.video(name, labels=False) for name in tiny.side(1, "test")]
    truths = {one.name: Segmentation.from_labels(tiny.video(one.name).labels) for one in videos}
    calls = count_calls("segmenter.Segmenter.encode_batch", "writing.beam_transcripts")
    found = calibrate(model, videos, truths)
    assert sorted(calls) == ["beam_transcripts"] * len(videos) + ["encode_batch"] * len(videos)

    def judge(options: DecodeConfig, **changes: float) -> float:
        priors, pairs = replace(model.priors, **changes), []
        for video in videos:
            (one,) = model.decode_batch(model.encode_batch([video]), options, priors=priors)
            pairs.append((one.segmentation, truths[video.name].merged()))
        return selection_score(score(pairs, model.vocabulary))

    joint, best = model.options(transcript="semi-markov"), model.options(transcript="best")
    alphas = [judge(joint, alpha=alpha) for alpha in ALPHAS]
    assert alphas[ALPHAS.index(found.alpha)] == max(alphas)
    weights = [judge(best, alpha=found.alpha, decoder_weight=one) for one in DECODER_WEIGHTS]
    assert weights[DECODER_WEIGHTS.index(found.decoder_weight)] == max(weights)
    assert len(set(alphas)) > 1, "a choice is needed for this test"
