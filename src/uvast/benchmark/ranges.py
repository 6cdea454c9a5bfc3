"""What a sweep varies: `train.learning_rate=1e-4..1e-2:log`, `loss.frame=true,false`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, TypeGuard

from uvast.config import parse_setting
from uvast.errors import ConfigError

_BOUNDS = re.compile(r"(?P<low>[^.]\S*?)\.\.(?P<high>\S+?)(?P<log>:log)?")


@dataclass(frozen=True)
class Range:
    """The values of one setting that a sweep may choose.

    Args:
        name: the setting: `train.learning_rate`.
        choices: single values; empty if there are bounds.
        low: the least value.
        high: the largest one.
        log: whether values are spread by their logarithm.
    """

    name: str
    choices: tuple[Any, ...] = ()
    low: float = 0
    high: float = 0
    log: bool = False

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values that have to be possible: every choice, or the two bounds."""
        return self.choices or (self.low, self.high)

    @property
    def is_whole(self) -> bool:
        """Whether the bounds are whole numbers, and so is what lies between."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def as_text(self) -> str:
        """As on the command line."""
        if self.choices:
            return f"{self.name}={','.join(map(str, self.choices))}"
        return f"{self.name}={self.low}..{self.high}{':log' * self.log}"


def parse_range(text: str) -> Range:
    """`train.learning_rate=1e-4..1e-2:log`, `train.epochs=20..60` or `loss.frame=true,false`."""
    name, _, values = text.partition("=")
    bounds = _BOUNDS.fullmatch(values.strip())
    if bounds is None:
        choices = tuple(parse_setting(f"{name}={part}")[1] for part in values.split(","))
        if len(set(map(str, choices))) < max(2, len(choices)):
            raise _wrong_range(text, "needs at least two different values")
        return Range(name.strip(), choices)
    low, high = (parse_setting(f"{name}={bounds[end]}")[1] for end in ("low", "high"))
    if not (_is_number(low) and _is_number(high)):
        raise _wrong_range(text, "has bounds that are not numbers")
    log = bounds["log"] is not None
    if not low < high:
        raise _wrong_range(text, "starts at or above its end")
    if log and low <= 0:
        raise _wrong_range(text, "has to start above 0 for :log")
    return Range(name.strip(), low=low, high=high, log=log)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _wrong_range(text: str, what: str) -> ConfigError:
    return ConfigError(
        f"{text!r} {what}",
        where="--set-range",
        remedy="write for example train.learning_rate=1e-4..1e-2:log or model.width=32,64",
    )
