"""A project's `dataset.toml`: what its features say, beside the user's own settings."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.spec import SPEC_FILE, DatasetSpec, read_spec, write_spec
from uvast.errors import ConfigError
from uvast.files import is_present, read_text, write_text
from uvast.files.toml import tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from uvast.features.card import FeatureCard

_EVEN = 1e-3
"""Seconds by which steps between frames may differ and still count as one rate."""


def write_settings(project: Path, cards: Sequence[FeatureCard]) -> None:
    """Sets the rate and axis of a project's features, line by line: all other lines stay.

    A comment after a value that changes is removed: it was about the old one. Features without a
    fixed rate, or with several, leave the rate as it is.
    """
    spec = read_spec(project)
    rates = {_rate(card) for card in cards}
    wanted: dict[str, str] = {}
    if len(rates) == 1 and (rate := rates.pop()) is not None and rate != spec.frames_per_second:
        wanted["frames_per_second"] = f"{rate!r}"
    if cards and spec.feature_axis is None:
        wanted["feature_axis"] = '"time-first"'
    if wanted:
        write_text(project / SPEC_FILE, _with_settings(project, wanted))


def write_background(project: Path, names: Sequence[str]) -> None:
    """Sets the background classes, first the one for gaps; other lines stay."""
    spec = read_spec(project)
    if spec.background == tuple(names):
        return
    value = json.dumps(list(names), ensure_ascii=False)
    text = _with_settings(project, {"background": value})
    wanted = replace(spec, background=tuple(names))
    try:
        is_right = DatasetSpec(**tomllib.loads(text)) == wanted
    except (tomllib.TOMLDecodeError, ConfigError, TypeError):
        is_right = False
    if is_right:
        write_text(project / SPEC_FILE, text)
    else:  # a list over several lines
        write_spec(project, wanted)


def _with_settings(project: Path, wanted: Mapping[str, str]) -> str:
    """The text of `dataset.toml` with new lines for some settings."""
    path = project / SPEC_FILE
    text = read_text(path) if is_present(path) else ""
    for name, value in wanted.items():
        line = f"{name} = {value}"
        pattern = rf"(?m)^[ \t]*{name}[ \t]*=.*$"
        text, n_found = re.subn(pattern, lambda _, line=line: line, text, count=1)  # type: ignore[misc]
        if not n_found:
            text = f"{line}\n{text}"
    return text


def _rate(card: FeatureCard) -> float | None:
    """Frames a second; for features of every source frame, only if they are evenly spaced."""
    if card.frames_per_second is not None or len(card.times) < 2:
        return card.frames_per_second
    steps = np.diff(np.array(card.times))
    if steps.max() - steps.min() > _EVEN:
        return None
    return round(1 / float(steps.mean()), 3)
