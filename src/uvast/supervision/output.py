"""Pseudo-labels to a folder that is a dataset but for its features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uvast.data import annotate, write_spec, write_timestamps
from uvast.data.label_files import write_labels, write_mapping
from uvast.errors import OutputError
from uvast.files import check_absent, is_present, open_file, recover, swap, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from uvast.data import Dataset, Timestamps
    from uvast.segments import Segmentation

OUTPUTS = ("groundTruth", "mapping.txt", "dataset.toml", "timestamps.json")


def check_output(out: Path, dataset: Dataset, timestamps: Path | None, *, overwrite: bool) -> None:
    """Refuses a place `out` where something would be lost.

    Neither the dataset nor its `timestamps` are ever replaced, whatever links lead there; older
    pseudo-labels are with `overwrite`.
    """
    targets = [out / name for name in OUTPUTS]
    read = [dataset.path / name for name in (*OUTPUTS, "features", "splits")]
    read += [dataset.labels_path(name) for name in dataset.names]
    if timestamps is not None and is_present(timestamps):
        open_file(timestamps).close()  # a link to itself cannot be resolved
        read.append(timestamps)
    resolved = [path.resolve() for path in read]
    for target in targets:
        place = target.resolve()
        if any(place.is_relative_to(path) or path.is_relative_to(place) for path in resolved):
            raise OutputError(
                "is read by this run and would be lost", where=target, remedy="choose another --out"
            )
    if not overwrite:
        check_absent(*targets)


def write_pseudo_labels(
    out: Path,
    dataset: Dataset,
    labelled: Mapping[str, Segmentation],
    drawn: Mapping[str, Timestamps] | None = None,
) -> None:
    """Writes everything apart, then puts it in place: the labels last, in one step.

    Whenever the process is killed, `groundTruth` is the old folder or the whole new one; other
    files in `out` stay. Pseudo-segmentations are at the source rate, timestamps that were `drawn`
    and are kept with them at the model's rate.
    """
    with temporary_folder(out) as new:
        _write_files(new, dataset, labelled, drawn)
        labels = OUTPUTS[0]
        recover(out / labels)
        for name in OUTPUTS[1:]:
            if is_present(new / name):
                (new / name).replace(out / name)
            else:
                (out / name).unlink(missing_ok=True)
        swap(new / labels, out / labels)


def _write_files(
    folder: Path,
    dataset: Dataset,
    labelled: Mapping[str, Segmentation],
    drawn: Mapping[str, Timestamps] | None,
) -> None:
    spec, classes = dataset.spec, dataset.vocabulary
    for name, one in labelled.items():
        write_labels(folder / "groundTruth" / f"{name}.txt", classes.decode(one.labels))
    write_mapping(folder / "mapping.txt", classes.names)
    write_spec(folder, replace(spec, timestamps_rate="source"))
    if drawn is not None:
        annotations = {
            name: annotate(entry, classes, sampling_rate=dataset.sampling_rate)
            for name, entry in drawn.items()
        }
        write_timestamps(folder / "timestamps.json", annotations)
