"""The paths annotation files give for their videos, and the names that tell these apart."""

from __future__ import annotations

from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def file_name(path: str) -> str:
    """The last part of any system's path or address: the video's name."""
    path = path.strip().partition("?")[0] if "://" in path else path.strip()
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def parts_of(path: str) -> tuple[str, ...]:
    """The folders and file name of any system's path or address."""
    name = file_name(path)
    folders = path.strip().partition("?")[0] if "://" in path else path.strip()
    folders = folders.replace("\\", "/").rstrip("/").removesuffix(name)
    return (*(one for one in folders.split("/") if one not in ("", ".", "file:")), name)


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """A name for each path: its file name, with folders where paths share the file name.

    A bare file name and a single path that ends with it are the same video.
    """
    parts = {path: parts_of(path) for path in paths}
    alike: dict[str, set[tuple[str, ...]]] = {}
    for one in parts.values():
        alike.setdefault(one[-1], set()).add(one)
    n_parts = {name: _n_telling(group) for name, group in alike.items()}
    return {path: "/".join(one[-n_parts[one[-1]] :]) for path, one in parts.items()}


def _n_telling(group: set[tuple[str, ...]]) -> int:
    """How many parts from the end it takes to tell the paths apart."""
    if len(group) == 2 and 1 in map(len, group):
        return 1
    from_the_end = sorted(one[::-1] for one in group)
    shared = (
        sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
        for one, other in pairwise(from_the_end)
    )
    return 1 + max(shared, default=0)
