"""VIA 3 (VGG Video Annotator): its project JSON and its CSV exports, times in seconds.

Parsed by hand with typed records: the tool runs in a browser page and has no library.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from uvast.exchange.csv_rows import csv_text
from uvast.exchange.records import VideoAnnotations
from uvast.exchange.source import Reading, Written, counted
from uvast.exchange.video_paths import file_name
from uvast.files import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from uvast.exchange.records import Event
    from uvast.exchange.source import Source, Target

TIER = "TEMPORAL-SEGMENTS"
"""VIA's own attribute for segments; events without a tier go there."""

_REMEDY = "save the project again with VIA 3"
_HEADER = "# CSV_HEADER = "
_SEGMENTS = ["metadata_id", "file_list", "temporal_segment_start", "temporal_segment_end"]
_SELECT = 4


class _Record(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)


class _Attribute(_Record):
    aname: str
    options: dict[str, str] = {}


class _File(_Record):
    fname: str = ""
    src: str = ""


class _View(_Record):
    fid_list: list[int | str] = []


class _Metadata(_Record):
    vid: int | str
    z: Annotated[list[float], Field(max_length=100_000)] = []
    xy: list[float] = []
    av: dict[str, Any] = {}


class _Attributes(_Record):
    attribute: dict[str, _Attribute]


class _Project(_Record):
    attribute: dict[str, _Attribute]
    file: dict[str, _File]
    view: dict[str, _View]
    metadata: dict[str, _Metadata]


def recognise_json(source: Source) -> bool:
    """Whether the file is JSON with VIA 3's keys."""
    keys = ('"attribute"', '"metadata"', '"view"', '"file"')
    return source.head.lstrip()[:1] == "{" and all(key in source.text for key in keys)


def recognise_csv(source: Source) -> bool:
    """Whether the file has VIA's commented header."""
    return _HEADER + "metadata_id" in source.head


def read_json(source: Source) -> Reading:
    """Reads all segments and moments; each attribute is a tier."""
    project = source.checked(_Project, source.json(), _REMEDY)
    names = {}
    for vid, view in project.view.items():
        files = [project.file.get(str(fid)) for fid in view.fid_list]
        paths = [file.fname or file.src for file in files if file is not None]
        names[vid] = paths[0] if paths and file_name(paths[0]) else f"view {vid}"
    events: dict[str, list[Event]] = {name: [] for name in names.values()}
    warnings: list[str] = []
    for key, one in project.metadata.items():
        video = names.get(str(one.vid))
        if video is None:
            raise source.fault(f"view {one.vid!r} does not exist", f"metadata {key}", _REMEDY)
        found = _events(source, f"metadata {key}", one, project.attribute, warnings)
        events[video] += found
    videos = [VideoAnnotations(path, tuple(found)) for path, found in events.items()]
    return Reading(source.by_video(videos), counted(warnings))


def _events(
    source: Source,
    spot: str,
    one: _Metadata,
    attributes: Mapping[str, _Attribute],
    warnings: list[str],
) -> Iterator[Event]:
    if one.xy:
        warnings.append("regions of the picture are left out")
        return
    if not 1 <= len(one.z) <= 2:
        warnings.append("values of a whole file, without a time, are left out")
        return
    start, end = one.z[0], one.z[1] if len(one.z) == 2 else None
    for aid, value in one.av.items():
        attribute = attributes.get(aid, _Attribute(aname=aid))
        # a checkbox lists several options, split by commas; a text is its own value
        chosen = [attribute.options.get(part) for part in str(value).split(",")]
        for label in chosen if all(chosen) else [str(value)]:
            if not label or not label.strip():
                warnings.append(f"{attribute.aname}: a segment without a value is left out")
                continue
            tier = "" if attribute.aname == TIER else attribute.aname
            yield source.event(spot, label, start, end, tier=tier)


def read_csv(source: Source) -> Reading:
    """Reads either export: temporal segments, or all metadata with options by number."""
    columns: list[str] = []
    attributes: dict[str, _Attribute] = {}
    body: list[str] = []
    numbers: list[int] = []
    for number, line in source.lines():
        if line.startswith(_HEADER):
            columns = [name.strip() for name in line.removeprefix(_HEADER).split(",")]
        elif line.startswith("# ATTRIBUTE = "):
            values = parse_json(line.removeprefix("# ATTRIBUTE = "), source.place)
            attributes = source.checked(_Attributes, {"attribute": values}, _REMEDY).attribute
        elif line.strip() and not line.startswith("#"):
            body.append(f"{line}\n")
            numbers.append(number)
    events: dict[str, list[Event]] = {}
    warnings: list[str] = []
    rows = csv.reader(body, strict=True)
    try:
        for number, cells in zip(numbers, rows, strict=False):
            spot = f"line {number}"
            if len(cells) != len(columns):
                raise source.fault(f"has {len(cells)} columns, not {len(columns)}", spot, _REMEDY)
            video, one = _from_cells(source, spot, dict(zip(columns, cells, strict=True)))
            found = _events(source, spot, one, attributes, warnings)
            events.setdefault(video, []).extend(found)
    except csv.Error as error:
        raise source.fault(f"cannot be read as CSV ({error})", None, _REMEDY) from None
    videos = [VideoAnnotations(path, tuple(found)) for path, found in events.items()]
    return Reading(source.by_video(videos), counted(warnings))


def _from_cells(source: Source, spot: str, row: Mapping[str, str]) -> tuple[str, _Metadata]:
    if "file_list" not in row:
        raise source.fault("the header has no column file_list", spot, _REMEDY)
    files = parse_json(row["file_list"], f"{source.place}, {spot}")
    path = str(files[0]) if isinstance(files, list) and files else ""
    if "temporal_coordinates" in row:
        z = parse_json(row["temporal_coordinates"], f"{source.place}, {spot}")
        xy = parse_json(row.get("spatial_coordinates") or "[]", f"{source.place}, {spot}")
    else:
        times = (row.get("temporal_segment_start"), row.get("temporal_segment_end"))
        z, xy = [time for time in times if time and time != "undefined"], []
    av = parse_json(row.get("metadata") or "{}", f"{source.place}, {spot}")
    value = {"vid": 0, "z": z, "xy": xy, "av": av}
    video = path if file_name(path) else source.video
    return video, source.checked(_Metadata, value, f"{_REMEDY} ({spot})")


def write_json(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes a project; each tier is an attribute whose options are its labels."""
    tiers = sorted({event.tier for video in videos for event in video.events}) or [""]
    aids = {tier: str(n) for n, tier in enumerate(tiers, start=1)}
    options = {
        tier: sorted({e.label for v in videos for e in v.events if e.tier == tier})
        for tier in tiers
    }
    numbers = {
        (tier, label): str(n) for tier in tiers for n, label in enumerate(options[tier], start=1)
    }
    ids = {video.video: str(n) for n, video in enumerate(videos, start=1)}
    metadata = {
        f"{ids[video.video]}_u{n}": {
            "vid": ids[video.video],
            "flg": 0,
            "z": [event.start] if event.end is None else [event.start, event.end],
            "xy": [],
            "av": {aids[event.tier]: numbers[event.tier, event.label]},
        }
        for video in videos
        for n, event in enumerate(video.events, start=1)
    }
    project = {
        "project": {
            "pid": "__VIA_PROJECT_ID__",
            "rev": "__VIA_PROJECT_REV_ID__",
            "rev_timestamp": "__VIA_PROJECT_REV_TIMESTAMP__",
            "pname": "uvast",
            "creator": "uvast",
            "created": 0,
            "data_format_version": "3.1.1",
            "vid_list": list(ids.values()),
        },
        "config": {"file": {"loc_prefix": {"1": "", "2": "", "3": "", "4": ""}}, "ui": {}},
        "attribute": {aids[tier]: _attribute(tier, options[tier]) for tier in tiers},
        "file": {
            n: {"fid": n, "fname": name, "type": 4, "loc": 1, "src": ""} for name, n in ids.items()
        },
        "metadata": metadata,
        "view": {n: {"fid_list": [n]} for n in ids.values()},
    }
    return Written(json.dumps(project, indent=1, ensure_ascii=False).encode())


def _attribute(tier: str, labels: Sequence[str]) -> dict[str, object]:
    return {
        "aname": tier or TIER,
        "anchor_id": "FILE1_Z2_XY0",
        "type": _SELECT,
        "desc": "",
        "options": {str(number): label for number, label in enumerate(labels, start=1)},
        "default_option_id": "",
    }


def write_csv(videos: Sequence[VideoAnnotations], _target: Target) -> Written:
    """Writes the export of temporal segments."""
    out = io.StringIO()
    out.write("# Exported by uvast in the form of VIA 3\n")
    out.write(f"{_HEADER}{','.join([*_SEGMENTS, 'metadata'])}\n")
    rows = [
        [
            f"{number}_u{n}",
            json.dumps([video.video], ensure_ascii=False),
            repr(event.start),
            repr(event.end),
            json.dumps({event.tier or TIER: event.label}, ensure_ascii=False),
        ]
        for number, video in enumerate(videos, start=1)
        for n, event in enumerate(video.intervals, start=1)
    ]
    return Written(out.getvalue().encode() + csv_text(rows))
