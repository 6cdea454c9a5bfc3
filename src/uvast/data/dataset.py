"""`Dataset`: the field's standard layout, read lazily.

    dataset.toml                     what the layout cannot say (optional)
    features/VIDEO.npy               [F x T] or [T x F]
    groundTruth/VIDEO.txt            one label per line, at the source rate
    mapping.txt                      lines `id name` (optional: derived from the labels)
    splits/{train,test}.splitN.bundle  (optional: made by `uvast data split`)
    timestamps.{json,csv,xlsx} or NAME_annotation_all.npy (optional)

Opening lists folders and reads `dataset.toml`, nothing else. A fault in one file is an error when
that file is used; `check_dataset` finds them all.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data.faults import raise_fault
from uvast.data.feature_files import FeatureFolder, lengths_agree
from uvast.data.label_files import misfit, read_labels, read_mapping
from uvast.data.recognition import what_else_is_in
from uvast.data.spec import SPEC_FILE, DatasetSpec, read_spec
from uvast.data.splits import Split, matched_split, read_splits, split_faults
from uvast.data.timestamp_files import no_timestamps, read_timestamps, timestamps_files
from uvast.data.timestamps import Timestamps, resolve_timestamps
from uvast.data.video import Video
from uvast.data.video_names import VideoNames, list_videos
from uvast.errors import (
    ConfigError,
    DataError,
    InputError,
    MissingFileError,
    SplitError,
    TimestampError,
)
from uvast.files import is_present
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from uvast.data.faults import OnFault
    from uvast.data.spec import FeatureAxis
    from uvast.data.splits import Side
    from uvast.data.timestamps import Annotation
    from uvast.segments import IntArray


BACKGROUND = "background"
"""The class that Edit and F1 leave out where dataset.toml does not say."""

_GIVE = "give the folder of a dataset"


class Dataset:
    """Videos with features, labels, splits and timestamps, each read when it is used.

    Args:
        path: the dataset's folder.
        spec: the content of its `dataset.toml`.
        on_fault: takes the faults of the files that describe the dataset; if it does not raise,
            the rest of such a file counts.

    Attributes:
        path: the dataset's folder.
        spec: what the layout cannot say.
        sampling_rate: every how many source frames the model sees one; the spec's, see `at_rate`.
        name: the folder's name.
        names: all videos, sorted: those with features or labels.
        files: the files of each, which may be called a little differently.
        known: finds a video by the name that another file gives it.
        trimmed: videos seen so far whose labels and features differ in length within the
            tolerance: name to `(features, labels)` lengths.
    """

    def __init__(
        self, path: str | Path, spec: DatasetSpec, on_fault: OnFault = raise_fault
    ) -> None:
        path = Path(path)
        if not path.is_dir():
            what = "is not a folder" if is_present(path) else "does not exist"
            raise MissingFileError(what, where=path, remedy=_GIVE)
        self.path = path
        self.spec = spec
        self.sampling_rate = spec.sampling_rate
        self.name = path.resolve().name
        self._on_fault = on_fault
        self.files = list_videos(path)
        self.names = tuple(sorted(self.files.features.keys() | self.files.labels.keys()))
        self.known = VideoNames(self.names)
        self._features = FeatureFolder(path / "features", self.files.features, spec, self._n_labels)
        if not self.names:
            raise MissingFileError(
                "has no videos, neither features/*.npy nor groundTruth/*.txt",
                where=path,
                remedy=what_else_is_in(path) or _GIVE,
            )
        self.trimmed: dict[str, tuple[int, int]] = {}

    @classmethod
    def open(cls, path: str | Path, *, spec: DatasetSpec | None = None) -> Dataset:
        """Opens the dataset in a folder; `spec` takes the place of its `dataset.toml`."""
        path = Path(path)
        return cls(path, read_spec(path) if spec is None else spec)

    def at_rate(self, sampling_rate: int) -> Dataset:
        """The same data for a model of another rate; 0 is the dataset's own.

        `spec` stays as it is: timestamps that count sub-sampled frames count the spec's.
        """
        other = copy(self)  # what was read already is shared
        other.sampling_rate = sampling_rate or self.spec.sampling_rate
        return other

    @property
    def skipped(self) -> tuple[DataError, ...]:
        """An error for each file that is left out because of its name."""
        return self.files.skipped

    def __repr__(self) -> str:
        return f"Dataset({str(self.path)!r}, {len(self.names)} videos)"

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The classes: from mapping.txt, else the sorted labels (or the timestamps' labels)."""
        mapping = self.path / "mapping.txt"
        is_mapped = is_present(mapping)
        names = read_mapping(mapping, self._on_fault) if is_mapped else self._derived_classes()
        wanted = self.spec.background
        if wanted is None:
            wanted = tuple(name for name in names if name == BACKGROUND)
        unknown = [name for name in wanted if name not in names]
        if unknown:
            what = f"background names classes that do not exist: {', '.join(unknown)}"
            remedy = f"choose from {', '.join(names)}"
            self._on_fault(ConfigError(what, where=self.path / SPEC_FILE, remedy=remedy))
        background = tuple(name for name in wanted if name in names)
        return Vocabulary(names, background)

    @cached_property
    def splits(self) -> dict[int, Split]:
        """The splits by number; empty if there are none."""
        found = read_splits(self.path / "splits", self._on_fault)
        return {number: matched_split(split, self.known) for number, split in found.items()}

    @property
    def feature_axis(self) -> FeatureAxis:
        """Which axis of the feature files is time: as the spec says, else as the files tell."""
        return self._features.axis

    @property
    def n_features(self) -> int:
        """F, the width that most videos have."""
        return self._features.n_features

    def side(self, split: int | None, side: Side) -> tuple[str, ...]:
        """The videos on one side of a split, or all videos if `split` is None."""
        if side not in ("train", "test"):
            raise InputError(f"side {side!r}", remedy="choose 'train' or 'test'")
        if split is None:
            return self.names
        if split not in self.splits:
            remedy = "make splits with 'uvast data split'"
            if self.splits:
                remedy = f"choose from {', '.join(map(str, self.splits))}"
            raise SplitError(f"has no split {split}", where=self.path, remedy=remedy)
        chosen = self.splits[split]
        for fault in split_faults(split, chosen, self.known, self.path / "splits"):
            raise fault
        return chosen.train if side == "train" else chosen.test

    def features_path(self, name: str) -> Path:
        """The file of a video's features."""
        return self._features.file(name)

    def labels_path(self, name: str) -> Path:
        """The file of a video's labels."""
        return self.path / "groundTruth" / f"{self.files.labels.get(name, name)}.txt"

    def has_labels(self, name: str) -> bool:
        """Whether a video has a label file."""
        return name in self.files.labels

    def has_features(self, name: str) -> bool:
        """Whether a video has a feature file."""
        return name in self.files.features

    def video(self, name: str, *, labels: bool = True, sampling_rate: int | None = None) -> Video:
        """One video; `labels=False` does not read its labels.

        It has the dataset's `sampling_rate`, or that of a model which was trained at another.
        Label files are opened all the same, to count their lines, if neither `feature_axis` in
        dataset.toml nor the shapes of the features tell which axis is time.
        """
        self._check_known(name)
        features = self._features.read(name)
        rate = sampling_rate or self.sampling_rate
        fps = self.spec.frames_per_second
        if not labels:
            return Video(name, features[::rate], None, len(features), rate, fps)
        ids = self.source_labels(name)
        return Video(name, features[: len(ids) : rate], ids[::rate], len(ids), rate, fps)

    def source_frames(self, name: str) -> int:
        """A video's length at the source rate, from its features, else from its labels."""
        if self.has_features(name):
            return self.source_frames_of_features(name)
        self._check_known(name)
        return len(read_labels(self.labels_path(name)))

    def source_frames_of_features(self, name: str) -> int:
        """The length of a video's features at the source rate."""
        return self._features.n_frames(name)

    def source_labels(self, name: str) -> IntArray:
        """Class ids `(source_frames,)` at the source rate, trimmed to the video's features."""
        self._check_known(name)
        path = self.labels_path(name)
        ids = self.vocabulary.encode(read_labels(path), where=str(path))
        if not self.has_features(name):
            return ids
        return ids[: self.common_length(name, len(ids))]

    def source_segmentation(self, name: str) -> Segmentation:
        """The ground truth at the source rate."""
        return Segmentation.from_labels(self.source_labels(name))

    def timestamps(self, path: str | Path | None = None) -> dict[str, Timestamps]:
        """Timestamps by video at the model's rate; None reads the dataset's own file.

        A video with an empty list is left out. Label files are opened only for timestamps
        without a label (the published files have none), to tell the length of a video without
        features, the time axis as in `video`, or the classes where there is no mapping.txt.
        """
        path = self.timestamps_path if path is None else Path(path)
        annotations = self.annotations(path)
        if not annotations:
            raise no_timestamps(path)
        return {
            name: self.resolve_timestamps(name, entries, path)
            for name, entries in annotations.items()
        }

    def annotations(
        self, path: Path, on_fault: OnFault = raise_fault
    ) -> dict[str, tuple[Annotation, ...]]:
        """What a timestamps file holds, by the dataset's names; empty lists are left out."""
        found: dict[str, tuple[Annotation, ...]] = {}
        for written, entries in read_timestamps(path, on_fault).items():
            name = self.known.find(written) or written
            if name in found:
                what = f"names video {name} twice, once as {written}"
                on_fault(TimestampError(what, where=path, remedy="give it one name"))
            elif entries:
                found[name] = entries
        return found

    def resolve_timestamps(
        self, name: str, annotations: Sequence[Annotation], path: Path
    ) -> Timestamps:
        """One video's annotations, as read from the file `path`, at the model's rate."""
        if self.known.find(name) != name:
            raise TimestampError(
                f"names video {name}, which does not exist",
                where=path,
                remedy=self.known.remedy(name, "add its files or remove its timestamps"),
            )
        return resolve_timestamps(
            name,
            annotations,
            spec=self.spec,
            sampling_rate=self.sampling_rate,
            vocabulary=self.vocabulary,
            source_frames=self.source_frames(name),
            source_labels=lambda: self.source_labels(name),
            where=path,
        )

    @property
    def timestamps_path(self) -> Path:
        """The dataset's own timestamps: JSON before CSV before XLSX before a published file."""
        found = timestamps_files(self.path)
        if not found:
            raise MissingFileError(
                "has no timestamps", where=self.path, remedy="add timestamps.json or timestamps.csv"
            )
        return found[0]

    def has_timestamps(self) -> bool:
        """Whether the dataset has a timestamps file of its own."""
        return bool(timestamps_files(self.path))

    def common_length(self, name: str, n_labels: int) -> int:
        """The source frames that a video's labels and features share; notes what is trimmed."""
        n_frames = self.source_frames_of_features(name)
        if n_frames == n_labels:
            return n_frames
        if not lengths_agree(n_frames, n_labels, self.spec.tolerance):
            raise misfit(self.labels_path(name), n_labels, self.features_path(name), n_frames)
        self.trimmed[name] = (n_frames, n_labels)
        return min(n_frames, n_labels)

    def trim_summary(self) -> str | None:
        """One line about the videos trimmed so far, or None."""
        if not self.trimmed:
            return None
        largest = max(abs(frames - labels) for frames, labels in self.trimmed.values())
        return (
            f"{_count(len(self.trimmed), 'video')} trimmed: labels and features differ by up to "
            f"{_count(largest, 'frame')} (first: {min(self.trimmed)})"
        )

    def _check_known(self, name: str) -> None:
        if not (self.has_features(name) or self.has_labels(name)):
            raise MissingFileError(
                f"has no video {name}",
                where=self.path,
                remedy=self.known.remedy(name, "check the name of the video"),
            )

    def _n_labels(self, name: str) -> int | None:
        return len(self._readable_labels(name)) or None

    def _readable_labels(self, name: str) -> list[str]:
        try:
            return read_labels(self.labels_path(name))
        except DataError:
            return []

    def _derived_classes(self) -> tuple[str, ...]:
        labels = {label for name in self.names for label in self._readable_labels(name)}
        if not labels and self.has_timestamps():
            annotations = read_timestamps(self.timestamps_path).values()
            labels = {entry.label for entries in annotations for entry in entries if entry.label}
        if not labels:
            raise MissingFileError(
                "has neither mapping.txt nor labels to tell its classes",
                where=self.path,
                remedy="add mapping.txt with lines 'id name'",
            )
        return tuple(sorted(labels))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
