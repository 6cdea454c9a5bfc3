"""Files that the tools' own libraries make, and ours in their hands."""

from __future__ import annotations

import datetime as dt
import io
from fractions import Fraction
from pathlib import Path

import openpyxl
import pympi
import pytest
import webvtt

from uvast.exchange import ConstantRate, Event, Source, Target, VideoAnnotations, recognised
from uvast.exchange.formats import format_named, read, write

VIDEO = VideoAnnotations(
    "soup & salad.mp4",
    (
        Event("cut <fast>", 0.5, 1.25, "left hand", annotator="Ann"),
        Event("stir", 1.25, 3.001, "left hand", annotator="Ann"),
        Event("größer", 2.0, 4.0),
    ),
)


def test_elan_files_of_pympi(tmp_path: Path):
    made = pympi.Elan.Eaf()
    made.add_linked_file("file:///data/soup.mp4", mimetype="video/mp4")
    made.add_tier("hand", ann="Ann")
    made.add_annotation("hand", 500, 1250, "cut & chop")
    made.add_annotation("hand", 1250, 3001, "stir")
    made.add_annotation("default", 0, 10, "ready")
    path = tmp_path / "x.eaf"
    made.to_file(str(path))
    source = Source(path.read_bytes(), str(path))
    video = read(recognised(source), source).videos[0]
    assert video.video == "soup.mp4"
    assert video.events == (
        Event("ready", 0.0, 0.01),
        Event("cut & chop", 0.5, 1.25, "hand", annotator="Ann"),
        Event("stir", 1.25, 3.001, "hand", annotator="Ann"),
    )


def test_pympi_reads_our_elan_files(tmp_path: Path):
    path = tmp_path / "x.eaf"
    path.write_bytes(write(format_named("elan"), [VIDEO], Target("x")).content)
    found = pympi.Elan.Eaf(str(path))
    assert sorted(found.get_tier_names()) == ["default", "left hand"]
    assert found.get_annotation_data_for_tier("left hand") == [
        (500, 1250, "cut <fast>"), (1250, 3001, "stir"),
    ]  # fmt: skip
    assert found.get_annotation_data_for_tier("default") == [(2000, 4000, "größer")]
    assert found.tiers["left hand"][2]["ANNOTATOR"] == "Ann"
    assert found.get_linked_files()[0]["MIME_TYPE"] == "video/mp4"


@pytest.mark.parametrize("name", ["vtt", "srt"])
def test_subtitles_of_webvtt(name, tmp_path: Path):
    made = webvtt.WebVTT()
    made.captions.append(webvtt.Caption("00:00:00.500", "00:00:01.250", "cut\nthe meat"))
    made.captions.append(webvtt.Caption("01:00:01.250", "01:00:03.001", "stir"))
    path = tmp_path / f"soup.{name}"
    made.save(str(path)) if name == "vtt" else made.save_as_srt(str(path))
    source = Source(path.read_bytes(), str(path))
    kind = recognised(source)
    assert kind.name == name
    assert read(kind, source).videos[0].events == (
        Event("cut the meat", 0.5, 1.25),
        Event("stir", 3601.25, 3603.001),
    )


@pytest.mark.parametrize("name", ["vtt", "srt"])
def test_webvtt_reads_our_subtitles(name):
    video = VideoAnnotations("v", (Event("cut", 0.5, 1.25), Event("stir", 3601.25, 3603.001)))
    text = write(format_named(name), [video], Target("x")).content.decode()
    found = webvtt.from_buffer(io.StringIO(text), format=name)
    assert [(c.start, c.end, c.text) for c in found] == [
        ("00:00:00.500", "00:00:01.250", "cut"), ("01:00:01.250", "01:00:03.001", "stir"),
    ]  # fmt: skip


def test_workbooks_of_openpyxl():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Labels of March"])
    sheet.append([])
    sheet.append(["Video", "Start (s)", "END (s)", "Label", "Score"])
    sheet.append(["a.mp4", 0.5, 1.25, "cut", 0.5])
    sheet.append(["a.mp4", "00:01:02.500", dt.time(0, 1, 3), 12, None])
    sheet.append([None] * 5)
    sheet.append(["b.mp4", dt.timedelta(seconds=3), None, "look", None])
    out = io.BytesIO()
    book.save(out)
    source = Source(out.getvalue(), "t.xlsx")
    kind = recognised(source)
    assert kind.name == "xlsx"
    first, second = read(kind, source).videos
    assert first.events == (Event("cut", 0.5, 1.25, confidence=0.5), Event("12", 62.5, 63.0))
    assert second.events == (Event("look", 3.0),)


@pytest.mark.parametrize(
    ("shown_as", "seconds"),
    [("h:mm", 90.0), ("hh:mm", 90.0), ("[$-F400]h:mm;@", 90.0), ("h:mm:ss", 5400.0)],
)
def test_a_time_that_a_workbook_shows_as_1_30_is_that_of_the_same_csv(shown_as, seconds):
    book = openpyxl.Workbook()
    book.active.append(["video", "time", "label"])
    book.active.append(["v", dt.time(1, 30), "cut"])
    book.active["B2"].number_format = shown_as
    out = io.BytesIO()
    book.save(out)
    (video,) = read(format_named("xlsx"), Source(out.getvalue(), "t.xlsx")).videos
    assert video.events == (Event("cut", seconds),)


def test_event_logs_of_the_observer_may_be_workbooks():
    book = openpyxl.Workbook()
    book.active.append(["Time_Relative_sf", "Duration_sf", "Observation", "Behavior", "Event_Type"])
    book.active.append([0.5, 1.25, "mouse", "run", "State start"])
    book.active.append([1.75, 0, "mouse", "run", "State stop"])
    book.active.append([3, 0, "mouse", "jump", "Point"])
    out = io.BytesIO()
    book.save(out)
    source = Source(out.getvalue(), "logs.xlsx")
    (video,) = read(recognised(source), source).videos
    assert (video.video, video.events) == ("mouse", (Event("run", 0.5, 1.75), Event("jump", 3.0)))


def test_openpyxl_reads_our_workbooks_and_no_label_is_a_formula():
    video = VideoAnnotations("v.mp4", (Event("=1+1", 0.5, 1.25), Event("12", 2.0, 3.0)))
    content = write(format_named("xlsx"), [video], Target("x")).content
    sheet = openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]
    rows = [[(cell.value, cell.data_type) for cell in row] for row in sheet.iter_rows(min_row=2)]
    assert rows == [
        [("v.mp4", "s"), (0.5, "n"), (1.25, "n"), ("=1+1", "s")],
        [("v.mp4", "s"), (2, "n"), (3, "n"), ("12", "s")],
    ]


def test_a_fault_of_a_workbook_names_its_row():
    book = openpyxl.Workbook()
    book.active.append(["video", "start", "end", "label"])
    book.active.append(["v", "soon", 2, "cut"])
    out = io.BytesIO()
    book.save(out)
    with pytest.raises(Exception, match=r"t.xlsx, row 2: 'soon' is not a time"):
        read(format_named("xlsx"), Source(out.getvalue(), "t.xlsx"))


@pytest.mark.parametrize("name", ["json", "json_min"])
def test_files_of_label_studio(name):
    """Written by `Converter` of label-studio-sdk 2.1.2, which asks for an older numpy than ours."""
    path = Path(__file__).parent / "label_studio" / f"{name}.json"
    source = Source(path.read_bytes(), str(path), times_of=lambda _: ConstantRate(Fraction(25)))
    kind = recognised(source)
    assert kind.name == "label-studio"
    (video,) = read(kind, source).videos
    assert video.video == "monday.mp4"
    events = [(one.label, one.start, one.end, one.annotator) for one in video.events]
    assert events == [
        ("reach", 0.0, 2.0, "anna@example.org"),
        ("grasp", 2.0, 3.0, "anna@example.org"),
    ]
