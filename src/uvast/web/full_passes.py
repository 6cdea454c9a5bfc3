"""When class models are fitted again: in a separate process, while the app is idle."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

from uvast.errors import UvastError
from uvast.workers import safe_environment

if TYPE_CHECKING:
    from uvast.projects import Project
    from uvast.web.full_pass import NamedModel

IDLE_SECONDS = 10.0
"""Time without a change before a pass begins."""


class FullPass:
    """Runs `uvast.web.full_pass` when the project has changed and the app is idle.

    Args:
        project: its files.
    """

    def __init__(self, project: Project) -> None:
        self._project = project
        self._out = project.path / "app" / "cache" / "classes.npz"
        self._process: subprocess.Popen[bytes] | None = None
        self._number = -1
        self._stamp = 0

    def step(self, number: int, changed_at: float, *, idle: bool) -> NamedModel | None:
        """Starts a pass if one is due; returns the model of a pass that has ended since."""
        if self._process is not None and self._process.poll() is not None:
            self._process = None
        is_due = idle and number != self._number and time.monotonic() - changed_at >= IDLE_SECONDS
        if self._process is None and is_due:
            self._number = number
            self._process = subprocess.Popen(  # noqa: S603
                [*(sys.executable, "-m", "uvast.web.full_pass"), self._project.path, self._out],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=safe_environment(),
            )
        return self._new_model()

    def stop(self) -> None:
        """Ends a running pass."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _new_model(self) -> NamedModel | None:
        try:
            stamp = self._out.stat().st_mtime_ns
        except OSError:
            return None
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        from uvast.web.full_pass import NamedModel  # compiles its loops: only if there is a model

        try:
            return NamedModel.read(self._out)
        except UvastError:
            return None
