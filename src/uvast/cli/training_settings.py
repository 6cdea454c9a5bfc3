"""From the options of `uvast train` to settings."""

from __future__ import annotations

from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING

from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uvast.config import Config


class Stage(str, Enum):
    """Which stages to train."""

    one = "1"
    two = "2"
    both = "both"


SHORT_FORMS = {
    "model.kind": "--model",
    "supervision.kind": "--supervision",
    "supervision.refresh_every": "--refresh-pseudo-labels",
    "train.epochs": "--epochs",
    "train.batch_size": "--batch-size",
    "train.sampling_rate": "--sampling-rate",
    "train.learning_rate": "--learning-rate",
    "train.seed": "--seed",
    "train.validation": "--validation",
}
"""Settings with an option of their own, and that option."""


@contextmanager
def named_as_typed(settings: Sequence[str]) -> Iterator[None]:
    """Errors in the block name the option that a setting was given by: `--set`, or its short form.

    Args:
        settings: those that were given by `--set`.
    """
    given = {setting.partition("=")[0].strip() for setting in settings}
    try:
        yield
    except ConfigError as error:
        name = error.what.partition(" is ")[0]
        if error.where != "--set" or name in given or name not in SHORT_FORMS:
            raise
        raise ConfigError(error.what, where=SHORT_FORMS[name], remedy=error.remedy) from None


def changes_of(settings: Sequence[str], flags: Mapping[str, object]) -> dict[str, str]:
    """Setting to value, from `--set` and the short forms; giving both is an error."""
    changes: dict[str, str] = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        changes[name.strip()] = separator + value
    for name, given in flags.items():
        if given is not None:
            if name in changes:
                raise ConfigError(
                    f"{name} is set twice", where="--set", remedy="leave out this or its short form"
                )
            changes[name] = f"={given}"
    return changes


def as_settings(changes: Mapping[str, str]) -> list[str]:
    """The changes as `--set` takes them."""
    return [f"{name}{value}" for name, value in changes.items()]


def second_stage(
    config: Config, stage: Stage | None, changes: Mapping[str, str]
) -> dict[str, object]:
    """The epochs of stage 2 that the options ask for; empty if they change nothing."""
    from uvast.config import TrainConfig
    from uvast.models.build import has_second_stage

    own, name = config.train.alignment_epochs, "train.alignment_epochs"
    if stage in (Stage.two, Stage.both) and not has_second_stage(config.model):
        raise ConfigError(
            f"{config.model.kind} has no second stage",
            where=f"--stage {stage.value}",
            remedy="leave out --stage",
        )
    if stage is Stage.one:
        return {name: 0} if own else {}
    is_meant = own or stage is not None
    if not is_meant or name in changes or (own and "train.epochs" not in changes):
        return {}
    return {name: config.train.epochs or TrainConfig().alignment_epochs}
