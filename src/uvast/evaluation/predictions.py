"""Prediction files: one label a line, or the recognition format of MS-TCN and its successors.

The recognition format has a header line that starts with `#`, then all labels on one line,
separated by blanks. Files are called `<video>.txt` or `<video>`.
"""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data.label_files import write_labels
from uvast.errors import CorruptFileError, LabelError, MissingFileError
from uvast.files import missing, read_text
from uvast.segments import Segmentation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary


_MAX_RATE = 10
"""A higher sampling rate is no plausible reason for a short prediction."""

_FOLDER = "give the folder that holds the predictions"


def folder_of_split(folder: str | Path, split: int | None) -> Path:
    """Where a split's predictions lie: in a folder of their own, else beside all others."""
    folder = Path(folder)
    if split is None:
        return folder
    candidates = (folder / f"split{split}", folder / f"split_{split}")
    return next((path for path in candidates if path.is_dir()), folder)


def find_predictions(folder: str | Path, videos: Iterable[str]) -> dict[str, Path | None]:
    """Each video's prediction file, None where there is none."""
    folder = Path(folder)
    if folder.is_file():
        raise MissingFileError("is a file, not a folder", where=folder, remedy=_FOLDER)
    if not folder.is_dir():
        raise missing(folder, remedy=_FOLDER)
    return {video: _find(folder, video) for video in videos}


def read_prediction(
    path: str | Path,
    classes: Vocabulary,
    *,
    n_frames: int,
    sampling_rate: int = 1,
    untrimmed: Collection[int] = (),
) -> Segmentation:
    """A prediction at the original frame rate.

    Args:
        path: a file of either format.
        classes: the dataset's classes.
        n_frames: the video's length at the original frame rate.
        sampling_rate: the dataset's; a prediction at the sampled rate is repeated back.
        untrimmed: the lengths of the video's features and labels where these differ and the
            dataset trims them to `n_frames`; a prediction of such a length is trimmed alike.
    """
    path = Path(path)
    labels = _read_labels(path, classes)
    for length in (n_frames, *untrimmed):
        restored = _at_source_rate(labels, length, sampling_rate)
        if restored is not None:
            return Segmentation.from_labels(restored[:n_frames])
    raise _wrong_length(len(labels), n_frames, sampling_rate, path)


def write_prediction(path: str | Path, segmentation: Segmentation, classes: Vocabulary) -> None:
    """Writes one label a line, the form that groundTruth files have too."""
    runs = map(repeat, classes.decode(segmentation.transcript), segmentation.durations.tolist())
    write_labels(Path(path), chain.from_iterable(runs))


def _find(folder: Path, video: str) -> Path | None:
    found = [path for path in (folder / f"{video}.txt", folder / video) if path.is_file()]
    if len(found) > 1:
        raise LabelError(
            f"two predictions of one video: {found[0].name} and {found[1].name}",
            where=folder,
            remedy="remove one of them",
        )
    return found[0] if found else None


def _at_source_rate(labels: IntArray, n_frames: int, sampling_rate: int) -> IntArray | None:
    """Labels `(n_frames,)`, or None if these are not the labels of so many frames."""
    if len(labels) == n_frames:
        return labels
    n_sampled = -(-n_frames // sampling_rate)
    if len(labels) == n_sampled:
        return Segmentation.from_labels(labels).upsampled(sampling_rate, n_frames).labels
    # Published code repeats every sampled frame and does not cut the last one to the video's end.
    if len(labels) == n_sampled * sampling_rate:
        repeats = labels.reshape(n_sampled, sampling_rate)
        return labels[:n_frames] if (repeats == repeats[:, :1]).all() else None
    return None


def _wrong_length(n_labels: int, n_frames: int, sampling_rate: int, path: Path) -> LabelError:
    n_sampled = -(-n_frames // sampling_rate)
    sampled = f", or {n_sampled} at sampling rate {sampling_rate}" if sampling_rate > 1 else ""
    remedy = "predict one label for every frame"
    rate = -(-n_frames // n_labels)
    if 1 < rate <= _MAX_RATE and -(-n_frames // rate) == n_labels:
        remedy += f", or set sampling_rate = {rate} in dataset.toml if it was made at that rate"
    return LabelError(
        f"holds {n_labels} labels, the video has {n_frames} frames{sampled}",
        where=path,
        remedy=remedy,
    )


def _read_labels(path: Path, classes: Vocabulary) -> IntArray:
    lines = [line.strip() for line in read_text(path).rstrip().split("\n")]
    if lines == [""]:
        raise LabelError("holds no labels", where=path, remedy="predict the video again")
    has_header = lines[0].startswith("#") and lines[0] not in classes.names
    if not has_header:
        return classes.encode(lines, where=str(path))
    if len(lines) != 2:
        raise CorruptFileError(
            f"has a header and {len(lines) - 1} more lines, not one line of labels",
            where=path,
            remedy="write the labels on the second line, or one a line without a header",
        )
    labels = lines[1].split()
    try:
        return classes.encode(labels)
    except LabelError as error:
        place = next(i for i, label in enumerate(labels, 1) if label not in classes.names)
        remedy = error.remedy
        if any(len(name.split()) > 1 for name in classes.names):
            remedy = "write one label a line without a header: class names here have blanks"
        raise LabelError(
            error.what, where=f"{path}, line 2, label {place}", remedy=remedy
        ) from None
