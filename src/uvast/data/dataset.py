"""`Dataset`: the field's standard layout, read lazily.

    dataset.toml                     what the layout cannot say (optional)
    features/VIDEO.npy               [F x T] or [T x F]
    groundTruth/VIDEO.txt            one label per line, at the source rate
    mapping.txt                      lines `id name` (optional: derived from the labels)
    splits/{train,test}.splitN.bundle  (optional: made by `uvast data split`)
    timestamps.{json,csv,xlsx} or NAME_annotation_all.npy (optional)
    labelled.json                    the frames that are labelled, if not all are (optional)

Opening a dataset only lists folders and reads `dataset.toml`. A fault in a file becomes an error
when that file is used; `check_dataset` finds them all.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data.classes import read_vocabulary
from uvast.data.faults import raise_fault
from uvast.data.feature_files import FeatureFolder, lengths_agree
from uvast.data.label_files import misfit, read_labels, trim_note
from uvast.data.labelled import Stretches, encode_stretches, partial_note, read_labelled
from uvast.data.recognition import what_else_is_in
from uvast.data.spec import SPEC_FILE, DatasetSpec, read_spec
from uvast.data.splits import Split, matched_split, read_splits, split_faults
from uvast.data.symmetry import resolved_symmetry
from uvast.data.timestamp_files import no_timestamps, read_timestamps, timestamps_files
from uvast.data.timestamps import Timestamps, joined_timestamps, resolve_timestamps
from uvast.data.video import Video
from uvast.data.video_names import VideoNames, list_videos
from uvast.errors import DataError, InputError, MissingFileError, SplitError, TimestampError
from uvast.files import is_present
from uvast.files.names import GROUND_TRUTH
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from uvast.data.faults import OnFault
    from uvast.data.spec import FeatureAxis
    from uvast.data.splits import Side
    from uvast.data.symmetry import Symmetry
    from uvast.data.timestamps import Annotation
    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary


_GIVE = "give the folder of a dataset"


class Dataset:
    """Videos with features, labels, splits and timestamps, each read when it is used.

    Args:
        path: the dataset's folder.
        spec: the content of its `dataset.toml`.
        on_fault: called with each fault in the files that describe the dataset; if it does not
            raise, the rest of the file still counts.

    Attributes:
        path: the dataset's folder.
        spec: what the layout cannot say.
        sampling_rate: the model sees every `sampling_rate`-th source frame; see `at_rate`.
        levels: whether `video` gives features at the video's own scale; see `levelled`.
        name: the folder's name.
        names: all videos with features or labels, sorted.
        files: the files of each video, whose names may differ a little.
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
        self.levels = False
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
        """Opens the dataset in a folder; `spec` replaces its `dataset.toml`."""
        path = Path(path)
        return cls(path, read_spec(path) if spec is None else spec)

    def at_rate(self, sampling_rate: int) -> Dataset:
        """The same data for a model with another sampling rate; 0 is the dataset's own.

        `spec` stays as it is: timestamps in sub-sampled frames still count at the spec's rate.
        """
        other = copy(self)  # shares what was already read
        other.sampling_rate = sampling_rate or self.spec.sampling_rate
        return other

    def levelled(self) -> Dataset:
        """The same data, with every video at its own scale; see `uvast.data.levelled`."""
        other = copy(self)
        other.levels = True
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
        return read_vocabulary(self, self._on_fault)

    @cached_property
    def splits(self) -> dict[int, Split]:
        """The splits by number; empty if there are none."""
        found = read_splits(self.path / "splits", self._on_fault)
        return {number: matched_split(split, self.known) for number, split in found.items()}

    @property
    def feature_axis(self) -> FeatureAxis:
        """Which axis of the feature files is time: from the spec, else detected from the files."""
        return self._features.axis

    @property
    def n_features(self) -> int:
        """F, the width that most videos have."""
        return self._features.n_features

    @property
    def symmetry(self) -> Symmetry | None:
        """The symmetry that the spec declares, if any, of the features that `video` gives."""
        declared = self.spec.symmetry
        if declared is None:
            return None
        where = self.path / SPEC_FILE
        found = resolved_symmetry(declared, self.n_features, self.vocabulary, where)
        return found.of_levelled if self.levels else found

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
        return self.path / GROUND_TRUTH / f"{self.files.labels.get(name, name)}.txt"

    def has_labels(self, name: str) -> bool:
        """Whether a video, or a sample, has a label file with at least one labelled frame."""
        video = self.video_of(name)
        return video in self.files.labels and not self.labelled.is_empty(video)

    def has_features(self, name: str) -> bool:
        """Whether a video has a feature file."""
        return name in self.files.features

    @cached_property
    def labelled(self) -> Stretches:
        """Which stretches of which videos `labelled.json` says are labelled."""
        spans = read_labelled(self.path, self.known, self._on_fault)
        return Stretches(spans, self.labelled_frames, self.spec.tolerance, self.path)

    def samples(self, name: str) -> tuple[str, ...]:
        """What training sees of a video: the whole of it, or each of its labelled stretches.

        A stretch is called `VIDEO/start:end`; `video`, `timestamps`, `source_frames` and
        `source_labels` give it as if it were a video of its own.
        """
        stretches = self.labelled.of(name)
        return (name,) if stretches is None else tuple(one.name for one in stretches)

    def video_of(self, sample: str) -> str:
        """The video that a sample is taken from."""
        stretch = self.labelled.find(sample)
        return sample if stretch is None else stretch.video

    def video(self, name: str, *, labels: bool = True, sampling_rate: int | None = None) -> Video:
        """One video, or a sample of one; `labels=False` does not read its labels.

        `sampling_rate` is for a model that was trained at another rate than the dataset's. Even
        with `labels=False`, label files are opened to count their lines if neither `feature_axis`
        in dataset.toml nor the shapes of the features show which axis is time.
        """
        self._check_known(self.video_of(name))
        features = whole = self._features.read(self.video_of(name))
        rate = sampling_rate or self.sampling_rate
        if (stretch := self.labelled.find(name)) is not None:
            features = features[stretch.start : stretch.end]
        ids = self.source_labels(name) if labels else None
        n_frames = len(features) if ids is None else len(ids)
        found = Video(
            name,
            features[:n_frames:rate],
            None if ids is None else ids[::rate],
            n_frames,
            rate,
            self.spec.frames_per_second,
            whole=None if n_frames == len(whole) else whole[::rate],
        )
        return found.levelled() if self.levels else found

    def source_frames(self, name: str) -> int:
        """The length of a video or sample at the source rate: of its features, else its labels."""
        if (stretch := self.labelled.find(name)) is not None:
            return stretch.n_frames
        if self.has_features(name):
            return self.source_frames_of_features(name)
        self._check_known(name)
        return len(read_labels(self.labels_path(name)))

    def source_frames_of_features(self, name: str) -> int:
        """The length of a video's features at the source rate."""
        return self._features.n_frames(name)

    def source_labels(self, name: str) -> IntArray:
        """Class ids `(source_frames,)` of a video or a sample at the source rate.

        They are trimmed to the video's features. Frames outside a video's labelled stretches are
        `UNLABELLED`, whatever its label file says there.
        """
        if (stretch := self.labelled.find(name)) is not None:
            return self.source_labels(stretch.video)[stretch.start : stretch.end]
        self._check_known(name)
        path = self.labels_path(name)
        labels = read_labels(path)
        stretches = self.labelled.of(name)
        if stretches is None:
            ids = self.vocabulary.encode(labels, where=str(path))
        else:
            ids = encode_stretches(labels, stretches, self.vocabulary, where=str(path))
        return ids[: self.common_length(name, len(ids))] if self.has_features(name) else ids

    def source_segmentation(self, name: str) -> Segmentation:
        """The ground truth at the source rate, `UNLABELLED` where there is none."""
        return Segmentation.from_labels(self.source_labels(name))

    def timestamps(
        self, path: str | Path | None = None, *, names: Collection[str] | None = None
    ) -> dict[str, Timestamps]:
        """Timestamps by sample, at the model's rate; by default from the dataset's own file.

        `names` limits them to some videos: the labels of others are not looked at. A sample (see
        `samples`) without timestamps is left out. Label files are opened only for timestamps
        without a label (the published files have none), or to find the length of a video without
        features, the time axis (see `video`), or the classes if there is no mapping.txt.
        """
        path = self.timestamps_path if path is None else Path(path)
        annotations = self.annotations(path)
        if not annotations:
            raise no_timestamps(path)
        return {
            sample: timestamps
            for name, entries in annotations.items()
            if names is None or name in names or self.known.find(name) != name  # unknown: raises
            for sample, timestamps in self.resolve_timestamps(name, entries, path).items()
        }

    def annotations(
        self, path: Path, on_fault: OnFault = raise_fault
    ) -> dict[str, tuple[Annotation, ...]]:
        """The content of a timestamps file, by the dataset's names; empty lists are left out."""
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
    ) -> dict[str, Timestamps]:
        """One video's annotations from the file `path`, by sample, at the model's rate."""
        if self.known.find(name) != name:
            raise TimestampError(
                f"names video {name}, which does not exist",
                where=path,
                remedy=self.known.remedy(name, "add its files or remove its timestamps"),
            )
        stretches = self.labelled.of(name)
        resolved = resolve_timestamps(
            name,
            annotations,
            spec=self.spec,
            sampling_rate=self.sampling_rate,
            vocabulary=self.vocabulary,
            source_frames=self.source_frames(name),
            source_labels=lambda: self.source_labels(name),
            where=path,
            stretches=None if stretches is None else [(one.start, one.end) for one in stretches],
        )
        found = zip(self.samples(name), resolved, strict=True)
        return {sample: timestamps for sample, timestamps in found if len(timestamps)}

    def source_timestamps(self, timestamps: Mapping[str, Timestamps]) -> dict[str, Timestamps]:
        """Converts timestamps by sample, at the model's rate, to source frames by video."""
        found: dict[str, list[Timestamps]] = {}
        for sample, one in timestamps.items():
            stretch = self.labelled.find(sample)
            start = 0 if stretch is None else stretch.start
            moved = Timestamps(one.frames * self.sampling_rate + start, one.transcript)
            found.setdefault(self.video_of(sample), []).append(moved)
        return {video: joined_timestamps(parts) for video, parts in found.items()}

    @property
    def timestamps_path(self) -> Path:
        """The dataset's own timestamps file: JSON before CSV before XLSX before a published one."""
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
        """How many source frames a video's labels and features share; records what is trimmed."""
        n_frames = self.source_frames_of_features(name)
        if n_frames == n_labels:
            return n_frames
        if not lengths_agree(n_frames, n_labels, self.spec.tolerance):
            labels, features = self.labels_path(name), self.features_path(name)
            raise misfit(labels, n_labels, features, n_frames, self._features.width(name))
        self.trimmed[name] = (n_frames, n_labels)
        return min(n_frames, n_labels)

    def trim_summary(self) -> str | None:
        """One line about the videos trimmed so far, or None."""
        return trim_note(self.trimmed)

    def partial_summary(self, names: Iterable[str]) -> str | None:
        """One line about those of the videos that are only partly labelled, or None."""
        return partial_note({name: self.labelled.of(name) for name in names}, self.source_frames)

    def _check_known(self, name: str) -> None:
        if name not in self.files.features and name not in self.files.labels:
            raise MissingFileError(
                f"has no video {name}",
                where=self.path,
                remedy=self.known.remedy(name, "check the name of the video"),
            )

    def _n_labels(self, name: str) -> int | None:
        with suppress(DataError):
            return len(read_labels(self.labels_path(name)))
        return None

    def labelled_frames(self, name: str) -> int:
        """How many source frames can have labels; opens the label file to count its lines."""
        if name not in self.files.labels:
            return self.source_frames(name)
        n_labels = len(read_labels(self.labels_path(name)))
        return self.common_length(name, n_labels) if self.has_features(name) else n_labels
