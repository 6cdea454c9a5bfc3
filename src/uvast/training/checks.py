"""What can be said of a run's settings before the first step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uvast.errors import ConfigError
from uvast.inference.decoder import check_options
from uvast.models import Uvast

if TYPE_CHECKING:
    from torch import nn

    from uvast.config import Config


def check_config(model: nn.Module, config: Config) -> None:
    """Refuses settings that would fail epochs later, or only after training."""
    if config.supervision.refresh_every and config.supervision.kind == "full":
        raise ConfigError(
            "only pseudo-labels can be refreshed, and this run has full labels",
            where="supervision.refresh_every",
            remedy="set supervision.kind=timestamps, or refresh_every=0",
        )
    loss = config.loss
    terms = (loss.frame, loss.segment, loss.cross_attention, loss.smoothing)
    groups = {loss.group_frame, loss.group_segment} - {"off"}
    if isinstance(model, Uvast) and not (any(terms) or groups or config.model.explicit_durations):
        raise ConfigError(
            "every loss is switched off", where="loss", remedy="switch on at least one"
        )
    decode = config.decode
    if decode.durations == "alignment" and isinstance(model, Uvast):  # it comes with stage 2
        decode = replace(decode, durations="viterbi")
    check_options(model, decode)
