"""The validation part: scored every few epochs, and used to choose the weights of decoding."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from uvast.data import Video
from uvast.evaluation.scoring import score
from uvast.inference.calibration import calibrate
from uvast.inference.held_out import HeldOut, Truth, hold_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uvast.config import DecodeConfig
    from uvast.data import Dataset, Timestamps
    from uvast.inference.priors import Priors
    from uvast.inference.segmenter import Segmenter
    from uvast.segments import Segmentation


class ValidationPart:
    """Samples of the training side that are not trained on; truths are at the model's rate."""

    def __init__(
        self,
        dataset: Dataset,
        names: Sequence[str],
        truths: Mapping[str, Segmentation],
        clicks: Mapping[str, Timestamps] | None = None,
    ) -> None:
        self._dataset = dataset
        self._truths = {name: truths[name] for name in names}
        self._clicks = clicks or {}

    def __len__(self) -> int:
        return len(self._truths)

    def scores(self, segmenter: Segmenter, stage: int) -> dict[str, float]:
        """Scores of the first of `_decodings`, and `selection`, which chooses the best epoch."""
        decodings = _decodings(segmenter, stage)
        pairs: dict[str, list[tuple[Segmentation, Segmentation]]] = {name: [] for name in decodings}
        for video in self._videos():
            for name, (prediction,) in segmenter.segment_by([video], decodings).items():
                assert prediction.segmentation is not None, "validation decodes with durations"
                true = self._truths[video.name].merged()
                pairs[name].append((prediction.segmentation, true))
        first, *others = (score(one, segmenter.vocabulary) for one in pairs.values())
        return {
            "acc": first.acc,
            "edit": first.edit,
            **{f"f1@{overlap}": value for overlap, value in first.f1.items()},
            "score": first.selection,
            "selection": fmean(one.selection for one in (first, *others)),
        }

    def calibrated(self, segmenter: Segmenter) -> Priors:
        """The model's priors, with the weights that do best here."""
        return calibrate(self.held_out(segmenter)).applied(segmenter.priors)

    def held_out(self, segmenter: Segmenter) -> list[HeldOut]:
        """What a model predicts for each sample."""
        return [
            hold_out(
                segmenter, video, Truth(self._truths[video.name], self._clicks.get(video.name))
            )
            for video in self._videos()
        ]

    def _videos(self) -> Iterator[Video]:
        """The samples at the model's rate, at which they are scored."""
        for name, truth in self._truths.items():
            features = self._dataset.video(name, labels=False).features[: truth.n_frames]
            yield Video(name, features, None, truth.n_frames)


def _decodings(segmenter: Segmenter, stage: int) -> dict[str, DecodeConfig]:
    """The decodings to score: as configured, where that is possible.

    Before stage 2 there is no alignment, and a bare transcript has no Acc. `best` hides a
    transcript decoder that has learned little yet, so the decoder is judged by itself, too.
    """
    decode = segmenter.config.decode
    if stage == 2:
        return {"alignment": segmenter.options(transcript="decoder", durations="alignment")}
    if decode.transcript == "best":
        alone = segmenter.options(transcript="decoder", durations="viterbi")
        return {"best": decode, "decoder alone": alone}
    if decode.durations == "alignment" or decode.is_bare:
        return {"viterbi": segmenter.options(durations="viterbi")}
    return {"as configured": decode}
