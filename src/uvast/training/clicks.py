"""What a run learns from the annotated frames themselves (docs/method.md, Timestamps).

Batches hold these frames only in epochs whose losses use them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from uvast.config import Config, SupervisionConfig
    from uvast.data import Batch, Timestamps
    from uvast.segments import IntArray


def learns_clicks_alone(epoch: int, config: SupervisionConfig) -> bool:
    """Whether the frame losses of an epoch, counted from 0, see only the annotated frames."""
    was_refreshed = config.refresh_every > 0 and epoch >= config.refresh_after
    return config.kind == "timestamps" and config.method == "clicks" and not was_refreshed


def frames_to_keep(
    timestamps: Mapping[str, Timestamps], config: Config, epoch: int
) -> dict[str, IntArray] | None:
    """The annotated frames `(S,)` of each sample; None if no loss of the epoch needs them."""
    is_asked = config.loss.confidence or learns_clicks_alone(epoch, config.supervision)
    if not is_asked or not timestamps:
        return None
    return {name: one.frames for name, one in timestamps.items()}


def of_clicks_alone(batch: Batch) -> Batch:
    """A batch whose targets are certain at its annotated frames and nowhere else."""
    targets = batch.targets
    assert targets is not None, "training batches hold targets"
    assert targets.is_timestamp is not None, "the epoch asked for timestamps"
    return replace(batch, targets=replace(targets, is_certain=targets.is_timestamp))


def check_clicks(config: Config) -> None:
    """Refuses augmentation that leaves no annotated frames to learn from."""
    train, supervision = config.train, config.supervision
    is_changed = train.recombination or train.speed > 1 or train.time_warp > 1
    if supervision.kind == "full" or not is_changed:
        return
    if not config.loss.confidence and supervision.method != "clicks":
        return
    by_loss = bool(config.loss.confidence)
    raise ConfigError(
        "recombined and warped videos have no annotated frames to learn from",
        where="loss.confidence" if by_loss else "supervision.method",
        remedy="set train.recombination=0, train.speed=1 and train.time_warp=1, or "
        + ("loss.confidence=0" if by_loss else "another method than clicks"),
    )
