"""What can stand where a file is expected, or lie beside it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

SPARSE_BYTES = 4 * 10**9


def _absent(path: Path) -> None:
    path.unlink()


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _socket(path: Path) -> None:
    path.unlink()
    os.mknod(path, stat.S_IFSOCK | 0o600)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _unreadable(path: Path) -> None:
    path.chmod(0)  # root may read it all the same


def _link(target: str) -> Callable[[Path], None]:
    def put(path: Path) -> None:
        path.unlink()
        path.symlink_to(target)

    return put


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _sparse(path: Path) -> None:
    os.truncate(path, SPARSE_BYTES)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _beside(name: Callable[[str, str], bytes]) -> Callable[[Path], None]:
    """A copy beside the file, of an odd name; `name` takes stem and suffix."""

    def put(path: Path) -> None:
        stem, dot, suffix = path.name.partition(".")
        folder = os.fsencode(path.parent)
        shutil.copyfile(path, os.path.join(folder, name(stem, dot + suffix)))  # noqa: PTH118 - bytes

    return put


PLACES: dict[str, Callable[[Path], None]] = {
    "absent": _absent,
    "empty": _empty,
    "FIFO": _fifo,
    "socket": _socket,
    "folder": _folder,
    "unreadable": _unreadable,
    "endless": _link("/dev/zero"),
    "failing": _link("/proc/self/mem"),
    "dangling": _link("nowhere"),
    "loop": _loop,
    "sparse": _sparse,
    "not UTF-8 beside": _beside(lambda stem, suffix: b"\xff\xfe" + suffix.encode()),
    "control characters beside": _beside(
        lambda stem, suffix: f"\x1b[31m{stem}\n\x07{suffix}".encode()
    ),
    "macOS beside": _beside(lambda stem, suffix: f"._{stem}{suffix}".encode()),
    "long beside": _beside(lambda stem, suffix: (b"n" * (255 - len(suffix))) + suffix.encode()),
}
