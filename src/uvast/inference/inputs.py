"""What to segment: a dataset, feature files, or folders of them."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uvast.data import Dataset, Video
from uvast.data.feature_files import check_finite, map_features, read_header
from uvast.errors import DataError, FeatureError, InputError
from uvast.features.card import card_path, read_card
from uvast.files import is_present, missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from uvast.data.spec import FeatureAxis


@dataclass(frozen=True)
class DatasetVideo:
    """A video of a dataset, at the model's rate, whatever the dataset's own rate."""

    dataset: Dataset
    name: str
    sampling_rate: int

    @property
    def path(self) -> Path:
        """The file of its features."""
        return self.dataset.features_path(self.name)

    def n_frames(self) -> int:
        """Its length at the source rate, from the file's header."""
        return self.dataset.source_frames(self.name)

    def read(self) -> Video:
        """Its features; labels are not needed."""
        video = self.dataset.video(self.name, labels=False, sampling_rate=1)
        return _timed(_at_rate(video, self.sampling_rate), self.path)


@dataclass(frozen=True)
class FeatureFile:
    """A .npy file, `[T x F]` or `[F x T]`; for a square one, the time axis has to be known."""

    path: Path
    n_features: int
    sampling_rate: int
    square_axis: FeatureAxis | None = None

    @property
    def name(self) -> str:
        """The file's stem."""
        return self.path.stem

    def n_frames(self) -> int:
        """Its length at the source rate, from the file's header."""
        return read_header(self.path).n_frames(self.axis())

    def read(self) -> Video:
        """Its features, a view of the file where possible."""
        features = map_features(self.path, self.axis())
        return _timed(video_of_array(features, self.sampling_rate, path=self.path), self.path)

    def axis(self) -> FeatureAxis:
        """Which axis is time: the one whose size is not the model's width."""
        shape = read_header(self.path).shape
        if self.n_features not in shape:
            raise FeatureError(
                f"features of shape {shape}",
                where=self.path,
                remedy=f"the model wants {self.n_features} features per frame",
            )
        if shape[0] != shape[1]:
            return "time-first" if shape[1] == self.n_features else "features-first"
        if is_present(card_path(self.path)):
            return "time-first"  # as extracted features are
        if self.square_axis is None:
            raise FeatureError(
                f"features of shape {shape[0]}x{shape[1]} do not show which axis is time",
                where=self.path,
                remedy="segment it together with other files of its kind, "
                "or pass the array (T, F) from Python",
            )
        return self.square_axis


Source = DatasetVideo | FeatureFile
"""A video to segment, not read yet."""


def find_sources(
    paths: Sequence[Path],
    *,
    n_features: int,
    sampling_rate: int,
    split: int | None = None,
    to_come: Sequence[Path] = (),
) -> tuple[Source, ...]:
    """All videos in datasets (folders with `features/`), folders of .npy files, or .npy files.

    With a `split`, only the test side of a dataset. Width and rate are those of the model. Files
    `to_come` need not exist yet.
    """
    sources: list[Source] = []
    files = [FeatureFile(file, n_features, sampling_rate) for file in to_come]
    for path in paths:
        if (path / "features").is_dir():
            dataset = Dataset.open(path)
            names = dataset.side(split, "test")
            sources += [DatasetVideo(dataset, name, sampling_rate) for name in names]
        else:
            files += [FeatureFile(file, n_features, sampling_rate) for file in _files(path)]
    if split is not None and files:
        raise InputError(
            f"--split {split} needs a dataset",
            where=files[0].path,
            remedy="leave --split out, or name a folder with features/ and splits/",
        )
    sources += _settled(files)
    twice = [name for name, count in Counter(s.name for s in sources).items() if count > 1]
    if twice:
        raise InputError(
            f"two inputs are named {twice[0]}", remedy="segment them into different folders"
        )
    return tuple(sources)


def video_of_array(
    features: ArrayLike, sampling_rate: int = 1, *, path: Path = Path("features")
) -> Video:
    """Features `(T, F)` at the source rate, checked, as a video at the model's rate."""
    values = np.asarray(features, dtype=np.float32)
    if values.ndim != 2 or not len(values):
        raise FeatureError(
            f"features of shape {values.shape}",
            where=path,
            remedy="the model wants (T, F) with at least one frame",
        )
    check_finite(values, path)
    return _at_rate(Video(path.stem, values, None, len(values)), sampling_rate)


def _at_rate(video: Video, rate: int) -> Video:
    """A video at its source rate, reduced to the rate of a model."""
    if rate == 1:
        return video
    source = video.features
    return replace(video, features=source[::rate], sampling_rate=rate, source_features=source)


def _timed(video: Video, features: Path) -> Video:
    """The same video with the times of its frames, if a card beside its features has them."""
    path = card_path(features)
    if not is_present(path):
        return video
    card = read_card(path)
    if card.n_frames != video.source_frames:
        raise FeatureError(
            f"lists {card.n_frames} frames, but the features have {video.source_frames}",
            where=path,
            remedy="extract the features of this video again with --overwrite",
        )
    rate = card.mean_rate or video.frames_per_second
    return replace(video, frames_per_second=rate, edges=card.edges)


def _settled(files: list[FeatureFile]) -> list[FeatureFile]:
    """Gives square files the time axis of the others, if these agree."""
    axes: set[FeatureAxis] = set()
    for file in files:
        with suppress(DataError):  # reported when its turn comes
            axes.add(file.axis())
    return [replace(file, square_axis=min(axes)) for file in files] if len(axes) == 1 else files


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise missing(path)
    found = sorted(path.glob("[!.]*.npy")) if path.is_dir() else [path]  # macOS adds ._video.npy
    if not found:
        raise InputError(
            "holds no .npy files",
            where=path,
            remedy="name a folder of feature files or of videos, or a dataset",
        )
    return found
