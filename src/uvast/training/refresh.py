"""Better pseudo-segmentations from a half-trained model (docs/method.md, "Timestamps").

Beyond the paper: targets are cut again during training.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from uvast.durations import viterbi
from uvast.segments import Segmentation, run_starts
from uvast.supervision import PseudoLabelOptions, pseudo_segmentations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.config import SupervisionConfig
    from uvast.data import Dataset, Timestamps
    from uvast.inference.segmenter import Segmenter


def is_refreshed(epoch: int, config: SupervisionConfig) -> bool:
    """Whether targets are cut again before this epoch, counted from 0."""
    if not config.refresh_every or config.kind == "full":
        return False
    since = epoch - config.refresh_after
    return since >= 0 and since % config.refresh_every == 0


def refreshed_targets(
    segmenter: Segmenter,
    dataset: Dataset,
    names: Sequence[str],
    timestamps: Mapping[str, Timestamps],
    config: SupervisionConfig,
) -> dict[str, Segmentation]:
    """Cuts between the timestamps again, using what the model has learned.

    `k-medoids` and `energy` cut by its encoder features; `viterbi` is an EM step: it finds the
    likeliest boundaries under its frame posteriors and the lengths of the present targets, and
    keeps every annotated frame in its segment.
    """
    if config.refresh_by != "viterbi":
        features = {n: segmenter.encode(dataset.video(n, labels=False).features) for n in names}
        options = replace(PseudoLabelOptions.from_config(config), method=config.refresh_by)
        return pseudo_segmentations(dataset, names, timestamps, options, features=features)
    return {name: _held_viterbi(segmenter, dataset, name, timestamps[name]) for name in names}


def _held_viterbi(
    segmenter: Segmenter, dataset: Dataset, name: str, timestamps: Timestamps
) -> Segmentation:
    """Joins consecutive clicks on one action: the length model is for whole segments."""
    frames = segmenter.frames(dataset.video(name, labels=False).features)
    starts = run_starts(timestamps.transcript)
    lasts = np.append(starts[1:], len(timestamps.transcript)) - 1
    transcript = timestamps.transcript[starts]
    found = viterbi(
        frames.log_probabilities,
        transcript,
        length_model=segmenter.priors.gamma,
        alpha=segmenter.priors.weights.alpha,
        held=np.stack((timestamps.frames[starts], timestamps.frames[lasts]), axis=1),
    )
    return Segmentation(transcript, found.durations)
