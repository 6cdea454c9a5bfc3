"""The classes of a dataset: those in `mapping.txt`, else those that occur."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from uvast.data.faults import some
from uvast.data.label_files import read_labels, read_mapping
from uvast.data.spec import SPEC_FILE
from uvast.data.timestamp_files import read_timestamps
from uvast.data.video_names import case_twins
from uvast.errors import ConfigError, DataError, LabelError, MissingFileError
from uvast.files import is_present
from uvast.vocabulary import ABOUT_UNLABELLED, BACKGROUND, UNLABELLED_WORD, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvast.data.dataset import Dataset
    from uvast.data.faults import OnFault


def read_vocabulary(dataset: Dataset, on_fault: OnFault) -> Vocabulary:
    """The classes, and which of them are background; see `Dataset.vocabulary`."""
    mapping = dataset.path / "mapping.txt"
    is_mapped = is_present(mapping)
    names = read_mapping(mapping, on_fault) if is_mapped else _derived(dataset)
    if UNLABELLED_WORD in names and not is_mapped:
        on_fault(
            LabelError(
                f"{UNLABELLED_WORD!r} is the word for frames without a label, not a class",
                where=dataset.path,
                remedy=ABOUT_UNLABELLED,
            )
        )
    wanted = dataset.spec.background
    if wanted is None:
        wanted = tuple(name for name in names if name == BACKGROUND)
    unknown = [name for name in wanted if name not in names]
    if unknown:
        what = f"background names classes that do not exist: {', '.join(unknown)}"
        remedy = f"choose from {', '.join(names)}"
        on_fault(ConfigError(what, where=dataset.path / SPEC_FILE, remedy=remedy))
    background = tuple(name for name in wanted if name in names)
    return Vocabulary(names, background)


def alike_classes_note(classes: Iterable[str]) -> str | None:
    """One line about classes whose names differ only in case, or None."""
    alike = [" and ".join(names) for names in case_twins(classes)]
    if not alike:
        return None
    return f"classes that differ only in case, perhaps typing errors: {some(alike)}"


def _derived(dataset: Dataset) -> tuple[str, ...]:
    """The labels of all labelled frames, else those of the timestamps."""
    labels: set[str] = set()
    for name in filter(dataset.has_labels, dataset.names):
        with suppress(DataError):  # reported when the video is used
            lines, stretches = read_labels(dataset.labels_path(name)), dataset.labelled.of(name)
            parts = [lines] if stretches is None else [lines[one.frames] for one in stretches]
            labels.update(*parts)
    if not labels and dataset.has_timestamps():
        annotations = read_timestamps(dataset.timestamps_path).values()
        labels = {entry.label for entries in annotations for entry in entries if entry.label}
    if not labels:
        raise MissingFileError(
            "has neither mapping.txt nor labels that show its classes",
            where=dataset.path,
            remedy="add mapping.txt with lines 'id name'",
        )
    return tuple(sorted(labels))
