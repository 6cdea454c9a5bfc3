"""Files of timestamps: readable JSON and CSV, and the published `.npy`."""

from __future__ import annotations

import csv
import io
import json
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uvast.data.faults import raise_fault
from uvast.data.published_timestamps import add_video, read_published
from uvast.data.timestamps import Annotation
from uvast.errors import CorruptFileError, TimestampError
from uvast.files import read_json, read_text, write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from uvast.data.faults import OnFault

    Annotations = dict[str, tuple[Annotation, ...]]


def read_timestamps(
    path: str | Path, on_fault: OnFault = raise_fault
) -> dict[str, tuple[Annotation, ...]]:
    """Annotations by video from `.json`, `.csv` or a published `.npy`, as the file has them.

    `Dataset.timestamps` brings them to the model's rate.

    Args:
        path: the file.
        on_fault: if it does not raise, faulty entries are left out.
    """
    path = Path(path)
    readers: dict[str, Callable[[Path, OnFault], Annotations]] = {
        ".json": _read_json,
        ".csv": _read_csv,
        ".npy": _read_npy,
    }
    if path.suffix not in readers:
        raise TimestampError(
            "is of no known timestamp format", where=path, remedy="use .json, .csv or .npy"
        )
    return readers[path.suffix](path, on_fault)


def write_timestamps(path: Path, annotations: Mapping[str, Sequence[Annotation]]) -> None:
    """Writes `.json` or `.csv`, one annotation a line."""
    if path.suffix == ".json":
        text = _to_json(annotations)
    elif path.suffix == ".csv":
        text = _to_csv(annotations, path)
    else:
        raise TimestampError(
            "is of no timestamp format that can be written", where=path, remedy="use .json or .csv"
        )
    write_text(path, text)


def timestamps_files(folder: Path) -> list[Path]:
    """A dataset's own timestamps, the file that counts first: JSON, CSV, a published one."""
    own = [folder / f"timestamps.{suffix}" for suffix in ("json", "csv")]
    return [path for path in own if path.exists()] + sorted(folder.glob("*_annotation_all.npy"))


def ignored_timestamps(folder: Path) -> str | None:
    """One line about a dataset's timestamps that another file comes before, or None."""
    names = [path.name for path in timestamps_files(folder)]
    if len(names) < 2:
        return None
    verb = "is" if len(names) == 2 else "are"
    return f"{', '.join(names[1:])} {verb} ignored, {names[0]} comes first"


def no_timestamps(path: Path) -> TimestampError:
    """For a file that is well-formed and empty."""
    return TimestampError("holds no timestamps", where=path, remedy="annotate at least one frame")


def _read_npy(path: Path, on_fault: OnFault) -> Annotations:
    return {
        name: tuple(Annotation(frame=frame) for frame in frames)
        for name, frames in read_published(path, on_fault).items()
    }


def _read_json(path: Path, on_fault: OnFault) -> Annotations:
    try:
        table = read_json(path)
    except CorruptFileError as error:
        raise TimestampError(error.what, where=path, remedy=error.remedy) from error
    if not isinstance(table, dict):
        raise _not_timestamps(path, "is no object of videos")
    found: Annotations = {}
    for key, entries in table.items():
        place = f"{path}, video {key.removesuffix('.txt')}"
        if not isinstance(entries, list):
            on_fault(_not_timestamps(place, "has no list of timestamps"))
            continue
        faulty = [entry for entry in entries if not _is_annotation(entry)]
        for entry in faulty:
            on_fault(_not_timestamps(place, f"{json.dumps(entry)} is no timestamp"))
        if not faulty:
            add_video(found, key, tuple(Annotation(**entry) for entry in entries), path, on_fault)
    return found


def _is_annotation(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    frame, time, label = entry.get("frame"), entry.get("time"), entry.get("label")
    return (
        set(entry) <= {"frame", "time", "label"}
        and (frame is None) != (time is None)
        and (frame is None or type(frame) is int)
        and (time is None or type(time) in (int, float))
        and (label is None or isinstance(label, str))
    )


def _read_csv(path: Path, on_fault: OnFault) -> Annotations:
    text = read_text(path)
    separator = ";" if ";" in text.partition("\n")[0] else ","  # spreadsheets of many countries
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
    except csv.Error as error:
        raise _no_csv(path, f"cannot be read as CSV ({error})") from error
    header = [cell.strip() for cell in rows[0]] if rows else []
    if header not in (["video", "frame", "label"], ["video", "time", "label"]):
        raise _no_csv(path, f"starts with {separator.join(header)!r}" if header else "is empty")
    found: dict[str, list[Annotation]] = {}
    faulty: set[str] = set()
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        name = row[0].strip().removesuffix(".txt")
        try:
            entry = _from_cells(header[1], row, f"{path}, line {number}")
        except TimestampError as error:
            on_fault(error)
            faulty.add(name)
        else:
            found.setdefault(name, []).append(entry)
    return {name: tuple(entries) for name, entries in found.items() if name not in faulty}


def _from_cells(column: str, row: Sequence[str], place: str) -> Annotation:
    if len(row) != 3:
        raise _no_csv(place, f"{','.join(row)!r} has {len(row)} columns, not 3")
    value, label = row[1].strip().replace(",", "."), row[2].strip() or None
    try:
        if column == "frame":
            return Annotation(frame=int(value), label=label)
        return Annotation(time=float(value), label=label)
    except ValueError:
        raise _no_csv(place, f"{reprlib.repr(value)} is no {column}") from None


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


def _no_csv(where: str | Path, what: str) -> TimestampError:
    remedy = "write 'video,frame,label' or 'video,time,label' first, then a line a timestamp"
    return TimestampError(what, where=where, remedy=remedy)


def _not_timestamps(where: str | Path, what: str) -> TimestampError:
    return TimestampError(
        what, where=where, remedy='write timestamps as in {"video": [{"frame": 12, "label": "a"}]}'
    )
