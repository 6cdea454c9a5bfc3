"""Names of videos: from the files in a folder, and the same video under a longer name.

Tools add to the names of what they read: `mouse01.mp4` becomes `mouse01.mp4.csv`, or
`mouse01DLC_resnet50_boxShuffle1.npy`. Such additions are recognised, so that features, labels,
timestamps and splits find each other wherever only one video can be meant.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from uvast.errors import CorruptFileError, DataError, MissingFileError
from uvast.files import is_present, missing, unreadable
from uvast.files.names import GROUND_TRUTH, case_folded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ADDED = re.compile(
    r"(?:\.(?:mp4|avi|mov|mkv|webm|m4v|mpe?g|wmv|ts|csv|tsv|h5|npy|txt)|DLC[_-][^/]*)$",
    re.IGNORECASE,
)
_SEPARATORS = "._- "
_NO_TEXT = re.compile(r"[\ud800-\udfff]")
"""How Python keeps the bytes of a name that is not UTF-8."""


@dataclass(frozen=True)
class VideoFiles:
    """The file stems of a dataset's videos, by video.

    `skipped` holds an error for each file that is left out because of its name.
    """

    features: dict[str, str]
    labels: dict[str, str]
    skipped: tuple[DataError, ...]

    def summary(self) -> str | None:
        """One line about features and labels that belong together under different names."""
        pairs = [
            (features, labels)
            for name, features in self.features.items()
            if (labels := self.labels.get(name, features)) != features
        ]
        if not pairs:
            return None
        (features, labels), n_more = pairs[0], len(pairs) - 1
        more = f" (and {n_more} more)" if n_more else ""
        return f"features {features}.npy are matched to labels {labels}.txt by name{more}"


def list_videos(dataset_path: Path) -> VideoFiles:
    """The files in a dataset's `features` and `groundTruth`, by video."""
    features, skipped = listed_stems(dataset_path / "features", ".npy")
    labels, more = listed_stems(dataset_path / GROUND_TRUTH, ".txt")
    return VideoFiles(*pair_stems(features, labels), (*skipped, *more))


class VideoNames:
    """The known videos, for looking up the names that other files give them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)

    def find(self, name: str) -> str | None:
        """The known video that a name means, None if there is none or more than one."""
        if name in self._names:
            return name
        alike = self._by_core.get(core_name(name), ())
        return alike[0] if len(alike) == 1 else None

    def remedy(self, name: str, remedy: str) -> str:
        """`remedy` for an unknown name, after a guess at the known one that was meant, if any."""
        nearest = self._nearest(name)
        return remedy if nearest is None else f"did you mean {nearest}? If not, {remedy}"

    def _nearest(self, name: str) -> str | None:
        """The known name with the longest common start, at least half of the shorter one."""
        folded, place = name.casefold(), bisect_left(self._folded, (name.casefold(), ""))
        neighbours = self._folded[max(place - 1, 0) : place + 1]
        shared = [len(_common_start([folded, near])) for near, _ in neighbours]
        if not shared:
            return None
        best = max(range(len(shared)), key=shared.__getitem__)
        near, original = neighbours[best]
        return original if 2 * shared[best] >= min(len(folded), len(near)) > 0 else None

    @cached_property
    def _by_core(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self._names):
            found[core_name(name)].append(name)
        return found

    @cached_property
    def _folded(self) -> list[tuple[str, str]]:
        return sorted((name.casefold(), name) for name in self._names)


def case_twins(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Names that differ only in case, together; macOS and Windows take such files for one."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in names:
        found[case_folded(name)].add(name)
    return sorted(tuple(sorted(its)) for its in found.values() if len(its) > 1)


def core_name(name: str) -> str:
    """A name without what tools add: the extension of a video or table, DeepLabCut's suffix.

    The result is in composed Unicode: the same name may be stored in two forms.
    """
    shorter = _ADDED.sub("", name)
    if shorter in ("", name):
        return unicodedata.normalize("NFC", name)
    return core_name(shorter)


def pair_stems(
    features: frozenset[str], labels: frozenset[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The stems of both folders' files by video.

    Equal stems belong together, and so do those that differ only by what a tool added, or by a
    suffix that all such files of one folder share.
    """
    left, right = features - labels, labels - features
    cores = [_cores(left, right), _cores(right, left)]
    counts = [Counter(one.values()) for one in cores]
    joint = {
        core
        for core in counts[0].keys() & counts[1].keys()
        if counts[0][core] == counts[1][core] == 1 and core not in features & labels
    }
    by_video: list[dict[str, str]] = []
    for stems, its in zip((features, labels), cores, strict=True):
        by_video.append({its[s] if its.get(s) in joint else s: s for s in sorted(stems)})
    return by_video[0], by_video[1]


def _cores(stems: frozenset[str], others: frozenset[str]) -> dict[str, str]:
    """Core names, without a shared suffix if the rest are all names in the other folder."""
    cores = {stem: core_name(stem) for stem in stems}
    shared = _common_start([core[::-1] for core in cores.values()])[::-1]
    start = min((shared.find(mark) for mark in _SEPARATORS if mark in shared), default=-1)
    suffix = shared[start:] if start >= 0 and len(stems) > 1 else ""
    shorter = {stem: core.removesuffix(suffix) for stem, core in cores.items()}
    return shorter if suffix and others >= set(shorter.values()) else cores


def _common_start(texts: Iterable[str]) -> str:
    columns = zip(*texts, strict=False)
    return "".join(column[0] for column in takewhile(lambda each: len(set(each)) == 1, columns))


def listed_stems(folder: Path, suffix: str) -> tuple[frozenset[str], list[DataError]]:
    """The stems of a folder's files that end with `suffix`, and the faults in their names.

    Hidden files are left out; macOS writes `._video.npy` beside `video.npy`. So are names that
    are not UTF-8: no text file could name such a video.
    """
    if not is_present(folder):
        return frozenset(), []
    if not folder.is_dir():
        if not folder.exists():
            raise missing(folder)
        raise MissingFileError("is not a folder", where=folder, remedy="put a folder in its place")
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError as error:
        raise unreadable(folder, error) from error
    names = [name for name in names if name.endswith(suffix) and name[0] != "."]
    faults: list[DataError] = [
        CorruptFileError(
            "left out: its name is not UTF-8 text", where=folder / name, remedy="rename the file"
        )
        for name in sorted(names)
        if _NO_TEXT.search(name)
    ]
    stems = (name.removesuffix(suffix) for name in names if not _NO_TEXT.search(name))
    return frozenset(stems), faults
