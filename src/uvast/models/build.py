"""Config -> model, by way of its dimensions; a new model is one line.

Installed packages may bring models of their own, as entry points of the group `uvast.models`.
"""

from __future__ import annotations

import dataclasses
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, cast

from uvast.errors import CheckpointError, ConfigError
from uvast.models.asformer import AsformerDimensions, asformer
from uvast.models.ms_tcn import MsTcnDimensions, ms_tcn
from uvast.models.ms_tcn_plus_plus import MsTcnPlusPlusDimensions, ms_tcn_plus_plus
from uvast.models.uvast import Encoded, Uvast, UvastDimensions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch import Tensor, nn

    from uvast.config import ModelConfig


class FrameModel(Protocol):
    """What every model can do: give each frame features and class logits."""

    dimensions: Any

    def encode(self, features: Tensor, mask: Tensor) -> Encoded:
        """Input features `(B, T, F)`, mask `(B, T)` -> features `(B, T, D)`, logits `(B, T, C)`."""
        ...


class FrameWiseModel(FrameModel, Protocol):
    """A baseline that refines frame logits stage by stage."""

    def stages(self, features: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        """The logits of every stage, `(B, T, C)` each; the last are the prediction."""
        ...


def _uvast(config: ModelConfig, n_features: int, n_classes: int) -> UvastDimensions:
    smoothing = config.attention_smoothing or None
    shared = _shared(UvastDimensions, config) | {"attention_smoothing": smoothing}
    return UvastDimensions(n_features, n_classes, **shared)


def _ms_tcn(config: ModelConfig, n_features: int, n_classes: int) -> MsTcnDimensions:
    return MsTcnDimensions(n_features, n_classes, **_shared(MsTcnDimensions, config))


def _ms_tcn_plus_plus(
    config: ModelConfig, n_features: int, n_classes: int
) -> MsTcnPlusPlusDimensions:
    shared = _shared(MsTcnPlusPlusDimensions, config)
    n_prediction_layers = config.n_encoder_layers + 1
    return MsTcnPlusPlusDimensions(
        n_features, n_classes, n_prediction_layers=n_prediction_layers, **shared
    )


def _asformer(config: ModelConfig, n_features: int, n_classes: int) -> AsformerDimensions:
    return AsformerDimensions(n_features, n_classes, **_shared(AsformerDimensions, config))


def _shared(dimensions: type, config: ModelConfig) -> dict[str, Any]:
    """The settings that are dimensions as they stand; baselines have shorter names for two."""
    settings = dataclasses.asdict(config)
    settings |= {"n_layers": config.n_encoder_layers, "dropout": config.encoder_dropout}
    names = {item.name for item in dataclasses.fields(dimensions)}
    return {name: value for name, value in settings.items() if name in names}


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
}


OWN_KINDS = frozenset(BUILDERS)
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
    return builder.model(builder.from_config(config, n_features, n_classes))


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


def as_frame_model(model: nn.Module) -> FrameModel:
    """Every built model is one; modules do not say so to the type checker."""
    return cast("FrameModel", model)


def as_frame_wise_model(model: nn.Module) -> FrameWiseModel:
    """Every built model but `uvast` is one."""
    return cast("FrameWiseModel", model)
