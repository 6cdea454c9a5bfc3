"""Config -> model. Every number a network gets is spelled out here; a new model is one line.

Installed packages may bring models of their own, as entry points of the group `uvast.models`.
"""

from __future__ import annotations

import dataclasses
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch
from torch import nn

from uvast.errors import CheckpointError, ConfigError
from uvast.models.asformer import AsformerDimensions, asformer
from uvast.models.asrf import Asrf, AsrfDimensions
from uvast.models.ms_tcn import MsTcnDimensions, ms_tcn
from uvast.models.ms_tcn_plus_plus import MsTcnPlusPlusDimensions, ms_tcn_plus_plus
from uvast.models.uvast import Uvast, UvastDimensions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch import Tensor

    from uvast.config import ModelConfig
    from uvast.models.encoded import Encoded


class FrameModel(Protocol):
    """What every model can do: give each frame features and class logits.

    A model that also gives boundaries says so by a field `gives_boundaries`.
    """

    dimensions: Any

    def encode(self, features: Tensor, mask: Tensor) -> Encoded:
        """Input features `(B, T, F)`, mask `(B, T)` -> what the model makes of the frames."""
        ...


def _uvast(config: ModelConfig, n_features: int, n_classes: int) -> UvastDimensions:
    return UvastDimensions(
        n_features=n_features,
        n_classes=n_classes,
        width=config.width,
        attention_width=config.attention_width,
        n_heads=config.n_heads,
        encoder=config.encoder,
        window=config.window,
        n_encoder_layers=config.n_encoder_layers,
        n_decoder_layers=config.n_decoder_layers,
        decoder_feedforward=config.decoder_feedforward,
        alignment_feedforward=config.alignment_feedforward,
        attention_smoothing=config.attention_smoothing or None,
        explicit_durations=config.explicit_durations,
        boundary_output=config.boundary_output,
        n_refinement_stages=config.refinement_stages or None,
        channel_dropout=config.channel_dropout,
        encoder_dropout=config.encoder_dropout,
        decoder_dropout=config.decoder_dropout,
        input_dropout=config.input_dropout,
        output_dropout=config.output_dropout,
    )


def _ms_tcn(config: ModelConfig, n_features: int, n_classes: int) -> MsTcnDimensions:
    return MsTcnDimensions(
        n_features=n_features,
        n_classes=n_classes,
        width=config.width,
        n_layers=config.n_encoder_layers,
        n_stages=config.n_stages,
        dropout=config.encoder_dropout,
        channel_dropout=config.channel_dropout,
    )


def _ms_tcn_plus_plus(
    config: ModelConfig, n_features: int, n_classes: int
) -> MsTcnPlusPlusDimensions:
    return MsTcnPlusPlusDimensions(
        n_features=n_features,
        n_classes=n_classes,
        width=config.width,
        n_prediction_layers=config.n_encoder_layers + 1,
        n_layers=config.n_encoder_layers,
        n_stages=config.n_stages,
        dropout=config.encoder_dropout,
        channel_dropout=config.channel_dropout,
    )


def _asformer(config: ModelConfig, n_features: int, n_classes: int) -> AsformerDimensions:
    return AsformerDimensions(
        n_features=n_features,
        n_classes=n_classes,
        width=config.width,
        attention_width=config.attention_width,
        n_layers=config.n_encoder_layers,
        n_stages=config.n_stages,
        window=config.window,
        dropout=config.encoder_dropout,
        channel_dropout=config.channel_dropout,
    )


def _asrf(config: ModelConfig, n_features: int, n_classes: int) -> AsrfDimensions:
    return AsrfDimensions(
        n_features=n_features,
        n_classes=n_classes,
        width=config.width,
        n_layers=config.n_encoder_layers,
        n_stages=config.n_stages,
        dropout=config.encoder_dropout,
        channel_dropout=config.channel_dropout,
    )


@dataclasses.dataclass(frozen=True)
class Builder:
    """How a kind of model comes into being: from config, or from a checkpoint's dimensions."""

    dimensions: type
    model: Callable[[Any], nn.Module]
    from_config: Callable[[ModelConfig, int, int], Any]


BUILDERS: dict[str, Builder] = {
    "uvast": Builder(UvastDimensions, Uvast, _uvast),
    "ms-tcn": Builder(MsTcnDimensions, ms_tcn, _ms_tcn),
    "ms-tcn++": Builder(MsTcnPlusPlusDimensions, ms_tcn_plus_plus, _ms_tcn_plus_plus),
    "asformer": Builder(AsformerDimensions, asformer, _asformer),
    "asrf": Builder(AsrfDimensions, Asrf, _asrf),
}


OWN_KINDS = frozenset(BUILDERS)
MASK_NAME = "mask_token"
"""The name of the parameter; a checkpoint without it is of a model without one."""
PLUGINS = "uvast.models"
"""The group of entry points that name a `Builder`."""


def find_builder(kind: str) -> Builder | None:
    """Our own of this kind, else that of an installed package."""
    if kind in BUILDERS:
        return BUILDERS[kind]
    for entry in entry_points(group=PLUGINS, name=kind):
        return cast("Builder", entry.load())
    return None


def build_model(config: ModelConfig, *, n_features: int, n_classes: int) -> nn.Module:
    """The untrained model that `config` describes."""
    builder = find_builder(config.kind)
    if builder is None:
        known = dict.fromkeys((*BUILDERS, *entry_points(group=PLUGINS).names))
        raise ConfigError(
            f"model.kind = {config.kind!r}: no such model",
            remedy=f"choose from {', '.join(known)}",
        )
    model = builder.model(builder.from_config(config, n_features, n_classes))
    if config.mask_token:
        add_mask_token(model, n_features)
    return model


def config_gives_boundaries(config: ModelConfig) -> bool:
    """Whether the model that `config` describes says where segments start."""
    with torch.device("meta"):  # shapes without memory
        return gives_boundaries(build_model(config, n_features=1, n_classes=1))


def rebuild_model(kind: str, dimensions: dict[str, Any], *, where: Path) -> nn.Module:
    """The model of the checkpoint `where`, its weights still to be loaded."""
    builder = find_builder(kind)
    if builder is None:
        raise CheckpointError(
            f"holds a model of unknown kind {kind!r}",
            where=where,
            remedy="install the package it is from, or the uvast version that wrote it",
        )
    names = {item.name for item in dataclasses.fields(builder.dimensions)}
    if set(dimensions) - names:
        raise CheckpointError(
            f"has unknown dimensions {sorted(set(dimensions) - names)}",
            where=where,
            remedy="load it with the uvast version that wrote it",
        )
    return builder.model(builder.dimensions(**dimensions))


def add_mask_token(model: nn.Module, n_features: int) -> None:
    """What a model sees where frames are hidden in training, learned `(F,)`; it starts at 0."""
    model.register_parameter(MASK_NAME, nn.Parameter(torch.zeros(n_features)))


def mask_token(model: nn.Module) -> nn.Parameter | None:
    """The learned vector `(F,)` of hidden frames, if the model has one."""
    return dict(model.named_parameters(recurse=False)).get(MASK_NAME)


def as_frame_model(model: nn.Module) -> FrameModel:
    """Every built model is one; modules do not say so to the type checker."""
    return cast("FrameModel", model)


def gives_boundaries(model: nn.Module) -> bool:
    """Whether a model says where segments start; one that does not know of that does not."""
    return bool(getattr(model, "gives_boundaries", False))
