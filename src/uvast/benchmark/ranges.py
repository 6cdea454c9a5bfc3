"""What a sweep varies: `train.learning_rate=1e-4..1e-2:log`, `loss.frame=true,false`.

Each number of a list varies on its own, `model.dilations=[1..4, 1..16:log]`, as a range named
`model.dilations[0]`; or whole lists are single values, `model.dilations=[1, 2],[1, 3]`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from uvast.config import parse_setting
from uvast.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_LIST = 1000

_LIST = re.compile(r"\[(?P<entries>[^\[\]]*)\](?:\s*\*\s*(?P<times>\d{1,6}))?")
_ENTRY = re.compile(r"(?P<setting>.+)\[(?P<place>\d+)\]")
_COMMA = re.compile(r",(?![^\[]*\])")  # outside of brackets
_BOUNDS = re.compile(r"(?P<low>[^.]\S*?)\.\.(?P<high>\S+?)(?P<log>:log)?")


@dataclass(frozen=True)
class Range:
    """The values of one setting that a sweep may choose.

    Args:
        name: the setting, `train.learning_rate`, or a number of its list, `model.dilations[0]`.
        choices: single values, lists as they are typed; empty if there are bounds.
        low: the least value.
        high: the largest value.
        log: whether values are spread by their logarithm.
    """

    name: str
    choices: tuple[Any, ...] = ()
    low: float = 0
    high: float = 0
    log: bool = False

    @property
    def setting(self) -> str:
        """The name of the setting as a whole."""
        entry = _ENTRY.fullmatch(self.name)
        return self.name if entry is None else entry["setting"]

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values that have to be valid: every choice, or the two bounds."""
        return self.choices or (self.low, self.high)

    @property
    def is_whole(self) -> bool:
        """Whether the bounds, and so all values between them, are whole numbers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def as_text(self) -> str:
        """The range as on the command line."""
        if self.choices:
            return f"{self.name}={','.join(map(str, self.choices))}"
        return f"{self.name}={self.low}..{self.high}{':log' * self.log}"


def setting_values(values: Mapping[str, object]) -> dict[str, object]:
    """A sweep's choices, given by range, as values of whole settings."""
    found: dict[str, object] = {}
    lists: dict[str, dict[int, object]] = {}
    for name, value in values.items():
        if entry := _ENTRY.fullmatch(name):
            lists.setdefault(entry["setting"], {})[int(entry["place"])] = value
        elif isinstance(value, str) and value.startswith("["):
            found[name] = parse_setting(f"{name}={value}")[1]
        else:
            found[name] = value
    return found | {name: [one[place] for place in sorted(one)] for name, one in lists.items()}


def parse_ranges(text: str) -> tuple[Range, ...]:
    """What one `--set-range` varies: a setting, or each number of a list.

    `model.dilations=[1..4, 1..16:log]` varies two numbers and `[1..512:log] * 10` ten.
    """
    name, _, values = text.partition("=")
    _check_name(name, text)
    listed = _LIST.fullmatch(values.strip())
    if listed is None or (".." not in values and listed["times"] is None):
        return (parse_range(text),)
    entries = listed["entries"].split(",") * int(listed["times"] or 1)
    if len(entries) > LONGEST_LIST:
        raise _wrong_range(text, f"is a list of more than {LONGEST_LIST} numbers")
    return tuple(
        _parse_entry(f"{name.strip()}[{place}]", one.strip()) for place, one in enumerate(entries)
    )


def _parse_entry(name: str, value: str) -> Range:
    """A number of a list: a range, or one that does not vary."""
    if ".." in value:
        return parse_range(f"{name}={value}")
    return Range(name, (parse_setting(f"{name}={value}")[1],))


def parse_range(text: str) -> Range:
    """`train.learning_rate=1e-4..1e-2:log`, `train.epochs=20..60` or `loss.frame=true,false`."""
    name, _, values = text.partition("=")
    _check_name(name, text)
    bounds = _BOUNDS.fullmatch(values.strip())
    if bounds is None:
        choices = tuple(_choice(name, part) for part in _COMMA.split(values))
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


def _check_name(name: str, text: str) -> None:
    if name.count(".") != 1:
        raise _wrong_range(text, "is not of the form section.name=value")


def _choice(name: str, text: str) -> Any:
    """A single value; a list is kept as text, which a study's journal can hold."""
    value = parse_setting(f"{name}={text}")[1]
    return str(value) if isinstance(value, list) else value


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _wrong_range(text: str, what: str) -> ConfigError:
    return ConfigError(
        f"{text!r} {what}",
        where="--set-range",
        remedy="write for example train.learning_rate=1e-4..1e-2:log or model.width=32,64",
    )
