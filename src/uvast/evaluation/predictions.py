"""Prediction files: frame labels (one per line, or as MS-TCN writes them), or tables of segments.

MS-TCN and its successors write a header line that starts with `#`, then all labels on one line,
separated by blanks. Files are called `<video>.txt` or `<video>`; without them, the tables of
segments, `<video>.json` or `<video>.csv`, are read (see `segment_files`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, groupby, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from uvast.data.label_files import write_labels
from uvast.errors import CorruptFileError, LabelError, MissingFileError
from uvast.evaluation.scoring import fit
from uvast.evaluation.segment_files import SUFFIXES, NamedSegments, read_segments
from uvast.files import missing, read_text
from uvast.sampling import sampled_length
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary

_MAX_RATE = 10
"""A higher sampling rate is not a plausible reason for a short prediction."""

_FOLDER = "give the folder that holds the predictions"


def folder_of_split(folder: str | Path, split: int | None) -> Path:
    """Where a split's predictions are: in a folder of their own, else with all others."""
    folder = Path(folder)
    if split is None:
        return folder
    candidates = (folder / f"split{split}", folder / f"split_{split}")
    return next((path for path in candidates if path.is_dir()), folder)


def find_predictions(
    folder: str | Path, videos: Iterable[str], *, tables_first: bool = False
) -> dict[str, Path]:
    """The prediction files of those videos that have one.

    With `tables_first`, tables of segments, which hold confidences, are preferred to frame labels.
    """
    folder = Path(folder)
    if folder.is_file():
        raise MissingFileError("is a file, not a folder", where=folder, remedy=_FOLDER)
    if not folder.is_dir():
        raise missing(folder, remedy=_FOLDER)
    found = {video: _find(folder, video, tables_first=tables_first) for video in videos}
    return {video: paths[0] for video, paths in found.items() if paths}


@dataclass(frozen=True, eq=False)
class Track:
    """A segmentation at the source rate, and the confidence of each segment `(S,)`, 0 to 1."""

    segmentation: Segmentation
    confidences: NDArray[np.float64] | None = None

    @property
    def confidence(self) -> float | None:
        """The mean confidence over all frames."""
        if self.confidences is None:
            return None
        return float(np.average(self.confidences, weights=self.segmentation.durations))

    def first(self, n_frames: int) -> Track:
        """The first `n_frames` frames."""
        cut = fit(self.segmentation, n_frames)
        return Track(cut, None if self.confidences is None else self.confidences[: len(cut)])


def read_prediction(
    path: str | Path,
    classes: Vocabulary,
    *,
    n_frames: int,
    sampling_rate: int = 1,
    untrimmed: Collection[int] = (),
) -> Track:
    """Reads a prediction and brings it to the original frame rate.

    Args:
        path: a file of any format.
        classes: the dataset's classes.
        n_frames: the video's length at the original frame rate.
        sampling_rate: the dataset's; a prediction at the sampled rate is repeated back.
        untrimmed: the lengths of the video's features and labels where these differ and the
            dataset trims them to `n_frames`; a prediction of such a length is trimmed too.
    """
    path = Path(path)
    confidences = None
    if path.suffix in SUFFIXES:
        table, sampling_rate = read_segments(path), 1  # always at the original rate
        actions = [
            classes.id_of(label, where=f"{path}, segment {number}")
            for number, label in enumerate(table.labels, start=1)
        ]
        read, confidences = Segmentation(np.array(actions), table.durations), table.confidences
    else:
        read = Segmentation.from_labels(_read_labels(path, classes))
    for length in (n_frames, *untrimmed):
        restored = _at_source_rate(read, length, sampling_rate)
        if restored is not None:
            return Track(restored, confidences).first(n_frames)
    raise _wrong_length(read, n_frames, sampling_rate, path)


def write_prediction(path: str | Path, segmentation: Segmentation, classes: Vocabulary) -> None:
    """Writes one label per line, as in groundTruth files."""
    runs = map(repeat, classes.decode(segmentation.transcript), segmentation.durations.tolist())
    write_labels(Path(path), chain.from_iterable(runs))


def read_named_segments(path: Path) -> NamedSegments:
    """Reads a prediction of any format unchecked: classes and length are unknown."""
    if path.suffix in SUFFIXES:
        return read_segments(path)
    names, _ = _read_names(path)
    runs = [(name, sum(1 for _ in run)) for name, run in groupby(names)]
    return NamedSegments(tuple(name for name, _ in runs), np.array([n for _, n in runs]))


def _find(folder: Path, video: str, *, tables_first: bool) -> list[Path]:
    """All of a video's files, the preferred one first."""
    frames = [path for path in (folder / f"{video}.txt", folder / video) if path.is_file()]
    if len(frames) > 1:
        raise LabelError(
            f"two predictions of one video: {frames[0].name} and {frames[1].name}",
            where=folder,
            remedy="remove one of them",
        )
    tables = [path for path in (folder / f"{video}{one}" for one in SUFFIXES) if path.is_file()]
    return tables + frames if tables_first else frames + tables


def _at_source_rate(read: Segmentation, n_frames: int, sampling_rate: int) -> Segmentation | None:
    """The segmentation at `n_frames` frames, or None if its length does not fit."""
    if read.n_frames == n_frames:
        return read
    n_sampled = sampled_length(n_frames, sampling_rate)
    # Published code repeats every sampled frame, and does not cut the last one to the video's end.
    if read.n_frames == n_sampled:
        return Segmentation(read.transcript, read.durations * sampling_rate).first(n_frames)
    if read.n_frames == n_sampled * sampling_rate and not (read.ends % sampling_rate).any():
        return read.first(n_frames)
    return None


def _wrong_length(read: Segmentation, n_frames: int, sampling_rate: int, path: Path) -> LabelError:
    n_sampled = sampled_length(n_frames, sampling_rate)
    sampled = f", or {n_sampled} at sampling rate {sampling_rate}" if sampling_rate > 1 else ""
    remedy = "predict one label for every frame"
    rates = range(2, _MAX_RATE + 1)
    rate = next((one for one in rates if _at_source_rate(read, n_frames, one) is not None), None)
    if rate is not None:
        remedy += f", or set sampling_rate = {rate} in dataset.toml if it was made at that rate"
    return LabelError(
        f"holds {read.n_frames} labels, the video has {n_frames} frames{sampled}",
        where=path,
        remedy=remedy,
    )


def _read_labels(path: Path, classes: Vocabulary) -> IntArray:
    names, has_header = _read_names(path, classes.names)
    if not has_header:
        return classes.encode(names, where=str(path))
    try:
        return classes.encode(names)
    except LabelError as error:
        place = next(i for i, name in enumerate(names, 1) if name not in classes.names)
        remedy = error.remedy
        if any(len(name.split()) > 1 for name in classes.names):
            remedy = "write one label per line without a header: some class names contain spaces"
        raise LabelError(
            error.what, where=f"{path}, line 2, label {place}", remedy=remedy
        ) from None


def _read_names(path: Path, known: Collection[str] = ()) -> tuple[list[str], bool]:
    """The label of each frame, and whether there is a header; known names may start with `#`."""
    lines = [line.strip() for line in read_text(path).rstrip().split("\n")]
    if lines == [""]:
        raise LabelError("holds no labels", where=path, remedy="predict the video again")
    if not lines[0].startswith("#") or lines[0] in known:
        if "" in lines:
            raise LabelError(
                "has no label",
                where=f"{path}, line {lines.index('') + 1}",
                remedy="write one label per line",
            )
        return lines, False
    if len(lines) != 2:
        raise CorruptFileError(
            f"has a header and {len(lines) - 1} more lines, not one line of labels",
            where=path,
            remedy="write the labels on the second line, or one per line without a header",
        )
    return lines[1].split(), True
