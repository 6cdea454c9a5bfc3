"""Refuses settings that do not go together, before any work is done for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uvast.errors import ConfigError
from uvast.inference.option_checks import check_options
from uvast.models.build import described_model
from uvast.models.protocols import (
    as_aligner,
    as_writer,
    gives_boundaries,
    gives_fractions,
    has_written_terms,
    learns_unlabelled,
)
from uvast.training.clicks import check_clicks
from uvast.training.drawn_targets import check_soft

if TYPE_CHECKING:
    from torch import nn

    from uvast.config import Config


def check_settings(config: Config) -> None:
    """Refuses settings that would fail epochs later, or only after training."""
    model = described_model(config.model)
    check_soft(config.supervision)
    check_clicks(config)
    _check_losses(config, model)
    supervision = config.supervision
    # the method `clicks` comes with refreshing, and full labels use neither
    is_asked = supervision.refresh_every and supervision.method != "clicks"
    if is_asked and supervision.kind == "full":
        raise ConfigError(
            "only pseudo-labels can be refreshed, and this run has full labels",
            where="supervision.refresh_every",
            remedy="set supervision.kind=timestamps, or refresh_every=0",
        )
    if config.train.unlabelled != "none" and not learns_unlabelled(model):
        raise ConfigError(
            f"{config.model.kind} does not learn from unlabelled videos",
            where="train.unlabelled",
            remedy="set it to none, or model.kind=sstda",
        )
    decode = config.decode
    if decode.durations == "alignment" and as_aligner(model) is not None:  # only stage 2 adds it
        decode = replace(decode, durations="viterbi")
    check_options(model, decode)


def _check_losses(config: Config, model: nn.Module) -> None:
    loss = config.loss
    if as_writer(model) is None:
        if not loss.frame:
            raise ConfigError(
                f"{config.model.kind} labels frames, and always learns from their cross-entropy",
                where="loss.frame",
                remedy="leave it on",
            )
        return
    terms = (loss.frame, loss.segment, loss.cross_attention, loss.smoothing)
    groups = {loss.group_frame, loss.group_segment} - {"off"}
    outputs = gives_fractions(model) or gives_boundaries(model) or has_written_terms(model)
    if not (any(terms) or groups or outputs):
        raise ConfigError(
            "every loss is switched off", where="loss", remedy="switch on at least one"
        )
