"""`check_dataset`: a dataset's statistics, and all of its problems at once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.classes import alike_classes_note
from uvast.data.dataset import Dataset
from uvast.data.faults import FaultList, some
from uvast.data.feature_files import read_header
from uvast.data.label_files import read_labels
from uvast.data.labelled import lines_inside, unlabelled_note
from uvast.data.scaling import Moments
from uvast.data.spec import DatasetSpec, read_spec
from uvast.data.splits import split_faults
from uvast.data.statistics import (
    ChannelStatistics,
    SplitSize,
    Statistics,
    TimestampCount,
    class_statistics,
)
from uvast.data.timestamp_files import ignored_timestamps, no_timestamps
from uvast.data.timestamp_fit import TimestampFit
from uvast.data.video_names import case_twins
from uvast.errors import printable
from uvast.files import is_present
from uvast.segments import UNLABELLED

if TYPE_CHECKING:
    from collections.abc import Callable

    from uvast.data.timestamps import Annotation
    from uvast.segments import Segmentation
    from uvast.vocabulary import Vocabulary


ENOUGH_VIDEOS = 4
"""With fewer videos, a class with a single segment is nothing unusual."""

_LONGEST_NOTE = 600


@dataclass(frozen=True)
class DatasetCheck:
    """What `check_dataset` found.

    Args:
        path: the dataset's folder.
        statistics: numbers, or None if there is no dataset to count.
        problems: every fault, one sentence each.
        causes: the same, shortened for people: of many similar faults, only the first.
        notes: what is worth knowing but not a fault.
    """

    path: Path
    statistics: Statistics | None
    problems: tuple[str, ...]
    causes: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def as_dict(self) -> dict[str, object]:
        """The report as plain values."""
        return {
            "dataset": str(self.path),
            "statistics": None if self.statistics is None else asdict(self.statistics),
            "problems": list(self.problems),
            "notes": list(self.notes),
        }


def check_dataset(
    path: str | Path, *, advance: Callable[[int, int], None] | None = None
) -> DatasetCheck:
    """Reads every file of a dataset and lists everything that is wrong.

    `advance` is called with (videos done, videos in total), for a progress bar.
    """
    path = Path(path)
    faults = FaultList()
    spec = DatasetSpec()
    dataset: Dataset | None = None
    with faults:
        spec = read_spec(path, faults)
    with faults:
        dataset = Dataset(path, spec, faults)
        for fault in dataset.skipped:
            faults(fault)
    if dataset is None:
        return DatasetCheck(path, None, tuple(faults.sentences), faults.causes())
    return _Check(dataset, faults).run(advance)


class _Check:
    """One pass over a dataset; each step adds to what was found."""

    def __init__(self, dataset: Dataset, faults: FaultList) -> None:
        self.dataset = dataset
        self.faults = faults
        self.notes: list[str] = []
        self.vocabulary: Vocabulary | None = None
        self.n_features: int | None = None
        self.splits: dict[int, SplitSize] = {}
        self.has_labels = any(map(dataset.has_labels, dataset.names))
        self.annotations: dict[str, tuple[Annotation, ...]] = {}
        self.lengths: list[int] = []
        self.moments: Moments | None = None
        self.truths: dict[str, Segmentation] = {}
        self.partial: list[str] = []
        self.unlabelled: list[str] = []

    def run(self, advance: Callable[[int, int], None] | None) -> DatasetCheck:
        self._read_shared_files()
        for index, name in enumerate(self.dataset.names, start=1):
            self._check_video(name)
            if advance is not None:
                advance(index, len(self.dataset.names))
        self._check_splits()
        self._check_timestamps()
        self._check_symmetry()
        self._note_unlabelled()
        self._note_classes()
        if (trimmed := self.dataset.trim_summary()) is not None:
            self.notes.append(trimmed)
        return DatasetCheck(
            self.dataset.path,
            self._statistics(),
            tuple(self.faults.sentences),
            self.faults.causes(),
            tuple(printable(note, _LONGEST_NOTE) for note in self.notes),
        )

    def _read_shared_files(self) -> None:
        dataset = self.dataset
        is_mapped = is_present(dataset.path / "mapping.txt")
        if is_mapped or self.has_labels or dataset.has_timestamps():
            with self.faults:
                self.vocabulary = dataset.vocabulary
            if self.vocabulary is not None and not is_mapped:
                source = "labels" if self.has_labels else "timestamps"
                self.notes.append(f"no mapping.txt: the classes are those of the {source}")
        if not self.has_labels and dataset.has_timestamps():
            self.notes.append("no labels: videos can be trained on with timestamps, but not scored")
        elif not self.has_labels:
            self.notes.append("no labels: videos can be segmented, but not scored")
        if not any(map(dataset.has_features, dataset.names)):
            self.notes.append("no features: labels only")
        else:
            with self.faults:
                self.n_features = dataset.n_features
                if dataset.spec.feature_axis is None:
                    self.notes.append(f"features are {dataset.feature_axis} (detected)")
        if twins := [" and ".join(names) for names in case_twins(dataset.names)]:
            self.notes.append(
                "videos whose names differ only in case; macOS and Windows cannot keep both: "
                + some(twins)
            )
        if (ignored := ignored_timestamps(dataset.path)) is not None:
            self.notes.append(ignored)
        if (paired := dataset.files.summary()) is not None:
            self.notes.append(paired)
        if dataset.has_timestamps():
            self._read_timestamps(dataset.timestamps_path)

    def _read_timestamps(self, path: Path) -> None:
        faults = FaultList()  # separate: reading the classes may have listed the same fault
        with faults:
            self.annotations = self.dataset.annotations(path, faults)
            if not self.annotations and not faults.sentences:
                faults(no_timestamps(path))
        self.faults.sentences.update(faults.sentences)

    def _check_video(self, name: str) -> None:
        n_labels = self._check_labels(name)
        n_frames = self._check_features(name)
        if n_labels is not None and n_frames is not None:
            with self.faults:
                self.dataset.common_length(name, n_labels)
        length = n_frames if n_labels is None else n_labels
        if length is not None:
            self.lengths.append(length)

    def _check_labels(self, name: str) -> int | None:
        if not self.dataset.has_labels(name):
            self.unlabelled.append(name)
            return None
        path, n_labels = self.dataset.labels_path(name), None
        with self.faults:
            labels = read_labels(path)
            n_labels = len(labels)
            stretches = self.dataset.labelled.of(name)
            if stretches is not None:
                self.partial.append(name)
            if self.vocabulary is not None:
                if stretches is not None:
                    labels = lines_inside(labels, stretches, self.vocabulary.names[0])
                self._note_unknown(labels, path, self.vocabulary)
                self.truths[name] = self.dataset.source_segmentation(name)
        return n_labels

    def _note_unknown(self, labels: list[str], path: Path, vocabulary: Vocabulary) -> None:
        known = frozenset(vocabulary.names)
        lines = {label: line for line, label in reversed(list(enumerate(labels, start=1)))}
        for label, line in sorted(lines.items(), key=lambda item: item[1]):
            if label not in known:
                with self.faults:
                    vocabulary.id_of(label, where=f"{path}, line {line}")

    def _check_features(self, name: str) -> int | None:
        """A video's length by its features; None if it has none or its time axis is unknown."""
        n_frames = None
        with self.faults:
            if self.n_features is not None:
                n_frames = self.dataset.source_frames_of_features(name)
                its = Moments.of(self.dataset.video(name, labels=False).features)
                self.moments = its if self.moments is None else self.moments.merged(its)
            elif self.dataset.has_features(name):
                read_header(self.dataset.features_path(name))
        return n_frames

    def _check_splits(self) -> None:
        known = self.dataset.known
        folder = self.dataset.path / "splits"
        with self.faults:
            if not self.dataset.splits:
                self.notes.append("no splits: make them with 'uvast data split'")
            for number, split in self.dataset.splits.items():
                self.splits[number] = SplitSize(len(split.train), len(split.test))
                for fault in split_faults(number, split, known, folder):
                    self.faults(fault)

    def _check_timestamps(self) -> None:
        if self.vocabulary is None or not self.annotations:
            return
        path = self.dataset.timestamps_path
        bare = [name for name in self.dataset.names if name not in self.annotations]
        if bare:
            self.notes.append(f"{path.name} has no timestamps for {some(bare)}")
        fit = TimestampFit(self.dataset.spec, self.vocabulary)
        for name, entries in self.annotations.items():
            for label in dict.fromkeys(entry.label for entry in entries if entry.label):
                with self.faults:
                    self.vocabulary.id_of(label, where=f"{path}, video {name}")
            with self.faults:
                self.dataset.resolve_timestamps(name, entries, path)  # they fit the model's rate
                exact = self.dataset.at_rate(1)
                resolved = exact.resolve_timestamps(name, entries, path)
                frames = exact.source_timestamps(resolved).get(name)
                if name in self.truths and frames is not None:
                    fit.add(name, entries, frames, self.truths[name].labels)
        self.notes += fit.notes()

    def _check_symmetry(self) -> None:
        if self.n_features is None or self.vocabulary is None:
            return
        with self.faults:
            if (symmetry := self.dataset.symmetry) is not None:
                self.notes.append(symmetry.summary(self.vocabulary))

    def _note_unlabelled(self) -> None:
        """Notes what is neither trained on nor scored, if anything."""
        bare = [name for name in self.unlabelled if name not in self.annotations]
        lack = "labels or timestamps" if self.annotations else "labels"
        if self.has_labels and (left_out := unlabelled_note(bare, lack=lack)) is not None:
            self.notes.append(left_out)
        with self.faults:
            if (partial := self.dataset.partial_summary(self.partial)) is not None:
                self.notes.append(partial)

    def _note_classes(self) -> None:
        """Notes classes without a segment, and those that may be typing errors.

        Without mapping.txt every typo is a class; with very few videos any class may be rare.
        """
        if self.vocabulary is None:
            return
        if (alike := alike_classes_note(self.vocabulary.names)) is not None:
            self.notes.append(alike)
        if not self.truths:
            return
        classes = self.vocabulary.names
        shown: dict[str, list[str]] = defaultdict(list)
        for name, truth in self.truths.items():
            for action in truth.transcript[truth.transcript != UNLABELLED].tolist():
                shown[classes[action]].append(name)
        unused = [each for each in classes if each not in shown]
        if unused:
            self.notes.append(f"classes that no video shows: {some(unused, 12)}")
        rare = [f"{each} ({names[0]})" for each, names in shown.items() if len(names) == 1]
        mapped = is_present(self.dataset.path / "mapping.txt")
        if rare and not mapped and len(self.truths) >= ENOUGH_VIDEOS:
            self.notes.append(f"classes with a single segment, perhaps typing errors: {some(rare)}")

    def _statistics(self) -> Statistics:
        segments = [
            int(np.count_nonzero(truth.transcript != UNLABELLED)) for truth in self.truths.values()
        ]
        lengths, dataset, vocabulary = self.lengths, self.dataset, self.vocabulary
        return Statistics(
            n_classes=None if vocabulary is None else len(vocabulary),
            n_videos=len(dataset.names),
            n_partial=len(self.partial),
            n_unlabelled=len(self.unlabelled),
            min_frames=min(lengths, default=None),
            max_frames=max(lengths, default=None),
            mean_frames=sum(lengths) / len(lengths) if lengths else None,
            min_segments=min(segments, default=None),
            max_segments=max(segments, default=None),
            n_features=self.n_features,
            feature_axis=None if self.n_features is None else dataset.feature_axis,
            channels=None if self.moments is None else ChannelStatistics.of(self.moments),
            frames_per_second=dataset.spec.frames_per_second,
            sampling_rate=dataset.spec.sampling_rate,
            background=() if vocabulary is None else vocabulary.background,
            splits=self.splits,
            timestamps=self._timestamp_count(),
            classes=class_statistics(self.truths.values(), vocabulary) if vocabulary else (),
        )

    def _timestamp_count(self) -> TimestampCount | None:
        if not self.annotations:
            return None
        counts = [len(entries) for entries in self.annotations.values()]
        return TimestampCount(self.dataset.timestamps_path.name, len(counts), sum(counts))
