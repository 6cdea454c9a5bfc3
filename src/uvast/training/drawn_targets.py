"""Soft targets between timestamps: cuts are drawn for every epoch (docs/method.md, Timestamps)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uvast.errors import ConfigError
from uvast.supervision import cut_posteriors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.config import SupervisionConfig
    from uvast.segments import Segmentation
    from uvast.supervision import CutPosterior
    from uvast.training.batches import TrainingData


def uncertain_cuts(data: TrainingData, config: SupervisionConfig) -> dict[str, CutPosterior]:
    """Where the cuts of each training sample may be; empty if targets are not soft."""
    if not config.soft:
        return {}
    return cut_posteriors(
        lambda name: data.dataset.video(name, labels=False).features,
        data.timestamps,
        {name: data.segmentations[name] for name in data.train},
        temperature=config.soft,
        metric=config.metric,
        prior=config.prior,
        offsets=config.offsets,
    )


def drawn_targets(
    cuts: Mapping[str, CutPosterior], *, seed: int, stage: int, epoch: int
) -> dict[str, Segmentation]:
    """The targets of one epoch: a pure function of its arguments, the same in every process."""
    return {
        name: one.draw(np.random.default_rng([seed, stage, epoch, place]))
        for place, (name, one) in enumerate(cuts.items())
    }


def check_soft(config: SupervisionConfig) -> None:
    """Refuses settings that do not go with soft targets."""
    if config.soft and config.kind == "full":
        raise ConfigError(
            "only pseudo-labels can be soft, and this run has full labels",
            where="supervision.soft",
            remedy="set supervision.kind=timestamps, or soft=0",
        )
    if config.soft and config.refresh_every:
        raise ConfigError(
            "targets are either drawn for each epoch or refreshed, and both are asked for",
            where="supervision.soft",
            remedy="set supervision.soft=0 or supervision.refresh_every=0",
        )
