"""Writes pseudo-labels to a folder that is a dataset except for its features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from uvast.data import annotate, write_spec, write_timestamps
from uvast.data.label_files import write_labels, write_mapping
from uvast.data.labelled import LABELLED_FILE, write_labelled
from uvast.errors import OutputError
from uvast.files import check_absent, is_present, open_file, recover, swap, temporary_folder
from uvast.files.names import GROUND_TRUTH
from uvast.vocabulary import UNLABELLED_WORD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from uvast.data import Dataset, Timestamps
    from uvast.data.labelled import Span
    from uvast.segments import Segmentation

OUTPUTS = (GROUND_TRUTH, "mapping.txt", "dataset.toml", "timestamps.json", LABELLED_FILE)


def check_output(out: Path, dataset: Dataset, timestamps: Path | None, *, overwrite: bool) -> None:
    """Refuses a place `out` where something would be lost.

    The dataset and its `timestamps` are never replaced, even through links; older pseudo-labels
    are, but only with `overwrite`.
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
                "is read by this command and would be lost",
                where=target,
                remedy="choose another --out",
            )
    if not overwrite:
        check_absent(*targets)


def write_pseudo_labels(
    out: Path,
    dataset: Dataset,
    labelled: Mapping[str, Segmentation],
    drawn: Mapping[str, Timestamps] | None = None,
) -> None:
    """Writes everything to a temporary folder, then moves it: the labels last, in one step.

    Whenever the process is killed, `groundTruth` is the old folder or the whole new one; other
    files in `out` stay. Pseudo-segmentations are at the source rate. Timestamps that were `drawn`
    are kept with them; they come at the model's rate. Both are by sample (see `Dataset.samples`).
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
    classes = dataset.vocabulary
    spans: dict[str, list[Span]] = {}
    for video, parts in _by_video(dataset, labelled).items():
        labels = [UNLABELLED_WORD] * dataset.source_frames(video)
        for start, one in parts.items():
            labels[start : start + one.n_frames] = classes.decode(one.labels)
        ends = [(start, start + one.n_frames) for start, one in parts.items()]
        if ends != [(0, len(labels))]:
            spans[video] = ends
        write_labels(folder / GROUND_TRUTH / f"{video}.txt", labels)
    if spans:
        write_labelled(folder / LABELLED_FILE, spans)
    write_mapping(folder / "mapping.txt", classes.names)
    write_spec(folder, replace(dataset.spec, timestamps_rate="source"))
    if drawn is not None:
        frames = dataset.source_timestamps(drawn)
        annotations = {name: annotate(entry, classes) for name, entry in frames.items()}
        write_timestamps(folder / "timestamps.json", annotations)


def _by_video(
    dataset: Dataset, labelled: Mapping[str, Segmentation]
) -> dict[str, dict[int, Segmentation]]:
    """The pseudo-segmentations of each video by the source frame at which they start."""
    found: dict[str, dict[int, Segmentation]] = {}
    for sample, one in labelled.items():
        stretch = dataset.labelled.find(sample)
        start = 0 if stretch is None else stretch.start
        found.setdefault(dataset.video_of(sample), {})[start] = one
    return found
