"""What the fixture of videos is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

MakeVideo = Callable[[Path, int], Path]
