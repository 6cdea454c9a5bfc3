"""What a person can ask for: typed, bounded records."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

LONGEST_LABEL = 200
MOST_CHANGES = 10_000

Label = Annotated[str, Field(min_length=1, max_length=LONGEST_LABEL)]
Id = Annotated[str, Field(pattern=r"^e[0-9]{1,9}$")]
Seconds = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
SpanList = Annotated[list[tuple[Seconds, Seconds]], Field(max_length=MOST_CHANGES)]
Origin = Literal["prediction", "pseudo"]


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Add(_Change):
    """A new click or segment."""

    do: Literal["add"]
    kind: Literal["click", "segment"]
    label: Label
    start: Seconds
    end: Seconds | None = None


class Move(_Change):
    """New times; a segment without a new end keeps its length."""

    do: Literal["move"]
    id: Id
    start: Seconds
    end: Seconds | None = None


class Relabel(_Change):
    """Another class."""

    do: Literal["relabel"]
    id: Id
    label: Label


class Delete(_Change):
    """Removes an event."""

    do: Literal["delete"]
    id: Id


class Split(_Change):
    """Splits a segment in two."""

    do: Literal["split"]
    id: Id
    at: Seconds


class Merge(_Change):
    """Joins segments, from the first start to the last end, under the label of the first id."""

    do: Literal["merge"]
    ids: Annotated[list[Id], Field(min_length=2, max_length=MOST_CHANGES)]


class Observed(_Change):
    """What was looked at besides the segments; null for the whole video."""

    do: Literal["observed"]
    spans: SpanList | None


class Reviewed(_Change):
    """Whether a person accepts the video as it is."""

    do: Literal["reviewed"]
    value: bool


class Accept(_Change):
    """Predicted or pseudo-segments become segments, and replace those that were there."""

    do: Literal["accept"]
    origin: Annotated[Origin, Field(alias="from")]
    spans: SpanList | None = None


class ClicksFrom(_Change):
    """A click in the middle of every predicted segment that has none."""

    do: Literal["clicks_from"]
    origin: Annotated[Origin, Field(alias="from")]


class Clear(_Change):
    """Removes all events."""

    do: Literal["clear"]


Change = Annotated[
    Add
    | Move
    | Relabel
    | Delete
    | Split
    | Merge
    | Observed
    | Reviewed
    | Accept
    | ClicksFrom
    | Clear,
    Field(discriminator="do"),
]
