"""Timestamps: annotated frames, read from three formats and brought to the model's rate.

Rules: a video's timestamps are in order, one frame each, inside of the video. Several timestamps
with one label in one run of an action are kept as given, each its own entry. Frames between
timestamps need no label.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uvast.data.published_timestamps import read_published
from uvast.errors import CorruptFileError, TimestampError, UvastError
from uvast.files import read_json, read_text, write_text
from uvast.segments import check_timestamps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from uvast.data.spec import DatasetSpec
    from uvast.segments import IntArray
    from uvast.vocabulary import Vocabulary


@dataclass(frozen=True)
class Annotation:
    """One annotated frame as a file has it: a frame number or a time, and mostly a label.

    Args:
        frame: the frame's number, from 0; None if `time` is given.
        time: seconds from the start; None if `frame` is given.
        label: the class name; None in the published files, which leave it to the ground truth.
    """

    frame: int | None = None
    time: float | None = None
    label: str | None = None


@dataclass(frozen=True, eq=False)
class Timestamps:
    """A video's annotated frames at the model's rate.

    Args:
        frames: frame indices `(S,)`, increasing.
        transcript: the class id of each `(S,)`.
    """

    frames: IntArray
    transcript: IntArray

    def __eq__(self, other: object) -> bool:
        """Equal frames with equal classes."""
        if not isinstance(other, Timestamps):
            return NotImplemented
        return np.array_equal(self.frames, other.frames) and np.array_equal(
            self.transcript, other.transcript
        )

    def __hash__(self) -> int:
        """A hash that agrees with equality."""
        return hash((self.frames.tobytes(), self.transcript.tobytes()))

    def __len__(self) -> int:
        """S."""
        return len(self.frames)


def read_timestamps(path: Path) -> dict[str, tuple[Annotation, ...]]:
    """Annotations by video from `.json`, `.csv` or a published `.npy`, as the file has them.

    `Dataset.timestamps` brings them to the model's rate.
    """
    readers: dict[str, Callable[[Path], dict[str, tuple[Annotation, ...]]]] = {
        ".json": _read_json,
        ".csv": _read_csv,
        ".npy": _read_npy,
    }
    if path.suffix not in readers:
        raise TimestampError(
            "is of no known timestamp format", where=path, remedy="use .json, .csv or .npy"
        )
    return readers[path.suffix](path)


def write_timestamps(
    path: Path, annotations: Mapping[str, Sequence[Annotation]], *, overwrite: bool = True
) -> None:
    """Writes `.json` or `.csv`, one annotation a line."""
    if path.suffix == ".json":
        text = _to_json(annotations)
    elif path.suffix == ".csv":
        text = _to_csv(annotations, path)
    else:
        raise TimestampError(
            "is of no timestamp format that can be written", where=path, remedy="use .json or .csv"
        )
    write_text(path, text, overwrite=overwrite)


def annotate(
    timestamps: Timestamps, vocabulary: Vocabulary, *, sampling_rate: int = 1
) -> tuple[Annotation, ...]:
    """Timestamps in the form of a file; `sampling_rate` brings them back to the source rate."""
    labels = vocabulary.decode(timestamps.transcript.tolist())
    return tuple(
        Annotation(frame=frame * sampling_rate, label=label)
        for frame, label in zip(timestamps.frames.tolist(), labels, strict=True)
    )


def resolve_timestamps(
    video: str,
    annotations: Sequence[Annotation],
    *,
    spec: DatasetSpec,
    vocabulary: Vocabulary,
    source_frames: int | None,
    source_labels: Callable[[], IntArray],
    where: Path | None = None,
) -> Timestamps:
    """Annotations of one video to frames and class ids at the model's rate.

    Args:
        video: its name, for errors.
        annotations: as read from a file.
        spec: gives the rates.
        vocabulary: gives the class ids.
        source_frames: the video's length at the source rate; None leaves the ends unchecked.
        source_labels: reads the ground truth; called only if an annotation has no label.
        where: the file, for errors.
    """
    rate = spec.sampling_rate
    unit = rate if spec.timestamps_rate == "sampled" else 1
    place = f"{where}, video {video}" if where else f"video {video}"
    source = np.array(
        [_source_frame(entry, spec, unit, place) for entry in annotations], dtype=np.int64
    )
    truth = source_labels() if any(entry.label is None for entry in annotations) else None
    end = int(source.max(initial=0)) + 1 if source_frames is None else source_frames
    if truth is not None:
        end = min(end, len(truth))
    try:
        for step in (unit, rate):
            check_timestamps(source // step, -(-end // step))
    except UvastError as error:
        raise TimestampError(error.what, where=place, remedy=error.remedy) from None
    ids = [
        int(truth[frame])
        if truth is not None and entry.label is None
        else vocabulary.id_of(entry.label or "", where=place)
        for entry, frame in zip(annotations, source.tolist(), strict=True)
    ]
    return Timestamps(source // rate, np.array(ids, dtype=np.int64))


def _source_frame(entry: Annotation, spec: DatasetSpec, unit: int, place: str) -> int:
    if entry.frame is not None:
        return entry.frame * unit
    if spec.frames_per_second is None:
        raise TimestampError(
            "a time in seconds, and the frame rate is unknown",
            where=place,
            remedy="set frames_per_second in dataset.toml",
        )
    if entry.time is None or not math.isfinite(entry.time):
        raise TimestampError("neither a frame nor a time", where=place, remedy="give one of them")
    # 0.1 s at 30 frames a second is frame 3, although 0.1 * 30 may be stored a little below 3
    return math.floor(entry.time * spec.frames_per_second + 1e-6)


def _read_npy(path: Path) -> dict[str, tuple[Annotation, ...]]:
    return {
        name: tuple(Annotation(frame=frame) for frame in frames)
        for name, frames in read_published(path).items()
    }


def _read_json(path: Path) -> dict[str, tuple[Annotation, ...]]:
    try:
        table = read_json(path)
    except CorruptFileError as error:
        raise TimestampError(error.what, where=path, remedy=error.remedy) from error
    if not isinstance(table, dict):
        raise _not_timestamps(path, "is no object of videos")
    found: dict[str, tuple[Annotation, ...]] = {}
    for name, entries in table.items():
        if not isinstance(entries, list):
            raise _not_timestamps(f"{path}, video {name}", "has no list of timestamps")
        found[name] = tuple(_from_json(entry, f"{path}, video {name}") for entry in entries)
    return found


def _from_json(entry: Any, place: str) -> Annotation:
    if not isinstance(entry, dict):
        raise _not_timestamps(place, f"{entry!r} is no timestamp")
    frame, time, label = entry.get("frame"), entry.get("time"), entry.get("label")
    right = (
        set(entry) <= {"frame", "time", "label"}
        and (frame is None) != (time is None)
        and (frame is None or type(frame) is int)
        and (time is None or type(time) in (int, float))
        and (label is None or isinstance(label, str))
    )
    if not right:
        raise _not_timestamps(place, f"{json.dumps(entry)} is no timestamp")
    return Annotation(frame, time, label)


def _read_csv(path: Path) -> dict[str, tuple[Annotation, ...]]:
    try:
        rows = list(csv.reader(io.StringIO(read_text(path)), strict=True))
    except (csv.Error, CorruptFileError) as error:
        raise _not_timestamps(path, "cannot be read as CSV") from error
    header = [cell.strip() for cell in rows[0]] if rows else []
    if header not in (["video", "frame", "label"], ["video", "time", "label"]):
        raise _not_timestamps(path, "does not start with 'video,frame,label' or 'video,time,label'")
    found: dict[str, list[Annotation]] = {}
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        place = f"{path}, line {number}"
        if len(row) != 3:
            raise _not_timestamps(place, f"{','.join(row)!r} has {len(row)} columns, not 3")
        name, value, label = (cell.strip() for cell in row)
        found.setdefault(name.removesuffix(".txt"), []).append(
            _from_cells(header[1], value, label or None, place)
        )
    return {name: tuple(entries) for name, entries in found.items()}


def _from_cells(column: str, value: str, label: str | None, place: str) -> Annotation:
    try:
        if column == "frame":
            return Annotation(frame=int(value), label=label)
        return Annotation(time=float(value), label=label)
    except ValueError:
        raise _not_timestamps(place, f"{value!r} is no {column}") from None


def _to_json(annotations: Mapping[str, Sequence[Annotation]]) -> str:
    videos = []
    for name, entries in annotations.items():
        lines = ",\n".join(f"    {json.dumps(_filled(e), ensure_ascii=False)}" for e in entries)
        body = f"[\n{lines}\n  ]" if entries else "[]"
        videos.append(f"  {json.dumps(name, ensure_ascii=False)}: {body}")
    return "{\n" + ",\n".join(videos) + "\n}\n"


def _filled(entry: Annotation) -> dict[str, object]:
    return {key: value for key, value in vars(entry).items() if value is not None}


def _to_csv(annotations: Mapping[str, Sequence[Annotation]], path: Path) -> str:
    columns = {
        "time" if entry.frame is None else "frame"
        for entries in annotations.values()
        for entry in entries
    }
    if len(columns) > 1:
        raise TimestampError(
            "frames and times cannot share one CSV file", where=path, remedy="write .json"
        )
    column = columns.pop() if columns else "frame"
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["video", column, "label"])
    for name, entries in annotations.items():
        for entry in entries:
            writer.writerow([name, getattr(entry, column), entry.label or ""])
    return stream.getvalue()


def _not_timestamps(where: str | Path, what: str) -> TimestampError:
    return TimestampError(
        what, where=where, remedy='write timestamps as in {"video": [{"frame": 12, "label": "a"}]}'
    )
