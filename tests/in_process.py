"""A command as a user types it, in this process: torch is imported once for all tests."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from unittest import mock

from uvast.cli.main import main


def uvast(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a command; its exit code and what it wrote."""
    command = ["uvast", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        mock.patch.object(sys, "argv", command),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())
