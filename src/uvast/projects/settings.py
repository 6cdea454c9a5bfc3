"""`dataset.toml` of a project: what its features tell, beside the user's own settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.spec import SPEC_FILE, read_spec
from uvast.files import is_present, read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from uvast.features.card import FeatureCard

_EVEN = 1e-3
"""Steps between frames that differ by less, in seconds, are those of one rate."""


def write_settings(project: Path, cards: Sequence[FeatureCard]) -> None:
    """Sets rate and axis of a project's features, line by line: comments and all else stay.

    Features of no fixed rate, or of several, leave the rate as it is.
    """
    spec = read_spec(project)
    rates = {_rate(card) for card in cards}
    wanted: dict[str, str] = {}
    if len(rates) == 1 and (rate := rates.pop()) is not None and rate != spec.frames_per_second:
        wanted["frames_per_second"] = f"{rate!r}"
    if cards and spec.feature_axis is None:
        wanted["feature_axis"] = '"time-first"'
    if not wanted:
        return
    path = project / SPEC_FILE
    text = read_text(path) if is_present(path) else ""
    for name, value in wanted.items():
        line = f"{name} = {value}"
        text, n_found = re.subn(rf"(?m)^[ \t]*{name}[ \t]*=.*$", line, text, count=1)
        if not n_found:
            text = f"{line}\n{text}"
    write_text(path, text)


def _rate(card: FeatureCard) -> float | None:
    """Frames a second, of features of every source frame if these are evenly spaced."""
    if card.frames_per_second is not None or len(card.times) < 2:
        return card.frames_per_second
    steps = np.diff(np.array(card.times))
    if steps.max() - steps.min() > _EVEN:
        return None
    return round(1 / float(steps.mean()), 3)
