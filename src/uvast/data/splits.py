"""Splits: the numbered train/test partitions of a dataset, read, made and written."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from uvast.data.faults import raise_fault
from uvast.data.subjects import group_by_subject
from uvast.errors import DataError, InputError, OutputError, SplitError
from uvast.files import read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence, Set

    from uvast.data.faults import OnFault
    from uvast.data.video_names import VideoNames

Side = Literal["train", "test"]

_BUNDLE = re.compile(r"(train|test)\.split(\d{1,9})\.bundle", re.ASCII)


@dataclass(frozen=True)
class Split:
    """One partition of the videos: the names of those to learn from, and of those to score."""

    train: tuple[str, ...]
    test: tuple[str, ...]


def bundle_path(folder: Path, side: str, number: int) -> Path:
    """The file that lists one side of a split."""
    return folder / f"{side}.split{number}.bundle"


def read_splits(folder: Path, on_fault: OnFault = raise_fault) -> dict[int, Split]:
    """Reads `{train,test}.splitN.bundle`; a side without a file is empty, see `split_faults`.

    If `on_fault` does not raise, a split with a faulty file is left out.
    """
    sides: dict[int, dict[str, tuple[str, ...]]] = {}
    faulty: set[int] = set()
    for side, number, path in _bundles(folder):
        found = sides.setdefault(number, {})
        try:
            if side in found:
                what = f"is a second file for the {side} side of split {number}"
                raise SplitError(what, where=path, remedy="remove one of them")
            found[side] = _listed(read_text(path))
        except DataError as error:
            on_fault(error)
            faulty.add(number)
    return {
        number: Split(sides[number].get("train", ()), sides[number].get("test", ()))
        for number in sorted(sides.keys() - faulty)
    }


def write_splits(
    folder: str | Path, splits: Mapping[int, Split], *, overwrite: bool = False
) -> None:
    """Writes a bundle for each side: one video per line, with `.txt` as usual in the field.

    With `overwrite`, these splits replace all that exist.
    """
    folder = Path(folder)
    present = _bundles(folder)
    if present and not overwrite:
        raise OutputError(
            "already has splits", where=folder, remedy="pass --overwrite to replace them"
        )
    if present and folder.is_symlink():
        raise OutputError(
            f"is a link to {folder.readlink()}, whose splits would be replaced",
            where=folder,
            remedy="remove the link, or split the dataset it belongs to",
        )
    texts = {
        bundle_path(folder, side, number): _bundle_text(names)
        for number, split in splits.items()
        for side, names in vars(split).items()
    }
    for path, text in texts.items():
        write_text(path, text)
    for _, _, path in present:
        if path not in texts:
            path.unlink()


def matched_split(split: Split, known: VideoNames) -> Split:
    """A split as read from its files, with each name replaced by the dataset's own."""
    sides = ((known.find(name) or name for name in side) for side in vars(split).values())
    return Split(*map(tuple, sides))


def split_faults(
    number: int, split: Split, known: VideoNames, folder: Path
) -> Iterator[SplitError]:
    """Everything that keeps a split from being used."""
    for side, names in vars(split).items():
        path = bundle_path(folder, side, number)
        if not names:
            has_file = (side, number) in {found[:2] for found in _bundles(folder)}
            what = "names no videos" if has_file else "does not exist"
            yield SplitError(what, where=path, remedy="list one video per line")
        for name, count in Counter(names).items():
            if count > 1:
                yield SplitError(f"names video {name} {count} times", where=path, remedy=_ONCE)
            if known.find(name) is None:
                yield SplitError(
                    f"names video {name}, which does not exist",
                    where=path,
                    remedy=known.remedy(name, "add its files or remove it from the split"),
                )
    for name in sorted(set(split.train) & set(split.test)):
        yield SplitError(
            f"video {name} is on both sides of split {number}", where=folder, remedy=_ONCE
        )


_ONCE = "name it once"


def make_splits(
    names: Sequence[str], *, folds: int, group_by: str | None = None, seed: int = 0
) -> dict[int, Split]:
    """Cross-validation: every video is on the test side of exactly one split.

    Subjects (see `DatasetSpec.group_by`) are never on both sides, and the sizes of the folds are
    as equal as the subjects allow. A pure function of its arguments.
    """
    groups = group_by_subject(names, group_by)
    if not 2 <= folds <= len(groups):
        kind = "videos" if group_by is None else "subjects"
        raise InputError(
            f"{folds} folds cannot be made from {len(groups)} {kind}",
            remedy=f"choose from 2 to the number of {kind}",
        )
    parts = balanced_parts(groups, folds, seed=seed)
    return {number: parted(names, test) for number, test in enumerate(parts, start=1)}


def balanced_parts(
    groups: Sequence[Sequence[str]], n_parts: int, *, seed: int = 0
) -> tuple[frozenset[str], ...]:
    """Deals groups of videos out to parts whose sizes are as equal as the groups allow."""
    order = np.random.default_rng(seed).permutation(len(groups))
    shuffled = [groups[index] for index in order]
    parts: list[set[str]] = [set() for _ in range(n_parts)]
    for group in sorted(shuffled, key=len, reverse=True):
        min(parts, key=len).update(group)
    return tuple(map(frozenset, parts))


def validation_part(
    names: Sequence[str], fraction: float, *, group_by: str | None = None, seed: int = 0
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sets aside about `fraction` of the videos: `(train, validation)`, subjects kept together.

    Each part has at least one subject. A pure function of its arguments.
    """
    if not 0 < fraction < 1:
        raise InputError(f"a validation fraction of {fraction}", remedy="choose one in (0, 1)")
    groups = group_by_subject(names, group_by)
    if len(groups) < 2:
        kind = "video" if group_by is None else "subject"
        raise InputError(
            f"{len(groups)} {kind} is too few for a validation part",
            remedy=f"train on at least two {kind}s or without a validation part",
        )
    order = np.random.default_rng(seed).permutation(len(groups))
    wanted = fraction * len(names)
    chosen = set(groups[order[0]])
    for index in order[1:-1]:
        larger = len(chosen) + len(groups[index])
        if abs(larger - wanted) < abs(len(chosen) - wanted):
            chosen.update(groups[index])
    parts = parted(names, chosen)
    return parts.train, parts.test


def parted(names: Sequence[str], test: Set[str]) -> Split:
    """The videos of one part on the test side, the others on the training side."""
    return Split(
        train=tuple(name for name in names if name not in test),
        test=tuple(name for name in names if name in test),
    )


def _bundles(folder: Path) -> list[tuple[str, int, Path]]:
    """The bundle files in a folder with side and number; `split01` is also split 1."""
    matches = ((_BUNDLE.fullmatch(path.name), path) for path in sorted(folder.glob("*.bundle")))
    return [(match[1], int(match[2]), path) for match, path in matches if match]


def _listed(text: str) -> tuple[str, ...]:
    """The names in a bundle, each without its suffix."""
    lines = (line.strip() for line in text.split("\n"))
    return tuple(
        line.removesuffix(".txt") if line.endswith(".txt") else line.removesuffix(".npy")
        for line in lines
        if line
    )


def _bundle_text(names: Sequence[str]) -> str:
    for name in names:
        as_read = f"{name}.txt".removeprefix("\ufeff").replace("\r", "\n")
        if _listed(as_read) != (name,):
            raise OutputError(
                f"video {name!r} cannot be listed in a split",
                remedy="rename its files: no line breaks, no blanks at either end",
            )
    return "".join(f"{name}.txt\n" for name in names)
