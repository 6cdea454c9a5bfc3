"""The validation part: scored every few epochs, and what decoding's weights are chosen on."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from uvast.inference.calibration import calibrate, encoded_alone, score_videos, selection_score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uvast.config import DecodeConfig
    from uvast.data import Dataset, Video
    from uvast.inference.priors import Priors
    from uvast.inference.segmenter import Segmenter
    from uvast.segments import Segmentation


class ValidationPart:
    """Videos of the training side that are not trained on.

    Args:
        dataset: the features.
        names: the videos.
        truths: their segmentations at the model's rate, by name.
    """

    def __init__(
        self, dataset: Dataset, names: Sequence[str], truths: Mapping[str, Segmentation]
    ) -> None:
        self._dataset = dataset
        self._truths = {name: truths[name] for name in names}

    def __len__(self) -> int:
        return len(self._truths)

    def scores(self, segmenter: Segmenter, decode: DecodeConfig, stage: int) -> dict[str, float]:
        """Scores of the way of `_ways`, and `selection`: what the best epoch is chosen by."""
        encoded = encoded_alone(segmenter, self._videos())
        found = [
            score_videos(segmenter, encoded, self._truths, **way) for way in _ways(decode, stage)
        ]
        judged = [selection_score(one) for one in found]
        first = found[0]
        return {
            "acc": first.acc,
            "edit": first.edit,
            "f1@50": first.f1[50],
            "score": judged[0],
            "selection": fmean(judged),
        }

    def calibrated(self, segmenter: Segmenter) -> Priors:
        """What decoding knows, with the weights that do best here."""
        return calibrate(segmenter, self._videos(), self._truths)

    def _videos(self) -> Iterator[Video]:
        for name, truth in self._truths.items():
            video = self._dataset.video(name, labels=False)
            n_frames = truth.n_frames
            yield replace(
                video,
                features=video.features[:n_frames],
                source_frames=n_frames * video.sampling_rate,
            )


def _ways(decode: DecodeConfig, stage: int) -> list[dict[str, object]]:
    """As configured; before stage 2 there is no alignment, and a bare transcript has no Acc.

    `best` hides a transcript decoder that has learned little yet: it is judged by itself, too.
    """
    if stage == 2:
        return [{"transcript": "decoder", "durations": "alignment"}]
    if decode.transcript == "best":
        return [{}, {"transcript": "decoder", "durations": "viterbi"}]
    if decode.durations == "alignment" or (
        decode.durations == "none" and decode.transcript != "frames"
    ):
        return [{"durations": "viterbi"}]
    return [{}]
