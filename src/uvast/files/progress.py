"""How far a long command has come, for another process: a small file, replaced as it goes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from uvast.files.writing import write_text

VARIABLE = "UVAST_PROGRESS"
"""The environment variable with the path of the file; nothing is written without it."""

_SECONDS_BETWEEN = 0.3


class ProgressFile:
    """Reports the progress of one command.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told_at = float("-inf")

    @classmethod
    def wanted(cls) -> ProgressFile | None:
        """The one that the environment asks for, if any."""
        path = os.environ.get(VARIABLE)
        return cls(Path(path)) if path else None

    def tell(
        self, what: str, done: float, total: float | None, seconds_left: float | None = None
    ) -> None:
        """Replaces the file, a few times a second at most, and always when all is done."""
        now = time.monotonic()
        if now - self._told_at < _SECONDS_BETWEEN and done != total:
            return
        self._told_at = now
        told = {"what": what, "done": done, "total": total, "seconds_left": seconds_left}
        write_text(self._path, json.dumps(told) + "\n")
