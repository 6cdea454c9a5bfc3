"""All settings of a run: frozen dataclasses, read from TOML, checked once.

Config never enters a module: builders spell out keyword arguments from it.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pydantic
import tomli_w
from pydantic import Field

from uvast.errors import ConfigError
from uvast.presets import read_preset, read_toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def _odd(width: int) -> int:
    if width and width % 2 == 0:
        raise ValueError("a width is odd, or 0 for none")
    return width


# strict: TOML has types, so `epochs = true` is a slip and not a 1
Count = Annotated[int, Field(ge=0, strict=True)]
Positive = Annotated[int, Field(ge=1, strict=True)]
Number = Annotated[float, Field(strict=True)]  # a whole number will do, text or true will not
Probability = Annotated[Number, Field(ge=0, lt=1)]
Share = Annotated[Number, Field(ge=0, le=1)]
NonNegative = Annotated[Number, Field(ge=0)]
Above = Annotated[Number, Field(gt=0)]
OddWidth = Annotated[Count, pydantic.AfterValidator(_odd)]
GroupForm = Literal["off", "mean-probability", "mean-logit", "mean-log-probability"]
TargetMethod = Literal["class-model", "k-medoids", "midpoint"]
MetricName = Literal["euclidean", "cosine"]
LengthKind = Literal["poisson", "gamma", "none"]
FifaOptimiser = Literal["gradient-descent", "fast"]
MAX_SHARPNESS = 700.0  # exp(-sharpness) has to be a float64
STRICT = pydantic.ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True)
class ModelConfig:
    """The network. `n_stages` belongs to the frame-wise baselines."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    kind: str = "uvast"
    encoder: Literal["uvast", "asformer", "plain"] = "uvast"
    window: Literal["neighbourhood", "band"] = "neighbourhood"
    width: Positive = 64
    attention_width: Positive = 32
    n_heads: Positive = 1
    n_encoder_layers: Positive = 10
    n_decoder_layers: Positive = 2
    decoder_feedforward: Positive = 2048
    alignment_feedforward: Positive = 1024
    attention_smoothing: Count = 0
    explicit_durations: bool = False
    channel_dropout: Probability = 0.3
    encoder_dropout: Probability = 0.5
    decoder_dropout: Probability = 0.1
    input_dropout: Probability = 0.2
    output_dropout: Probability = 0.5
    n_stages: Positive = 4


@dataclass(frozen=True)
class LossConfig:
    """The terms of the objective, each on its own switch (METHOD section 4)."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    frame: bool = True
    segment: bool = True
    group_frame: GroupForm = "mean-logit"
    group_segment: GroupForm = "mean-probability"
    cross_attention: bool = True
    temperature: Above = 0.001
    smoothing: NonNegative = 0.0
    smoothing_clip: Above = 4.0


@dataclass(frozen=True)
class TrainConfig:
    """The two stages of training. 0 switches an option off."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    seed: Count = 0
    epochs: Count = 800
    alignment_epochs: Count = 800
    batch_size: Positive = 1
    accumulation: Positive = 1
    learning_rate: Above = 5e-4
    weight_decay: NonNegative = 1e-5
    clip_norm: NonNegative = 0.0
    schedule: Literal["constant", "cosine"] = "constant"
    warmup_epochs: Count = 0
    averaging: Probability = 0.0
    chunk_fraction: Share = 0.17
    frame_dropping: Share = 0.0
    alignment_frame_dropping: Share = 0.5
    feature_noise: NonNegative = 0.0
    time_masking: Share = 0.0
    validation: Probability = 0.0
    validate_every: Positive = 5
    patience: Count = 0
    checkpoint_seconds: NonNegative = 30.0
    workers: Count = 0


@dataclass(frozen=True)
class SupervisionConfig:
    """Where training targets come from (METHOD section 9)."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    kind: Literal["full", "timestamps"] = "full"
    method: TargetMethod = "class-model"
    metric: MetricName = "euclidean"
    prior: NonNegative = 0.25
    refresh_every: Count = 0
    refresh_after: Count = 20
    refresh_by: Literal["viterbi", "k-medoids"] = "viterbi"


@dataclass(frozen=True)
class DecodeConfig:
    """From a model's outputs to a segmentation (METHOD section 7).

    A `beam_width` of 0 is the transcript's own: 5 for `best`, else 1, greedy as in the paper.
    """

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    transcript: Literal["decoder", "semi-markov", "best", "frames"] = "decoder"
    durations: Literal["viterbi", "fifa", "alignment", "explicit", "none"] = "viterbi"
    beam_width: Count = 0
    max_segments: Positive = 200
    length_model: LengthKind = "poisson"
    frame_sampling: Positive = 1
    alpha: NonNegative = 0.0
    mode_filter: OddWidth = 0
    fifa_optimiser: FifaOptimiser = "gradient-descent"
    fifa_sharpness: Annotated[Above, Field(le=MAX_SHARPNESS)] = 80.0
    fifa_steps: Positive = 3000
    fifa_step_size: Above = 0.01
    fifa_length_weight: NonNegative = 0.0
    fifa_sum_weight: NonNegative = 0.1

    @property
    def is_bare(self) -> bool:
        """Whether only a transcript comes out, without durations."""
        return (self.transcript, self.durations) == ("decoder", "none")


@dataclass(frozen=True)
class Config:
    """Everything a run depends on beside its data."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    supervision: SupervisionConfig = field(default_factory=SupervisionConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Plain nested values, as in TOML or JSON."""
        return dataclasses.asdict(self)

    def as_toml(self) -> str:
        """The TOML text that `load_config` reads back."""
        return tomli_w.dumps(self.as_dict())

    def replaced(self, **changes: object) -> Config:
        """A checked copy with single settings changed: `replaced(**{"train.epochs": 5})`."""
        return parse_config(_merge(self.as_dict(), changes.items()), where="settings")


def load_config(
    preset: str | Sequence[str] | None = None,
    file: str | Path | None = None,
    settings: str | Iterable[str] = (),
) -> Config:
    """A preset, a TOML file or the defaults, then settings such as `train.epochs=100`.

    Of several presets the later ones win: `("gtea", "asformer")` is ASFormer with what only the
    dataset's preset sets.
    """
    values: dict[str, Any] = {}
    where = "settings"
    if preset is not None and file is not None:
        raise ConfigError("both a preset and a file are given", remedy="pass one of them")
    if preset is not None:
        names = _several(preset)
        where = f"preset {', '.join(names)}"
        for name in names:
            for section, one in read_preset(name).items():
                values[section] = {**values.get(section, {}), **one}
    elif file is not None:
        where = str(file)
        values = read_toml(Path(file))
    # checked before the single settings come in, so that an error names the right place
    values = parse_config(values, where=where).as_dict()
    return parse_config(_merge(values, map(parse_setting, _several(settings))), where="--set")


def parse_config(values: dict[str, Any], *, where: str) -> Config:
    """Checks plain nested values and freezes them."""
    try:
        return _checker().validate_python(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        section, name = str(first["loc"][0]), ".".join(str(part) for part in first["loc"])
        if first["type"] == "unexpected_keyword_argument":
            raise ConfigError(
                f"{name}: no such setting", where=where, remedy=_known_names(first["loc"])
            ) from None
        default = Config().as_dict().get(section, {}).get(name.rpartition(".")[2])
        raise ConfigError(
            f"{name} = {first['input']!r}: {_plain(first['type'], first['msg'])}",
            where=where,
            remedy="give another value"
            + ("" if default is None else f", such as its default {default!r}"),
        ) from None


def _several(texts: str | Iterable[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


@cache
def _checker() -> pydantic.TypeAdapter[Config]:
    """Made once: it takes longer than all checks."""
    return pydantic.TypeAdapter(Config)


def _plain(kind: str, message: str) -> str:
    if kind == "dataclass_type":
        return "not a table of settings"
    return message[:1].lower() + message[1:]


def _known_names(location: tuple[int | str, ...]) -> str:
    values: dict[str, Any] = Config().as_dict()
    if len(location) > 1:
        values = values.get(str(location[0]), values)
    similar = get_close_matches(str(location[-1]), values, n=1)
    return f"did you mean {similar[0]}?" if similar else f"known are {', '.join(values)}"


def parse_setting(setting: str) -> tuple[str, object]:
    """`train.epochs=100` -> its name and value."""
    name, separator, text = setting.partition("=")
    if not separator or name.count(".") != 1:
        raise ConfigError(
            f"--set {setting!r} is not of the form section.name=value",
            remedy="write for example --set train.epochs=100",
        )
    try:
        return name.strip(), tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), _number_or_text(text.strip())


def _number_or_text(text: str) -> float | str:
    """What is no TOML: `.5` is typed as a number, `plain` without quotes."""
    try:
        return float(text)
    except ValueError:
        return text


def _merge(values: dict[str, Any], changes: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """A whole config's values with single ones changed."""
    merged = {
        name: dict(section) if isinstance(section, dict) else section
        for name, section in values.items()
    }
    for path, value in changes:
        section, _, name = path.partition(".")
        merged.setdefault(section, {})[name] = value
    return merged
