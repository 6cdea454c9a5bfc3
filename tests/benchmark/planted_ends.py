"""Predictions that the two protocols score differently."""

from __future__ import annotations

import shutil
from pathlib import Path

from uvast.projects.settings import write_background
from uvast.segments import Segmentation


def where_all_count(tiny_path: Path, folder: Path) -> Path:
    """A copy of a dataset without background: its videos then end in an action."""
    copy = Path(shutil.copytree(tiny_path, folder))
    write_background(copy, ())
    return copy


def short_of_the_end(true: Segmentation) -> Segmentation:
    """The truth, but its last segment is one frame, which the legacy protocol cuts off."""
    durations = true.durations.copy()
    durations[-2] += durations[-1] - 1
    durations[-1] = 1
    return Segmentation(true.transcript, durations)
