"""Config -> model: a new model is one line here, and a file that spells out what it takes.

Installed packages may add models as entry points of the group `uvast.models`.
"""

from __future__ import annotations

import dataclasses
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import nn

from uvast.config import ModelConfig
from uvast.errors import CheckpointError, ConfigError
from uvast.models.asformer import AsformerDimensions, asformer
from uvast.models.asrf import Asrf, AsrfDimensions
from uvast.models.bcn import Bcn, BcnDimensions
from uvast.models.c2f_tcn import C2fTcn, C2fTcnDimensions
from uvast.models.dtgrm import Dtgrm, DtgrmDimensions
from uvast.models.li import LiDimensions, li
from uvast.models.ms_tcn import MsTcnDimensions, ms_tcn
from uvast.models.ms_tcn_plus_plus import MsTcnPlusPlusDimensions, ms_tcn_plus_plus
from uvast.models.mucon import Mucon, MuconDimensions
from uvast.models.protocols import as_aligner, as_writer
from uvast.models.sstda import Sstda, SstdaDimensions
from uvast.models.uvast import Uvast, UvastDimensions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Builder:
    """How a kind of model is built: from config, or from a checkpoint's dimensions."""

    dimensions: type
    model: Callable[[Any], nn.Module]
    from_config: Callable[[ModelConfig, int, int], Any]


BUILDERS: dict[str, Builder] = {
    "uvast": Builder(UvastDimensions, Uvast, UvastDimensions.from_config),
    "ms-tcn": Builder(MsTcnDimensions, ms_tcn, MsTcnDimensions.from_config),
    "ms-tcn++": Builder(
        MsTcnPlusPlusDimensions, ms_tcn_plus_plus, MsTcnPlusPlusDimensions.from_config
    ),
    "asformer": Builder(AsformerDimensions, asformer, AsformerDimensions.from_config),
    "li": Builder(LiDimensions, li, LiDimensions.from_config),
    "asrf": Builder(AsrfDimensions, Asrf, AsrfDimensions.from_config),
    "c2f-tcn": Builder(C2fTcnDimensions, C2fTcn, C2fTcnDimensions.from_config),
    "sstda": Builder(SstdaDimensions, Sstda, SstdaDimensions.from_config),
    "bcn": Builder(BcnDimensions, Bcn, BcnDimensions.from_config),
    "dtgrm": Builder(DtgrmDimensions, Dtgrm, DtgrmDimensions.from_config),
    "mucon": Builder(MuconDimensions, Mucon, MuconDimensions.from_config),
}


OWN_KINDS = frozenset(BUILDERS)
MASK_NAME = "mask_token"
"""The name of the parameter; a checkpoint without it holds a model without a mask token."""
PLUGINS = "uvast.models"
"""The group of entry points that name a `Builder`."""


def find_builder(kind: str) -> Builder | None:
    """Our own builder of this kind, else that of an installed package; None if there is none."""
    if kind in BUILDERS:
        return BUILDERS[kind]
    for entry in entry_points(group=PLUGINS, name=kind):
        return cast("Builder", entry.load())
    return None


def builder_of(kind: str) -> Builder:
    """Like `find_builder`, but an unknown kind is an error."""
    builder = find_builder(kind)
    if builder is None:
        known = dict.fromkeys((*BUILDERS, *entry_points(group=PLUGINS).names))
        raise ConfigError(
            f"model.kind = {kind!r}: no such model", remedy=f"choose from {', '.join(known)}"
        )
    return builder


def build_model(config: ModelConfig, *, n_features: int, n_classes: int) -> nn.Module:
    """The untrained model that `config` describes."""
    builder = builder_of(config.kind)
    if config.dilations and "dilations" not in _names_of(builder):
        raise ConfigError(
            f"{config.kind} has no dilations to set",
            where="model.dilations",
            remedy="choose ms-tcn, ms-tcn++, asrf, li or sstda, or leave them empty",
        )
    model = builder.model(builder.from_config(config, n_features, n_classes))
    if config.mask_token:
        add_mask_token(model, n_features)
    return model


def described_model(config: ModelConfig) -> nn.Module:
    """The model that `config` describes, without memory for weights: to see what it can do."""
    with torch.device("meta"):
        return build_model(config, n_features=1, n_classes=1)


def kind_writes(kind: str) -> bool:
    """Whether models of a kind write transcripts; False for an unknown kind."""
    known = find_builder(kind) is not None
    return known and as_writer(described_model(ModelConfig(kind=kind))) is not None


def has_second_stage(config: ModelConfig) -> bool:
    """Whether the model that `config` describes is trained in two stages."""
    return as_aligner(described_model(config)) is not None


def rebuild_model(kind: str, dimensions: dict[str, Any], *, where: Path) -> nn.Module:
    """The model of the checkpoint `where`, its weights still to be loaded."""
    builder = find_builder(kind)
    if builder is None:
        raise CheckpointError(
            f"holds a model of unknown kind {kind!r}",
            where=where,
            remedy="install the package it is from, or the uvast version that wrote it",
        )
    unknown = set(dimensions) - _names_of(builder)
    if unknown:
        raise CheckpointError(
            f"has unknown dimensions {sorted(unknown)}",
            where=where,
            remedy="load it with the uvast version that wrote it",
        )
    return builder.model(builder.dimensions(**dimensions))


def _names_of(builder: Builder) -> set[str]:
    """The names of a model's dimensions."""
    return {item.name for item in dataclasses.fields(builder.dimensions)}


def add_mask_token(model: nn.Module, n_features: int) -> None:
    """Adds the learned vector `(F,)` that replaces hidden frames in training; it starts at 0."""
    model.register_parameter(MASK_NAME, nn.Parameter(torch.zeros(n_features)))


def mask_token(model: nn.Module) -> nn.Parameter | None:
    """The learned vector `(F,)` of hidden frames, if the model has one."""
    return dict(model.named_parameters(recurse=False)).get(MASK_NAME)
