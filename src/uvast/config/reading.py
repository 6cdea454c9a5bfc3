"""A run's whole config: from presets, files and single settings, checked once."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pydantic
import tomli_w

from uvast.config.sections import (
    STRICT,
    DecodeConfig,
    LossConfig,
    ModelConfig,
    SupervisionConfig,
    TrainConfig,
)
from uvast.errors import ConfigError
from uvast.files import first_fault, read_toml, shown
from uvast.files.toml import tomllib
from uvast.presets import TOML_REMEDY, read_preset

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


BEFORE: dict[str, dict[str, Any]] = {"train": {"scaling": False}}
"""What earlier versions did before there was a setting: their runs do not name it."""

GIVEN_UP: dict[str, dict[str, Any]] = {"supervision": {"lengths": 0.0}}
"""Settings that are gone, and the value that did nothing: runs with it are like today's."""


@dataclass(frozen=True)
class Config:
    """Everything a run depends on besides its data."""

    __pydantic_config__: ClassVar[pydantic.ConfigDict] = STRICT
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    supervision: SupervisionConfig = field(default_factory=SupervisionConfig)
    decode: DecodeConfig = field(default_factory=DecodeConfig)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Plain nested values, as in TOML or JSON."""
        return {
            section: {name: _plain(value) for name, value in values.items()}
            for section, values in dataclasses.asdict(self).items()
        }

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
    *,
    of_run: bool = False,
) -> Config:
    """A preset, a TOML file or the defaults, then settings such as `train.epochs=100`.

    Of several presets the later ones win: `("gtea", "asformer")` is ASFormer with what only the
    dataset's preset sets. With `of_run`, the file is a run's whole config, see `parse_run_config`.
    """
    if preset is not None and file is not None:
        raise ConfigError("both a preset and a file are given", remedy="pass one of them")
    values: dict[str, Any] = {}
    # each is checked before the next comes in, so that an error names the right place
    for name in () if preset is None else _several(preset):
        sections = read_preset(name)
        parse_config(sections, where=f"preset {name}")
        for section, one in sections.items():
            values[section] = {**values.get(section, {}), **one}
    if file is not None:
        values = read_toml(Path(file), error=ConfigError, remedy=TOML_REMEDY)
        parse = parse_run_config if of_run else parse_config
        values = parse(values, where=str(file)).as_dict()
    return parse_config(_merge(values, map(parse_setting, _several(settings))), where="--set")


def parse_config(values: dict[str, Any], *, where: str) -> Config:
    """Checks plain nested values and freezes them."""
    try:
        return _checker().validate_python(values)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        location = tuple(map(str, first["loc"]))
        if first["type"] == "unexpected_keyword_argument":
            fault, remedy = f"{'.'.join(location)}: no such setting", _known_names(location)
        else:
            fault, remedy = first_fault(error), f"give another value{_default(location)}"
        raise ConfigError(fault, where=where, remedy=remedy) from None


def parse_run_config(values: dict[str, Any], *, where: str) -> Config:
    """The same for a whole config that uvast wrote, perhaps an earlier version of it."""
    values = {section: _without_given_up(section, one) for section, one in values.items()}
    parse_config(values, where=where)
    names = (*BEFORE, *values)
    whole = {name: {**BEFORE.get(name, {}), **values.get(name, {})} for name in names}
    return parse_config(whole, where=where)


def _without_given_up(section: str, values: object) -> Any:
    """The settings of a section, without those that are gone and did nothing."""
    gone = GIVEN_UP.get(section)
    if gone is None or not isinstance(values, dict):
        return values
    return {
        name: value for name, value in values.items() if name not in gone or value != gone[name]
    }


def _plain(value: object) -> object:
    """A value as TOML and JSON read it back: a tuple becomes a list."""
    return list(value) if isinstance(value, tuple) else value


def _several(texts: str | Iterable[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


@cache
def _checker() -> pydantic.TypeAdapter[Config]:
    """Made once: making it takes longer than all checks."""
    return pydantic.TypeAdapter(Config)


def _default(location: tuple[str, ...]) -> str:
    """A single setting's default as it is written; nothing for a section."""
    if len(location) < 2:
        return ""
    return f", such as its default {Config().as_dict()[location[0]][location[1]]!r}"


def _known_names(location: tuple[str, ...]) -> str:
    values: dict[str, Any] = Config().as_dict()
    if len(location) > 1:
        values = values[location[0]]
    similar = get_close_matches(location[-1][:100], values, n=1)
    return f"did you mean {similar[0]}?" if similar else f"the known ones are {', '.join(values)}"


def parse_setting(setting: str) -> tuple[str, object]:
    """`train.epochs=100` -> its name and value."""
    name, separator, text = setting.partition("=")
    if not separator or name.count(".") != 1:
        raise ConfigError(
            f"--set {shown(setting)} is not of the form section.name=value",
            remedy="write for example --set train.epochs=100",
        )
    return name.strip(), _value(text.strip(), name.strip())


def _value(text: str, name: str) -> object:
    """The value as TOML reads it; `.5` also counts as a number, and text needs no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        with suppress(ValueError):
            return float(text)
        return text
    except (RecursionError, ValueError):  # nested too deeply, or a number of 5,000 digits
        raise ConfigError(
            f"{name} is {shown(text)}, not a setting", where="--set", remedy="give another value"
        ) from None


def _merge(values: dict[str, Any], changes: Iterable[tuple[str, object]]) -> dict[str, Any]:
    """Checked values with single ones changed."""
    merged = {name: dict(section) for name, section in values.items()}
    for path, value in changes:
        section, _, name = path.partition(".")
        merged.setdefault(section, {})[name] = value
    return merged
