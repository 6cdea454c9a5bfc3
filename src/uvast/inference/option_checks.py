"""Refuses, before decoding starts, options that a model or its priors cannot serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvast.errors import ConfigError
from uvast.models.ensemble import writers
from uvast.models.protocols import as_aligner, gives_boundaries, gives_fractions, has_alignment

if TYPE_CHECKING:
    from torch import nn

    from uvast.config import DecodeConfig
    from uvast.inference.priors import Priors


def check_options(model: nn.Module, options: DecodeConfig) -> None:
    """Refuses what the model cannot do."""
    if not gives_boundaries(model):
        _check_without_boundaries(options)
    decoders = writers(model)
    if options.transcript in ("decoder", "best") and not decoders:
        raise ConfigError(
            f"transcript {options.transcript!r} needs a model that writes transcripts, "
            "and this one is frame-wise",
            remedy="pass --transcript frames or --transcript semi-markov",
        )
    if options.transcript in ("semi-markov", "best"):
        return  # they find their own durations
    if options.durations == "alignment" and not can_align(model):
        remedy = "pass --durations viterbi"
        if any(map(as_aligner, decoders)):
            remedy = f"train stage 2 with uvast train --resume RUN --stage 2, or {remedy}"
        raise ConfigError(
            "durations 'alignment' need a model with an alignment decoder", remedy=remedy
        )
    explicit = options.durations == "explicit"
    if explicit and not any(map(gives_fractions, decoders)):
        raise ConfigError(
            "durations 'explicit' need a model that was trained to predict them",
            remedy="train with --set model.explicit_durations=true or pass --durations viterbi",
        )
    if explicit and options.transcript != "decoder":
        raise ConfigError(
            "durations 'explicit' need the decoder's own transcript",
            remedy="pass --transcript decoder",
        )


def _check_without_boundaries(options: DecodeConfig) -> None:
    own = "train with --set model.boundary_output=true"
    if options.transcript == "boundaries":
        raise ConfigError(
            "transcript 'boundaries' needs a model with a boundary output",
            remedy=f"{own} or --model asrf, or pass --transcript frames",
        )
    if options.boundary_weight:
        raise ConfigError(
            f"boundary_weight is {options.boundary_weight:g}, and the model has no boundary output",
            where="decode",
            remedy=f"{own}, or set decode.boundary_weight=0",
        )


def can_align(model: nn.Module) -> bool:
    """Whether a model, or a member of it, has a trained alignment decoder."""
    return any(map(has_alignment, writers(model)))


def check_priors(priors: Priors, options: DecodeConfig) -> None:
    """Refuses what needs to know more about the training videos than the model has kept."""
    if options.recipes and not priors.transcripts:
        raise ConfigError(
            "the model does not know the transcripts that recipes are made of",
            where="decode.recipes",
            remedy="train it again, or set decode.recipes=0",
        )
    if options.ends and priors.transitions.final is None:
        raise ConfigError(
            "the model does not know after which actions videos end",
            where="decode.ends",
            remedy="train it again, or set decode.ends=false",
        )
