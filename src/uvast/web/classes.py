"""The classes of a project: name, colour, key, and whether one is background."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from uvast.errors import InputError
from uvast.exchange.records import one_line
from uvast.report.palette import GREY, HUES
from uvast.vocabulary import BACKGROUND

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

KEYS = (*"1234567890", *"qwertyuipasdfhzxcvm")
"""Keys for classes without a chosen one, in turn; none of the player's keys."""

MOST_CLASSES = 1000

_Name = Annotated[str, Field(min_length=1, max_length=200)]


@dataclass(frozen=True)
class ClassRecord:
    """One class; `colour` is `#rrggbb`, `key` one character or empty."""

    name: _Name
    colour: Annotated[str, Field(pattern="^#[0-9a-f]{6}$")]
    key: Annotated[str, Field(max_length=1)] = ""
    background: bool = False


Classes = tuple[ClassRecord, ...]


class ClassesEdit(NamedTuple):
    """The table of classes before and after."""

    before: Classes
    after: Classes


class ClassChange(BaseModel):
    """What a person asks for: `to` is a new name, the class to merge into, a colour or a key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Literal["add", "rename", "merge", "recolour", "key", "background", "delete"]
    name: _Name
    to: Annotated[str, Field(max_length=200)] | None = None
    value: bool | None = None


def with_labels(table: Classes, labels: Iterable[str]) -> Classes:
    """The table plus the labels that it lacks, with the next free colours and keys."""
    found = list(table)
    names = {one.name for one in table}
    for label in sorted(set(labels) - names):
        found.append(_new(label, found))
    return tuple(found)


def background_of(table: Classes) -> tuple[str, ...]:
    """The names of the classes that are background."""
    return tuple(one.name for one in table if one.background)


def with_background(table: Classes, names: Sequence[str]) -> Classes:
    """The table with exactly these classes as background; those it lacks come last."""
    whole = with_labels(table, names)
    return tuple(replace(one, background=one.name in names) for one in whole)


def changed(table: Classes, change: ClassChange) -> tuple[Classes, dict[str, str]]:
    """The table after a change, and the new names of labels that events have to change to.

    `table` has every label in use, see `with_labels`.
    """
    name = one_line(change.name)
    if change.do == "add":
        return _added(table, name), {}
    place = next((i for i, one in enumerate(table) if one.name == name), None)
    if place is None:
        raise InputError(f"there is no class {name!r}", remedy="reload the page")
    record, others = table[place], [*table[:place], *table[place + 1 :]]
    match change.do:
        case "rename" | "merge":
            return _renamed(table, record, one_line(change.to or ""), merge=change.do == "merge")
        case "delete":
            return tuple(others), {}
        case "recolour":
            record = replace(record, colour=_colour(change.to))
        case "key":
            record = replace(record, key=_key(change.to, others))
        case "background":
            record = replace(record, background=change.value is not False)
    return (*table[:place], record, *table[place + 1 :]), {}


def _added(table: Classes, name: str) -> Classes:
    if not name or any(one.name == name for one in table):
        what = f"there is a class {name!r} already" if name else "a class without a name"
        raise InputError(what, remedy="choose another name")
    if len(table) >= MOST_CLASSES:
        raise InputError(
            f"a project has {MOST_CLASSES} classes at most", remedy="merge some of them"
        )
    return (*table, _new(name, table))


def _renamed(
    table: Classes, record: ClassRecord, new: str, *, merge: bool
) -> tuple[Classes, dict[str, str]]:
    is_known = any(one.name == new for one in table)
    if not new or new == record.name:
        raise InputError(f"{record.name!r} needs another name", remedy="choose another name")
    if is_known != merge:
        what = f"there is {'a' if is_known else 'no'} class {new!r}"
        raise InputError(what, remedy="merge them" if is_known else "choose one of the classes")
    if merge:
        return tuple(one for one in table if one != record), {record.name: new}
    after = tuple(replace(one, name=new) if one == record else one for one in table)
    return after, {record.name: new}


def _new(name: str, table: Sequence[ClassRecord]) -> ClassRecord:
    is_background = name.lower() == BACKGROUND
    used = {one.colour for one in table}
    n_hues = sum(not one.background for one in table)
    colour = next((hue for hue in HUES if hue not in used), HUES[n_hues % len(HUES)])
    taken = {one.key for one in table}
    key = next((key for key in KEYS if key not in taken), "")
    return ClassRecord(name, GREY if is_background else colour, key, is_background)


def _colour(text: str | None) -> str:
    colour = (text or "").lower()
    if len(colour) != 7 or colour[0] != "#" or not set(colour[1:]) <= set("0123456789abcdef"):
        raise InputError(f"{text!r} is not a colour", remedy="write it as #rrggbb")
    return colour


def _key(text: str | None, others: Sequence[ClassRecord]) -> str:
    key = text or ""
    if len(key) > 1 or not (key == "" or key.isprintable()):
        raise InputError(f"{key!r} is not a key", remedy="choose one letter or digit")
    holder = next((one.name for one in others if key and one.key == key), None)
    if holder is not None:
        raise InputError(f"{holder!r} has the key {key!r}", remedy="choose another key")
    return key
