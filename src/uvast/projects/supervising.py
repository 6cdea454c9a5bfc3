"""What a project's models learn from, unless a person says otherwise: segments or clicks."""

from __future__ import annotations

from typing import Literal, NamedTuple

Supervision = Literal["full", "timestamps"]


class LabelledVideos(NamedTuple):
    """How many videos with features have labels.

    Args:
        full: those with segments.
        clicked: those with clicks alone.
    """

    full: int
    clicked: int

    @property
    def supervision(self) -> Supervision:
        """What most of these videos have; as many of each count as full labels."""
        return "timestamps" if self.clicked > self.full else "full"

    @property
    def is_mixed(self) -> bool:
        """Whether there is a choice to make."""
        return bool(self.full and self.clicked)
