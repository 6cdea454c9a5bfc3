"""Click tables as people keep them."""

from __future__ import annotations

import datetime as dt
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from uvast.data import Annotation, Dataset, read_timestamps
from uvast.errors import CorruptFileError, TimestampError

FORM = "begin with a row 'video,frame,label' or 'video,time,label', then one row per click"


def clicks(*pairs: tuple[float, str | None]) -> tuple[Annotation, ...]:
    return tuple(Annotation(time=time, label=label) for time, label in pairs)


def write_workbook(path: Path, *rows: tuple[object, ...]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def with_sheet(path: Path, change: Callable[[str], str]) -> None:
    """Changes the XML of a workbook's first sheet."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    changed = change(members[sheet])
    assert changed != members[sheet]
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (members | {sheet: changed}).items():
            archive.writestr(name, text)


EXPECTED = {"v1": clicks((5.0, "a"), (83.5, "b")), "v2": clicks((3723.25, None))}


@pytest.mark.parametrize(
    "text",
    [
        "video,time,label\nv1,5,a\nv1,83.5,b\nv2,3723.25,\n",
        "Video,TIME,Label\nv1,0:05,a\nv1,1:23.5,b\nv2,01:02:03.250,\n",
        "VIDEO;Time (s);label;who\nv1;5,0;a;Ann\nv2;3723,25;;Bo\nv1;83,5;b;Ann\n",
        "who\tlabel\tvideo\ttime\nAnn\tb\tv1\t1:23.5\n\t\t\t\nAnn\ta\tv1\t00:00:05\n\t\tv2\t1:02:03.25\n",
        'video, time ,label\r\n"v1", 5 , a\r\nv1.txt,83.5,b\r\nv2,3723.25\r\n',
    ],
)
def test_any_separator_case_order_and_form_of_time(tmp_path, text):
    (tmp_path / "t.csv").write_text(text, newline="")
    assert read_timestamps(tmp_path / "t.csv") == EXPECTED


def test_a_workbook(tmp_path):
    path = write_workbook(
        tmp_path / "t.xlsx",
        ("Label", "Video", "Time", "notes"),
        ("b", "v1", dt.time(0, 1, 23, 500_000), "clock"),
        (None, None, None, None),
        (None, "v2", dt.timedelta(hours=1, minutes=2, seconds=3.25), "duration"),
        ("a", "v1", 5, None),
    )
    assert read_timestamps(path) == EXPECTED
    path = write_workbook(tmp_path / "f.XLSX", ("video", "frame"), ("v", 12.0), ("v", "3"))
    assert read_timestamps(path) == {"v": (Annotation(frame=3), Annotation(frame=12))}


def test_a_dataset_may_have_a_workbook_of_its_own(make_dataset):
    path = make_dataset({"v": "aab", "w": "ab"}, spec="frames_per_second = 10")
    write_workbook(path / "timestamps.xlsx", ("video", "time", "label"), ("v.mp4", "0:00.2", "b"))
    assert Dataset.open(path).timestamps()["v"].frames.tolist() == [2]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", f": is empty; {FORM}"),
        ("clip,time\nv,1\n", f": begins with the columns 'clip, time'; {FORM}"),
        ("video,time,frame\nv,1,2\n", f": begins with the columns 'video, time, frame'; {FORM}"),
        ("video,time,Time\nv,1,2\n", ": has more than one column 'time'; keep one of them"),
        (
            "video,time\nv,1\n\nv,soon\n",
            ", line 4: 'soon' in column 'time' is not a time; write seconds, mm:ss or hh:mm:ss.mmm",
        ),
        (
            "video,frame\nv,1.5\n",
            ", line 2: '1.5' in column 'frame' is not a frame number; count frames from 0",
        ),
        (
            "video,frame\nv\n",
            ", line 2: '' in column 'frame' is not a frame number; count frames from 0",
        ),
        (
            f"video,frame\nv,{'9' * 40_000}\n",
            ", line 2: '999999999999999999999999999...9999999999999999999999999999' in column "
            "'frame' is not a frame number; count frames from 0",
        ),
        (
            "video,frame\n,3\n",
            ", line 2: the cell in column 'video' is empty; name the video in every row",
        ),
    ],
)
def test_errors_name_the_line_and_the_cell(tmp_path, text, sentence):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(TimestampError) as caught:
        read_timestamps(path)
    assert str(caught.value) == f"{path}{sentence}"


def test_errors_in_a_workbook_name_the_row(tmp_path):
    path = write_workbook(tmp_path / "t.xlsx", ("video", "time"), ("v", 1), ("v", "soon"))
    with pytest.raises(TimestampError, match=r"t.xlsx, line 3: 'soon' in column 'time' is not"):
        read_timestamps(path)
    path.write_bytes(b"PK\x03\x04 no workbook")
    with pytest.raises(CorruptFileError, match=r"cannot be read as a workbook .*; save the table"):
        read_timestamps(path)


@pytest.mark.parametrize("declared", ["A1:B2", "A1", "A1:ZZZ9999999"])
def test_rows_that_a_workbook_does_not_declare_are_read(tmp_path, declared):
    path = write_workbook(tmp_path / "t.xlsx", ("video", "time", "label"), *[("v", 1, "a")] * 5)
    with_sheet(path, lambda text: text.replace('ref="A1:C6"', f'ref="{declared}"'))
    assert read_timestamps(path) == {"v": clicks(*[(1.0, "a")] * 5)}


def test_a_time_that_a_workbook_shows_as_1_30_is_that_of_the_same_csv(tmp_path):
    path = write_workbook(tmp_path / "t.xlsx", ("video", "time"), ("v", dt.time(1, 30)))
    assert read_timestamps(path) == {"v": clicks((5400.0, None))}  # shown as 1:30:00
    book = openpyxl.load_workbook(path)
    book.active["B2"].number_format = "h:mm"
    book.save(path)
    assert read_timestamps(path) == {"v": clicks((90.0, None))}


@pytest.mark.parametrize("column", ["time (ms)", "Time_ms", "time [milliseconds]"])
def test_milliseconds_are_not_taken_for_seconds(tmp_path, column):
    (tmp_path / "t.csv").write_text(f"video,{column}\nv,1500\n")
    with pytest.raises(TimestampError, match=r"has times in milliseconds .*; write seconds, mm:ss"):
        read_timestamps(tmp_path / "t.csv")
    (tmp_path / "f.csv").write_text(f"video,{column},frame\nv,1500,3\n")
    assert read_timestamps(tmp_path / "f.csv") == {"v": (Annotation(frame=3),)}


def test_a_row_numbered_a_billion_takes_no_time(tmp_path):
    path = write_workbook(tmp_path / "t.xlsx", ("video", "time"), ("v", 1))
    row = '<row r="999999999"><c r="A999999999"><v>9</v></c></row></sheetData>'
    with_sheet(path, lambda text: text.replace("</sheetData>", row))
    assert read_timestamps(path) == {"v": clicks((1.0, None))}


def test_without_openpyxl_there_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "t.xlsx").touch()
    with pytest.raises(TimestampError) as caught:
        read_timestamps(tmp_path / "t.xlsx")
    assert str(caught.value) == (
        f"{tmp_path / 't.xlsx'}: needs openpyxl to be read; "
        "pip install '.[tables]' in uvast's folder, or save the table as CSV"
    )


def test_one_video_under_two_names(make_dataset):
    path = make_dataset({"v": "aab", "w": "ab"})
    (path / "timestamps.csv").write_text("video,frame,label\nv,0,a\nv.mp4,2,b\n")
    with pytest.raises(TimestampError, match=r"names video v twice, once as v\.mp4; give it one"):
        Dataset.open(path).timestamps()
