"""What the store tells everybody who looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Note:
    """Something that everybody who looks should hear of.

    Args:
        number: the entry of the journal.
        versions: of the videos that changed.
        classes: whether the classes did, or a label is new or out of use.
        sentence: what to tell people, if it was not one of them.
    """

    number: int
    versions: Mapping[str, int]
    classes: bool = False
    sentence: str = ""
