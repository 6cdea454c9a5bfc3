"""`mapping.txt` and the label files: class names as text."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from uvast.data.faults import raise_fault
from uvast.data.recognition import not_labels
from uvast.data.spec import LARGEST_TOLERANCE, SPEC_FILE
from uvast.errors import CorruptFileError, LabelError, counted
from uvast.files import read_text, shown, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from uvast.data.faults import OnFault


_ID = re.compile(r"\d{1,9}", re.ASCII)


def read_labels(path: Path) -> list[str]:
    """One class name per line, at the source rate; a final newline may be missing."""
    try:
        text = read_text(path, remedy="label this video or remove it").rstrip()
    except CorruptFileError as error:
        raise not_labels(path) or error from None
    if not text:
        raise LabelError("is empty: it holds no labels", where=path, remedy="remove this video")
    labels = [line.strip() for line in text.split("\n")]
    if "" in labels:
        raise not_labels(path) or LabelError(
            "has no label",
            where=f"{path}, line {labels.index('') + 1}",
            remedy="write one label per line",
        )
    return labels


def misfit(
    path: Path, n_labels: int, features_path: Path, n_frames: int, n_features: int
) -> LabelError:
    """The error for labels that are not as long as the features.

    A larger tolerance is suggested only if the two are nearly equal: else something is wrong.
    """
    difference = abs(n_frames - n_labels) / max(n_frames, n_labels)
    remedy = "check that both are of this video, and at the same frame rate"
    if n_features == n_labels:
        remedy = (
            "transpose the features, whose other axis fits, "
            f"or set feature_axis in {SPEC_FILE} if all files are like this one"
        )
    elif difference <= LARGEST_TOLERANCE:
        enough = math.ceil(100 * difference) / 100
        remedy = f"extract the features again, or set tolerance = {enough:g} in {SPEC_FILE}"
    what = f"holds {n_labels} labels for the {n_frames} frames of {features_path}"
    return not_labels(path) or LabelError(what, where=path, remedy=remedy)


def trim_note(trimmed: Mapping[str, tuple[int, int]]) -> str | None:
    """One line about trimmed videos, by their feature and label lengths; None without any."""
    if not trimmed:
        return None
    largest = max(abs(n_frames - n_labels) for n_frames, n_labels in trimmed.values())
    videos = counted(len(trimmed), "video")
    frames = counted(largest, "frame")
    first = min(trimmed)
    return f"{videos} trimmed: labels and features differ by up to {frames} (first: {first})"


def read_mapping(path: Path, on_fault: OnFault = raise_fault) -> tuple[str, ...]:
    """Class names in the order of their ids, from lines `id name`.

    If `on_fault` does not raise, a faulty line's name still counts as a class.
    """
    entries: list[tuple[int, str]] = []
    without_id: list[str] = []
    faults: list[CorruptFileError] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        index, name = (*line.strip().split(None, 1), "", "")[:2]
        if _ID.fullmatch(index) and name:
            entries.append((int(index), name))
        elif index:
            without_id.append(name or index)
            what = f"{shown(line.strip())} is not 'id name'"
            remedy = "write one class per line, as in '0 take'"
            faults.append(CorruptFileError(what, where=f"{path}, line {number}", remedy=remedy))
    if not entries:
        if faults:
            raise faults[0]  # all lines are alike, such as 'name id'
        raise CorruptFileError("has no classes", where=path, remedy="write lines 'id name'")
    for fault in faults:
        on_fault(fault)
    if not without_id:
        for what, remedy in _mapping_faults(entries):
            on_fault(CorruptFileError(what, where=path, remedy=remedy))
    return tuple(dict.fromkeys([*(name for _, name in sorted(entries)), *without_id]))


def _mapping_faults(entries: Sequence[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """What is wrong with the ids and names of a mapping, each with its remedy."""
    ids = Counter(index for index, _ in entries)
    for index in sorted(index for index, count in ids.items() if count > 1):
        yield f"id {index} occurs more than once", "give every class its own id"
    for index in range(len(ids)):
        if index not in ids:
            yield f"id {index} is missing", "count ids from 0 without gaps"
    names = Counter(name for _, name in entries)
    for name in sorted(name for name, count in names.items() if count > 1):
        yield f"class {name} has more than one id", "name every class once"


def write_mapping(path: Path, names: Sequence[str]) -> None:
    """Writes lines `id name`."""
    write_text(path, mapping_text(names))


def mapping_text(names: Sequence[str]) -> str:
    """Lines `id name`."""
    return "".join(f"{index} {name}\n" for index, name in enumerate(names))


def write_labels(path: Path, labels: Iterable[str]) -> None:
    """Writes one class name per line."""
    write_text(path, labels_text(labels))


def labels_text(labels: Iterable[str]) -> str:
    """One class name per line."""
    # by runs: a string for every line would take many times the size of the file
    runs = ((label, len(list(run))) for label, run in groupby(labels))
    return "".join(f"{label}\n" * length for label, length in runs)
