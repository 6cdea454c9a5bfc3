"""What the store tells all clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Note:
    """Something that all clients should hear about.

    Args:
        number: the journal entry.
        versions: the new versions of the videos that changed.
        classes: whether the classes changed, or a label is new or no longer used.
        sentence: what to tell people, if none of them made the change.
    """

    number: int
    versions: Mapping[str, int]
    classes: bool = False
    sentence: str = ""
