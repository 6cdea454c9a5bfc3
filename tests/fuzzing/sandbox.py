"""Cases in a process of their own: the folder they run in, and what came of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .watch import Limits

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Args:
        code: the exit code; None if it did not end by itself.
        stdout: what it printed.
        stderr: what it noted.
        crash: the type and traceback of an error that is no `UvastError`.
        error: the sentence of a `UvastError` that a Python call raised.
        killed: the limit it went beyond.
        stack: where it was then, or when a signal ended it.
        outside: what it did beyond its folder.
        changed: files below the folder that are new, gone or other than before.
        megabytes: the memory it took.
        cpu_seconds: the processor time it took.
    """

    code: int | None
    stdout: str = ""
    stderr: str = ""
    crash: str | None = None
    error: str | None = None
    killed: str | None = None
    stack: str = ""
    outside: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    megabytes: float = 0.0
    cpu_seconds: float = 0.0


class Sandbox:
    """A server, and the folder of its cases, which is made anew for each."""

    def __init__(self, root: Path) -> None:
        self.case = root / "case"
        self._ground, self._notes = root / "ground", root / "notes"
        for folder in (self.case, self._notes):
            folder.mkdir(parents=True)
        paths = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        self._server = subprocess.Popen(
            [sys.executable, "-m", "fuzzing.server", str(self.case), str(self._notes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "COLUMNS": "120"},
        )
        if self._read() != "ready\n":
            raise RuntimeError("the files to break could not be made; see above")
        shutil.copytree(self.case, self._ground)
        self._whole = _snapshot(self.case)

    def close(self) -> None:
        """Ends the server."""
        with self._server:  # closes its pipes and waits
            pass

    def fresh(self) -> Path:
        """The case's folder with all files whole: those that the last case changed come back."""
        found = _snapshot(self.case)
        wrong = [path for path in found | self._whole if found.get(path) != self._whole.get(path)]
        for path in sorted(wrong, reverse=True):  # what is in a folder before the folder
            _remove(self.case / path)
        for path in sorted(wrong):
            if path in self._whole:
                _copy(self._ground / path, self.case / path)
        self._whole = _snapshot(self.case)
        return self.case

    def run(self, words: str, *, encoding: str = "utf-8", limits: Limits | None = None) -> Outcome:
        """Runs a command, or a call, in the case's folder."""
        before = _snapshot(self.case)
        request = {
            "words": words.split(),
            "encoding": encoding,
            "limits": vars(limits or Limits()),
        }
        assert self._server.stdin is not None, "asked for above"
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = json.loads(self._read())
        after = _snapshot(self.case)
        changed = {path for path in before | after if before.get(path) != after.get(path)}
        answer["outside"] = tuple(answer["outside"])
        return Outcome(changed=tuple(sorted(changed)), **answer)

    def _read(self) -> str:
        assert self._server.stdout is not None, "asked for above"
        return self._server.stdout.readline()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy(source: Path, path: Path) -> None:
    if source.is_dir():
        path.mkdir(exist_ok=True)
    else:
        shutil.copyfile(source, path)


def _snapshot(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Every path below a folder with what tells that it is the same as before."""
    found: dict[str, tuple[Any, ...]] = {}
    for place, folders, files in os.walk(os.fsencode(folder)):
        for name in files + folders:
            path = os.path.join(place, name)  # noqa: PTH118 - bytes: names may be no text
            info = os.lstat(path)
            is_folder = name in folders and not os.path.islink(path)  # noqa: PTH114
            kept = () if is_folder else (info.st_size, info.st_mtime_ns, info.st_ino)
            found[os.fsdecode(os.path.relpath(path, os.fsencode(folder)))] = (info.st_mode, *kept)
    return found
