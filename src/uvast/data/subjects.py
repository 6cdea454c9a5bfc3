"""Subjects: which videos are of the same person or animal, found in their names."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from uvast.data.spec import DatasetSpec
from uvast.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 5.0
"""Of processor time: more than any sensible expression needs; some would run for ever."""

_SEARCH = """
import faulthandler, json, re, signal, sys
pattern, names, seconds = json.load(sys.stdin)
# the system ends this process, even if nobody is left to stop it
if hasattr(signal, "setitimer"):
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # a busy machine is not the expression's fault
else:
    faulthandler.dump_traceback_later(seconds, exit=True)
found = (re.search(pattern, name) for name in names)
json.dump([match and match[1] for match in found], sys.stdout)
"""

_LATE = -getattr(signal, "SIGPROF", 0) or None
"""The exit code of a process that has used up its time; None where systems do not count it."""


def group_by_subject(
    names: Sequence[str], group_by: str | None, *, seconds: float = SECONDS
) -> list[list[str]]:
    """Groups videos by subject; without `group_by` (see `DatasetSpec`), each by itself."""
    if len(set(names)) < len(names):
        raise InputError("a video is named more than once", remedy="name it once")
    if group_by is None:
        return [[name] for name in names]
    DatasetSpec(group_by=group_by)
    groups: dict[str, list[str]] = {}
    for name, subject in zip(names, _subjects(names, group_by, seconds), strict=True):
        if subject is None:
            raise InputError(
                f"{group_by!r} finds no subject in video {name}",
                remedy="change the expression so that it matches every video",
            )
        groups.setdefault(subject, []).append(name)
    return list(groups.values())


def _subjects(names: Sequence[str], group_by: str, seconds: float) -> list[str | None]:
    """What the expression finds in each name; searches in a process that the system can end."""
    finished = subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-S", "-c", _SEARCH],
        input=json.dumps([group_by, list(names), seconds]),
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode == _LATE or finished.stderr.startswith("Timeout"):
        raise InputError(
            f"{group_by!r} takes more than {seconds:g} s to search the names of the videos",
            remedy="simplify the expression: no repetition inside a repetition",
        )
    finished.check_returncode()
    found: list[str | None] = json.loads(finished.stdout)
    return found
