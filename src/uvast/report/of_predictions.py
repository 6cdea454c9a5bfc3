"""A folder of predictions or labels, whoever made them, to a report.

Given a dataset, its test side is scored as in `uvast evaluate`. Without one, everything in the
folder is drawn, beside what is known about the dataset that its manifest names.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uvast.data import Dataset
from uvast.data.label_files import read_labels
from uvast.data.labelled import LABELLED_FILE, encode_stretches, unlabelled_note
from uvast.errors import MissingFileError, counted
from uvast.evaluation import Track, folder_of_split
from uvast.evaluation.evaluate import prediction_files, read_for_dataset, sides_to_score
from uvast.evaluation.predictions import find_predictions, read_named_segments
from uvast.evaluation.segment_files import SUFFIXES
from uvast.files import open_file
from uvast.files.names import GROUND_TRUTH, MANIFEST
from uvast.report.compare import compare
from uvast.report.content import Report
from uvast.report.film_strips import add_film_strips, features_in
from uvast.report.provenance import (
    learned_by_model,
    manifest_of,
    predicted_split,
    seen_by_model,
    trained_on,
    training_note,
    transductive_note,
    unfamiliar_files,
    unfamiliar_note,
)
from uvast.segments import UNLABELLED, Segmentation
from uvast.vocabulary import BACKGROUND, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from uvast.data import Timestamps
    from uvast.inference.output import Manifest
    from uvast.report.compare import Tracks
    from uvast.report.content import Comparison

    Files = Mapping[int | None, Mapping[str, Path]]

_ENDS = (*SUFFIXES, ".txt", "")
_OTHERS = (MANIFEST, LABELLED_FILE, "mapping.txt", "timestamps.json", "timestamps.csv")
_MS_TCN_HEADER = b"###"
_SPLIT = re.compile(r"split_?(\d{1,6})", re.ASCII)

SAME_RATE = 1e-3
"""Rates that differ by less than this share are equal: those of tables come from rounded times."""


def report_predictions(
    folder: Path, dataset: Dataset | Path | None = None, split: int | None = None
) -> Report:
    """A report on predictions, or on labels such as `uvast pseudo-label` writes.

    Args:
        folder: predictions by `uvast segment` or another tool, or a folder with labels in
            `groundTruth`.
        dataset: a dataset or its folder; None finds the one that was predicted, if any.
        split: which split's test side; None takes the one that was predicted, else all.
    """
    manifest = manifest_of(folder)
    holds_labels = (folder / GROUND_TRUTH).is_dir()
    if dataset is None:
        named = manifest is not None and manifest.dataset
        place = named if named and Path(named).is_dir() else folder
        if place is folder and not holds_labels:
            return _of_bare_files(folder, manifest)
        data, files = Dataset.open(place), _every_prediction(folder)
    else:
        data = dataset if isinstance(dataset, Dataset) else Dataset.open(dataset)
        split = predicted_split(manifest, data.path) if split is None else split
        files = _of_dataset(folder, data, split, holds_labels=holds_labels)
        if not any(files.values()):
            raise MissingFileError(
                f"holds no prediction of a video in {data.path}",
                where=folder,
                remedy="choose the dataset that was predicted, or another split",
            )
    own_labels = data.path.resolve() == folder.resolve()
    names = {name for of_split in files.values() for name in of_split}
    labelled = [] if own_labels else [name for name in names if data.has_labels(name)]
    truths = {name: data.source_segmentation(name) for name in labelled}
    manifests = {number: manifest_of(folder_of_split(folder, number)) for number in files}
    strange = [file for one in manifests.values() for file in unfamiliar_files(one, names)]
    learned = {number: learned_by_model(one, data.path) for number, one in manifests.items()}
    seen = {number: seen_by_model(one, data.path) for number, one in manifests.items()}
    tracks = _read(files, data, truths, Dataset.open(folder) if holds_labels else None)
    truths = _known_to_both(truths, tracks)
    comparison = compare(
        {folder.resolve().name: tracks},
        truths,
        data.vocabulary,
        clicks=clicks_of(data, names if holds_labels else names - set(truths)),
        in_training=learned,
    )
    comparison, pictures = add_film_strips(comparison, features_in(data))
    return Report(
        title=folder.resolve().name,
        facts={
            "Labels" if holds_labels else "Predictions": str(folder),
            **({} if own_labels else {"Dataset": str(data.path)}),
            "Videos": videos_in_words(comparison, split),
            **pictures,
        },
        notes=notes_of(comparison, data, strange, seen),
        vocabulary=data.vocabulary,
        frames_per_second=data.spec.frames_per_second,
        comparison=comparison,
    )


def _of_bare_files(folder: Path, manifest: Manifest | None) -> Report:
    """A report from the files alone, without a dataset."""
    read = {
        split: {name: read_named_segments(path) for name, path in paths.items()}
        for split, paths in _every_prediction(folder).items()
    }
    every = [one for of_split in read.values() for one in of_split.values()]
    vocabulary = _classes({label for one in every for label in one.labels}, manifest)
    tracks = {
        split: {
            name: Track(Segmentation(vocabulary.encode(one.labels), one.durations), one.confidences)
            for name, one in of_split.items()
        }
        for split, of_split in read.items()
    }
    comparison = compare({folder.resolve().name: tracks}, {}, vocabulary)
    features = {} if manifest is None else {n: Path(p) for n, p in manifest.videos.items()}
    comparison, pictures = add_film_strips(comparison, features.get)
    return Report(
        title=folder.resolve().name,
        facts={
            "Predictions": str(folder),
            **({} if manifest is None else {"Model": manifest.model}),
            "Videos": videos_in_words(comparison, None),
            **pictures,
        },
        notes=notes_of(
            comparison, None, unfamiliar_files(manifest, (v.name for v in comparison.videos))
        ),
        vocabulary=vocabulary,
        frames_per_second=_common_rate([one.frames_per_second for one in every]),
        comparison=comparison,
    )


def _common_rate(rates: Sequence[float | None]) -> float | None:
    """The rate of all videos; None if one is unknown or they differ by more than rounding."""
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates) or max(known) - min(known) > SAME_RATE * max(known):
        return None
    return known[0]


def _classes(labels: set[str], manifest: Manifest | None) -> Vocabulary:
    """The classes of the model's own dataset, to keep their colours; else those that occur."""
    own = None if manifest is None else trained_on(manifest)
    if own is not None and labels <= set(own.vocabulary.names):
        return own.vocabulary
    return Vocabulary(tuple(sorted(labels)), tuple(labels & {BACKGROUND}))


def _of_dataset(folder: Path, data: Dataset, split: int | None, *, holds_labels: bool) -> Files:
    """The files of the test sides: labelled videos need one, others may have one."""
    if holds_labels and split is None:
        known = set(data.names)
        return {
            number: {name: path for name, path in paths.items() if name in known}
            for number, paths in _every_prediction(folder).items()
        }
    place = folder / GROUND_TRUTH if holds_labels else folder
    sides = sides_to_score(data, split)
    labelled = {
        number: [name for name in names if data.has_labels(name)] for number, names in sides.items()
    }
    prediction_files(place, labelled, asked_for=split, tables_first=True)  # refuses missing ones
    return {
        number: find_predictions(folder_of_split(place, number), names, tables_first=True)
        for number, names in sides.items()
    }


def _every_prediction(folder: Path) -> Files:
    """Each video's file, by split for subfolders `splitN`; the key is None for the others.

    Tables of segments, which hold confidences, are preferred to frame labels.
    """
    folder = folder / GROUND_TRUTH if (folder / GROUND_TRUTH).is_dir() else folder
    places: dict[int | None, Path] = {None: folder}
    places |= {
        int(match[1]): one
        for one in sorted(folder.iterdir())
        if (match := _SPLIT.fullmatch(one.name)) and one.is_dir()
    }
    found: dict[int | None, dict[str, Path]] = {}
    for split, place in places.items():
        files = find_predictions(place, _videos(place), tables_first=True)
        if files:
            found[split] = files
    if not found:
        raise MissingFileError(
            "holds no run, no benchmark and no predictions",
            where=folder,
            remedy="name a folder that uvast train, benchmark, segment or pseudo-label wrote",
        )
    return found


def _videos(folder: Path) -> list[str]:
    """Video names from file names, ignoring hidden files, a dataset's own and other kinds."""
    files = [one for one in folder.iterdir() if one.is_file() and not one.name.startswith(".")]
    own = [one for one in files if one.name not in _OTHERS]
    names = {one.stem for one in own if one.suffix in _ENDS}
    return sorted(names | {one.name for one in own if one.suffix not in _ENDS and _is_ms_tcn(one)})


def _is_ms_tcn(path: Path) -> bool:
    """Whether a file begins as MS-TCN's predictions do: they are called like the video alone."""
    with open_file(path) as file:
        return file.read(len(_MS_TCN_HEADER)) == _MS_TCN_HEADER


def _read(
    files: Files, data: Dataset, truths: Mapping[str, Segmentation], labels: Dataset | None
) -> Tracks:
    """Reads predictions, or labels: in a folder of `labels`, some videos may be partly labelled."""

    def track(name: str, path: Path) -> Track:
        stretches = None if labels is None else labels.labelled.of(name)
        if stretches is not None:
            lines, place = read_labels(path), str(path)
            ids = encode_stretches(lines, stretches, data.vocabulary, where=place)
            return Track(Segmentation.from_labels(ids))
        n_frames = truths[name].n_frames if name in truths else data.source_frames(name)
        return read_for_dataset(path, data, name, n_frames)

    return {
        split: {name: track(name, path) for name, path in paths.items()}
        for split, paths in files.items()
    }


def _known_to_both(truths: Mapping[str, Segmentation], tracks: Tracks) -> dict[str, Segmentation]:
    """Truths, made unlabelled where the compared labels are; those left empty are dropped."""
    found = dict(truths)
    for of_split in tracks.values():
        for name in of_split.keys() & found.keys():
            other = of_split[name].segmentation
            if UNLABELLED in other.transcript:
                labels = found[name].labels
                is_known = other.labels[: len(labels)] != UNLABELLED
                found[name] = Segmentation.from_labels(np.where(is_known, labels, UNLABELLED))
    return {name: one for name, one in found.items() if one.labelled_parts()}


def clicks_of(
    dataset: Dataset, names: Iterable[str], path: Path | str | None = None
) -> dict[str, Timestamps]:
    """The videos' annotated source frames, where they have some; None reads the dataset's own."""
    wanted = set(names)
    if not wanted or (path is None and not dataset.has_timestamps()):
        return {}
    exact = dataset.at_rate(1)  # where people clicked, not the model's frame beside it
    annotated = exact.source_timestamps(exact.timestamps(path))
    return {name: annotated[name] for name in wanted & set(annotated)}


def videos_in_words(comparison: Comparison, split: int | None) -> str:
    """How many videos there are, and how many of them are scored."""
    names = {one.name for one in comparison.videos}
    splits = {one.split for one in comparison.videos} - {None}
    side = "" if split is None else f", the test side of split {split}"
    if split is None and len(splits) > 1:
        side = f", the mean over {len(splits)} splits"
    n_scored = len({one.name for one in comparison.videos if one.scores})
    scored = "" if n_scored == len(names) else f"; {n_scored or 'none'} with ground truth"
    return f"{counted(len(names), 'video')}{side}{scored}"


def notes_of(
    comparison: Comparison,
    dataset: Dataset | None,
    unfamiliar: Sequence[str],
    seen: Mapping[int | None, Collection[str]] | None = None,
) -> tuple[str, ...]:
    """Sentences about scores that are not results, unfamiliar files, and what was cut or left out.

    `seen` is split to the videos that the model behind its predictions saw without their labels.
    """
    scored = [one for one in comparison.videos if one.scores]
    n_seen = sum(one.name in (seen or {}).get(one.split, ()) for one in scored)
    notes = [
        training_note(len(scored), sum(one.in_training for one in scored)),
        transductive_note(len(scored), n_seen),
    ]
    notes.append(unfamiliar_note(unfamiliar))
    if dataset is not None:
        bare = dict.fromkeys(one.name for one in comparison.videos if one.true is None)
        partial = dict.fromkeys(one.name for one in scored)
        summaries = (
            unlabelled_note(list(bare)) if scored else None,
            dataset.partial_summary(partial),
            dataset.trim_summary(),
        )
        notes += [f"{one}." for one in summaries if one is not None]
    return tuple(note for note in notes if note is not None)
