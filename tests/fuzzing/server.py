"""The process that runs cases: it has everything imported, and forks a child for each.

A child that hangs, eats memory or dies takes nobody with it. Requests and answers are JSON lines.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import typer

from .calls import CALLS
from .ground import make_ground
from .watch import Limits, watch

ADDRESS_SPACE = 8 * 2**30
"""Virtual memory a child may ask for; how much it touches is watched."""

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod")


class Warden:
    """Notes what a child does beyond its own folder."""

    def __init__(self, home: Path) -> None:
        self._home = os.fsencode(home)
        self._off_duty = False
        self._seen: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook."""
        if not self._off_duty and self._is_bad(event, arguments):
            self._seen.append(f"{event} {arguments!r:.300}")

    def dismissed(self) -> list[str]:
        """What it has seen; it looks no further."""
        self._off_duty = True
        return self._seen

    def _is_bad(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event in STARTS:
            return not _is_own_process(event, arguments)
        if event == "open":
            path, _, flags = arguments
            return bool(flags & WRITES) and self._is_outside(path)
        return event in CHANGES and any(map(self._is_outside, arguments[:2]))

    def _is_outside(self, path: object) -> bool:
        if not isinstance(path, str | bytes):
            return False
        whole = os.path.realpath(os.fsencode(path))
        return not whole.startswith((self._home + b"/", b"/dev/")) and b"__pycache__" not in whole


def _is_own_process(event: str, arguments: tuple[Any, ...]) -> bool:
    """Python alone, apart from all files: how uvast runs what it must be able to stop."""
    words = arguments[1] if event == "subprocess.Popen" else ()
    return list(words[:2]) == [sys.executable, "-I"]


def serve(case: Path, notes: Path) -> None:
    """Answers requests until the other end closes."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    sys.stdout = sys.stderr  # what anyone prints is no answer
    _be_quick()
    make_ground(case)
    gc.freeze()  # a child would copy what its first collection looks at
    answers.write("ready\n")
    answers.flush()
    for line in requests:
        answers.write(json.dumps(_answer(json.loads(line), case, notes)) + "\n")
        answers.flush()


def _be_quick() -> None:
    """Does once what each child would do again: starts of Python, and the tree of commands."""
    from uvast.benchmark.engine import SerialEngine
    from uvast.cli import main, options

    tree: Any = typer.main.get_command(main.app)
    for deferred in tree.commands.values():
        _ = deferred.command  # imports it, and keeps it
    vars(main)["app"] = tree
    vars(options)["make_engine"] = lambda *_, **__: SerialEngine("cpu")


def _answer(request: dict[str, Any], case: Path, notes: Path) -> dict[str, Any]:
    for path in notes.iterdir():
        path.unlink()
    child = os.fork()
    if child == 0:
        _be_child(request, case, notes)
    ended = watch(child, Limits(**request["limits"]))
    told = notes / "told.json"
    values = json.loads(told.read_text()) if told.exists() else {}
    texts = {name: _text(notes / name) for name in ("stdout", "stderr", "stack")}
    return {"code": None, "crash": None, "error": None, "outside": [], **values, **texts, **ended}


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "backslashreplace") if path.exists() else ""


def _be_child(request: dict[str, Any], case: Path, notes: Path) -> None:
    """Never returns."""
    told: dict[str, Any] = {}
    os.setsid()
    stack = (notes / "stack").open("w")
    faulthandler.enable(stack)
    faulthandler.register(signal.SIGUSR1, stack)
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + ADDRESS_SPACE,) * 2)
    # as Python opens them in a terminal of this encoding
    encoding = request["encoding"]
    sys.stdout = (notes / "stdout").open("w", encoding=encoding)
    sys.stderr = (notes / "stderr").open("w", encoding=encoding, errors="backslashreplace")
    os.chdir(case)
    warden = Warden(case)
    sys.addaudithook(warden)
    try:
        told = _run(request["words"])
    finally:
        told["outside"] = warden.dismissed()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (ValueError, OSError) as error:
                told = {**_crash(error), **told}
        (notes / "told.json").write_text(json.dumps(told))
        os._exit(0)


def _run(words: list[str]) -> dict[str, Any]:
    from uvast.cli.main import main
    from uvast.errors import UvastError

    try:
        if words[0] == "call":
            CALLS[words[1]](*words[2:])
        else:
            sys.argv = ["uvast", *words]
            main()
    except UvastError as error:
        if words[0] == "call":
            return {"code": 2, "error": str(error)}
        return _crash(error)
    except SystemExit as end:
        return {"code": end.code or 0}
    except BaseException as error:
        return _crash(error)
    return {"code": 0}


def _crash(error: BaseException) -> dict[str, Any]:
    return {"crash": f"{type(error).__name__}\n{traceback.format_exc()}"}


if __name__ == "__main__":
    os.environ.update(COLUMNS="120", OMP_NUM_THREADS="1")
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
