"""Files of timestamps: readable JSON and tables, and the published `.npy`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from uvast.data.click_tables import TABLES, read_clicks
from uvast.data.faults import raise_fault
from uvast.data.pickled_timestamps import read_pickled
from uvast.data.timestamps import Annotation
from uvast.errors import TimestampError
from uvast.files import checked, is_present, read_json, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from uvast.data.faults import OnFault

    Annotations = dict[str, tuple[Annotation, ...]]

_FORM = 'write timestamps as in {"video": [{"frame": 12, "label": "a"}]}'


def read_timestamps(path: str | Path, on_fault: OnFault = raise_fault) -> Annotations:
    """Annotations by video from JSON, a table (CSV, TSV, XLSX) or a published `.npy`.

    They are as written in the file; `Dataset.timestamps` brings them to the model's rate. If
    `on_fault` does not raise, faulty entries are left out.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _read_json(path, on_fault)
    if suffix in TABLES:
        return read_clicks(path, on_fault)
    if suffix == ".npy":
        return {
            name: tuple(Annotation(frame=frame) for frame in frames)
            for name, frames in read_pickled(path, on_fault).items()
        }
    raise TimestampError(
        "is not a known kind of timestamps file",
        where=path,
        remedy=f"use .json, {', '.join(TABLES)} or .npy",
    )


def write_timestamps(path: Path, annotations: Mapping[str, Sequence[Annotation]]) -> None:
    """Writes `.json` or `.csv`, one annotation per line."""
    if path.suffix == ".json":
        text = timestamps_json(annotations)
    elif path.suffix == ".csv":
        text = _to_csv(annotations, path)
    else:
        raise TimestampError(
            "is not a kind of timestamps file that can be written",
            where=path,
            remedy="use .json or .csv",
        )
    write_text(path, text)


def timestamps_files(folder: Path) -> list[Path]:
    """A dataset's own timestamps files; the first one counts: JSON, tables, published ones."""
    own = [folder / f"timestamps{suffix}" for suffix in (".json", *TABLES)]
    published = sorted(folder.glob("[!.]*_annotation_all.npy"))
    return [path for path in own if is_present(path)] + published


def ignored_timestamps(folder: Path) -> str | None:
    """One line about timestamps files that are ignored in favour of another, or None."""
    names = [path.name for path in timestamps_files(folder)]
    if len(names) < 2:
        return None
    verb = "is" if len(names) == 2 else "are"
    return f"{', '.join(names[1:])} {verb} ignored, {names[0]} comes first"


def no_timestamps(path: Path) -> TimestampError:
    """The error for a file that is well-formed but empty."""
    return TimestampError("holds no timestamps", where=path, remedy="annotate at least one frame")


def _read_json(path: Path, on_fault: OnFault) -> Annotations:
    table = read_json(path, error=TimestampError)
    if not isinstance(table, dict):
        raise TimestampError("is not a JSON object of videos", where=path, remedy=_FORM)
    found: Annotations = {}
    for key, entries in table.items():
        name = key.removesuffix(".txt")
        place = f"{path}, video {name}"
        if name in found:
            what = f"names video {name} twice, with and without .txt"
            on_fault(TimestampError(what, where=path, remedy="write its timestamps in one list"))
        elif not isinstance(entries, list):
            on_fault(TimestampError("has no list of timestamps", where=place, remedy=_FORM))
        else:
            annotations = [_annotation(entry, place, on_fault) for entry in entries]
            if None not in annotations:
                found[name] = tuple(entry for entry in annotations if entry is not None)
    return found


def _annotation(entry: object, place: str, on_fault: OnFault) -> Annotation | None:
    try:
        read = checked(
            entry, Annotation, name="timestamp", where=place, error=TimestampError, remedy=_FORM
        )
    except TimestampError as fault:
        on_fault(fault)
        return None
    if (read.frame is None) == (read.time is None):
        what = f"{json.dumps(entry)} needs either a frame or a time"
        on_fault(TimestampError(what, where=place, remedy=_FORM))
        return None
    return read


def timestamps_json(annotations: Mapping[str, Sequence[Annotation]]) -> str:
    """The text of `timestamps.json`, one annotation per line."""
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
