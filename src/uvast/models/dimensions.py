"""Dimensions, which decide all shapes of a model: what every model has in common, and UVAST's."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from uvast.config import EncoderKind, WindowKind
from uvast.errors import ConfigError
from uvast.files import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from uvast.config import ModelConfig

CHOICES = {"encoder": get_args(EncoderKind), "window": get_args(WindowKind)}

WIDEST = 2**16
MOST = {"n_features": 2**20, "layers": 33, "stages": 32, "n_heads": 256}
"""Largest counts, by how their names end; layer i looks 2**i frames away, so 33 see 100 days."""


def check_dimensions(dimensions: Any) -> None:
    """Checks that counts and widths are positive and not huge, rates in [0, 1), kinds known.

    Args:
        dimensions: the dataclass of any model.
    """
    for name, value in dataclasses.asdict(dimensions).items():
        if name in CHOICES and value not in CHOICES[name]:
            raise ConfigError(
                f"unknown {name} {value!r}", remedy=f"choose from {', '.join(CHOICES[name])}"
            )
        if name.endswith("dropout") and not 0 <= value < 1:
            raise ConfigError(f"{name} is {value}", remedy="it must lie in [0, 1)")
        most = next((n for end, n in MOST.items() if name.endswith(end)), WIDEST)
        if name == "dilations":
            _check_dilations(value)
        if type(value) is int and not 1 <= value <= most:
            raise ConfigError(f"{name} is {value}", remedy=f"it must lie in 1 to {most}")


def stage_dilations(
    dilations: Sequence[int], n_layers: int, n_stages: int
) -> tuple[tuple[int, ...], ...]:
    """The dilations of each stage's layers: doubling if none are given.

    Args:
        dilations: one for each layer of a stage, which all stages share, or one for each layer of
            every stage.
        n_layers: layers per stage.
        n_stages: stages that have dilations to set.
    """
    if not dilations:
        return (tuple(2**index for index in range(n_layers)),) * n_stages
    if len(dilations) == n_layers and n_stages:
        return (tuple(dilations),) * n_stages
    if len(dilations) != n_layers * n_stages:
        raise ConfigError(
            f"{len(dilations)} dilations do not fit {n_stages} stages of {n_layers} layers",
            where="model.dilations",
            remedy=f"give {n_layers}, {n_layers * n_stages} or none" if n_stages else "give none",
        )
    return tuple(
        tuple(dilations[start : start + n_layers]) for start in range(0, len(dilations), n_layers)
    )


def _check_dilations(dilations: Any) -> None:
    """Refuses all but whole numbers in range; they may come from a checkpoint."""
    most = 2 ** MOST["layers"]
    is_list = isinstance(dilations, list | tuple)
    if not is_list or not all(type(one) is int and 1 <= one <= most for one in dilations):
        raise ConfigError(
            f"dilations are {shown(dilations)}", remedy=f"each must lie in 1 to {most}"
        )


SETTINGS = {"n_layers": "n_encoder_layers", "dropout": "encoder_dropout"}
"""Dimensions whose setting in `[model]` has another name."""


@dataclass(frozen=True)
class Dimensions:
    """Everything a model is built from; a checkpoint holds it beside the weights.

    Args:
        n_features: F, the width of the input features.
        n_classes: C, without SOS and EOS.
    """

    n_features: int
    n_classes: int

    def __post_init__(self) -> None:
        check_dimensions(self)

    @classmethod
    def from_config(
        cls, config: ModelConfig, n_features: int, n_classes: int, **others: object
    ) -> Self:
        """From the settings of the same names, or `others`; without a setting, the default."""
        names = {one.name: SETTINGS.get(one.name, one.name) for one in dataclasses.fields(cls)}
        found = {
            name: getattr(config, setting)
            for name, setting in names.items()
            if hasattr(config, setting)
        }
        return cls(n_features, n_classes, **{**found, **others})


@dataclass(frozen=True)
class StagedDimensions(Dimensions):
    """The dimensions of a network of equal stages.

    Args:
        width: D, the width of every layer.
        n_layers: layers of a stage; layer i has dilation 2**i.
        n_stages: stages, the first included.
        dropout: rate inside every layer.
        channel_dropout: rate at which whole input channels are dropped.
    """

    width: int = 64
    n_layers: int = 10
    n_stages: int = 4
    dropout: float = 0.5
    channel_dropout: float = 0.0


@dataclass(frozen=True)
class UvastDimensions(Dimensions):
    """Everything a `Uvast` is built from.

    Args:
        width: D, the width of every layer.
        attention_width: width of queries, keys and values in the window attention.
        n_encoder_layers: blocks of the frame encoder; block i has dilation and window 2**i.
        encoder: "uvast", "asformer" (ReLU, no second convolution) or "plain" (a Transformer).
        window: what a query of the window attention sees, see `uvast.models.window_attention`.
        n_heads: heads of every attention layer.
        n_decoder_layers: layers of the transcript decoder.
        decoder_feedforward: hidden width of the transcript decoder's feed-forward layers.
        alignment_feedforward: hidden width of the alignment decoder's feed-forward layer.
        plain_feedforward: hidden width of the plain encoder's feed-forward layers.
        attention_smoothing: odd window, in frames, of the cross-attention's average pooling.
        explicit_durations: the decoder also regresses each segment's share of the video.
        boundary_output: the encoder also says where segments start.
        n_refinement_stages: stages that refine the frame logits; None for none.
        channel_dropout: rate at which whole input channels are dropped.
        encoder_dropout: rate inside an encoder block.
        decoder_dropout: rate inside the decoders' layers and the plain encoder's.
        input_dropout: rate on both inputs of either decoder.
        output_dropout: rate before the transcript decoder's output layer.
    """

    width: int = 64
    attention_width: int = 32
    n_encoder_layers: int = 10
    encoder: EncoderKind = "uvast"
    window: WindowKind = "neighbourhood"
    n_heads: int = 1
    n_decoder_layers: int = 2
    decoder_feedforward: int = 2048
    alignment_feedforward: int = 1024
    plain_feedforward: int = 256
    attention_smoothing: int | None = None
    explicit_durations: bool = False
    boundary_output: bool = False
    n_refinement_stages: int | None = None
    channel_dropout: float = 0.3
    encoder_dropout: float = 0.5
    decoder_dropout: float = 0.1
    input_dropout: float = 0.2
    output_dropout: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("width", "attention_width"):
            if getattr(self, name) % self.n_heads:
                raise ConfigError(
                    f"{name} {getattr(self, name)} cannot be shared among {self.n_heads} heads",
                    remedy="choose a number of heads that divides it",
                )
        if self.width % 2:
            raise ConfigError(
                f"width is {self.width}",
                remedy="choose an even width: sinusoidal positions need one",
            )
        smoothing = self.attention_smoothing
        if smoothing is not None and (smoothing < 1 or smoothing % 2 == 0):
            raise ConfigError(
                f"attention_smoothing is {smoothing}", remedy="it must be odd and positive"
            )

    @classmethod
    def from_config(
        cls, config: ModelConfig, n_features: int, n_classes: int, **others: object
    ) -> Self:
        """Settings in which 0 stands for none become None."""
        own = {
            "attention_smoothing": config.attention_smoothing or None,
            "n_refinement_stages": config.refinement_stages or None,
        }
        return super().from_config(config, n_features, n_classes, **{**own, **others})
