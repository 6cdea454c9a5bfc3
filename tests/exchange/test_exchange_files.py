"""Files and folders of annotations on disk, and writers' own warnings."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from exchange_records import RATE, written

from uvast.errors import CorruptFileError, LabelError
from uvast.exchange import (
    ConstantRate,
    Event,
    Source,
    Span,
    Target,
    VideoAnnotations,
    format_named,
    read_annotations,
    write_annotations,
)
from uvast.exchange.formats import read

TARGET = Target("out", times_of=lambda _: RATE)


def test_a_folder_is_one_set_of_videos(tmp_path: Path):
    (tmp_path / "a.txt").write_text("0.0\t1.0\tcut\n")
    (tmp_path / "b.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nstir\n")
    (tmp_path / "more.csv").write_text("video,start,end,label\na,2,3,chop\n")
    (tmp_path / ".hidden").write_bytes(b"\xff\xff")
    found = read_annotations(tmp_path)
    assert {video.video: video.labels for video in found.videos} == {
        "a": ("chop", "cut"), "b": ("stir",),
    }  # fmt: skip


def test_an_empty_folder(tmp_path: Path):
    with pytest.raises(LabelError, match=r"holds no files; give a folder of annotations"):
        read_annotations(tmp_path)


def test_files_are_named_after_videos_without_their_suffix(tmp_path: Path):
    names = ["a.MP4", "b.v2", "c", "../d.avi"]
    videos = [VideoAnnotations(name, (Event("x", 0, 1),)) for name in names]
    files, _ = write_annotations(tmp_path / "out", videos, format_named("srt"), TARGET)
    assert [path.name for path in files] == ["a.srt", "b.v2.srt", "c.srt", ".._d.srt"]
    assert all(path.parent == tmp_path / "out" for path in files)
    twins = [VideoAnnotations(name, (Event("x", 0, 1),)) for name in ("a.mp4", "a.avi")]
    with pytest.raises(
        LabelError, match=r"videos a.mp4 and a.avi would be written to one file; re"
    ):
        write_annotations(tmp_path / "other", twins, format_named("srt"), TARGET)
    assert not (tmp_path / "other").exists()


def test_one_fault_leaves_nothing_behind(tmp_path: Path):
    overlapping = (Event("x", 0.0, 2.0), Event("y", 1.0, 3.0))
    videos = [VideoAnnotations("a", (Event("x", 0, 1),)), VideoAnnotations("b", overlapping)]
    with pytest.raises(LabelError, match=r"overlap"):
        write_annotations(tmp_path / "out", videos, format_named("ms-tcn"), TARGET)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("kind", "events", "warning"),
    [
        ("elan", (Event("x", 0.0, 2.0, "t"), Event("y", 1.0, 3.0, "t")),
         "tier t: an ELAN tier has one annotator and one annotation at a time; 1 go to tier t (2)"),
        ("boris", (Event("x", 0.0, 2.0), Event("x", 1.0, 3.0)),
         "'x' overlaps itself; BORIS gets one interval, from start to end"),
        ("boris-tabular", (Event("x", 0.0, 2.0), Event("x", 1.0, 3.0)),
         "'x' overlaps itself; BORIS gets one interval, from start to end"),
        ("boris", (Event("x", 0.0, 2.0), Event("x", 5.0)),
         "'x' has intervals and points; its points are called 'x (point)'"),
        ("label-studio", (Event("x", 1.0, 1.03),),
         "v: an interval of one frame is a point in Label Studio"),
        ("srt", (Event("<b>x</b>", 1.0, 2.0),),
         "SRT reads part of '<b>x</b>' as formatting"),
    ],
)  # fmt: skip
def test_what_only_some_records_lose_is_told_too(kind, events, warning):
    assert warning in written(format_named(kind), [VideoAnnotations("v", events)]).warnings


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (Event("x", 3.0, 4.0, comment="a" * 12_000),
         "'x' at 3 s: its comment should have at most 10000 characters; shorten it"),
        (Event("x", 1.7e9, 1.7e9 + 1),
         "'x' at 1.7e+09 s: its start should be less than or equal to 1000000000; times count "
         "seconds from the video's start; correct them"),
        (Event("x", 3.0, modifiers=("m",) * 101),
         "'x' at 3 s: its modifiers should have at most 100 items"),
    ],
    ids=["text", "time", "modifiers"],
)  # fmt: skip
def test_what_could_not_be_read_again_is_not_written(event, sentence, tmp_path: Path):
    videos = [VideoAnnotations("a", (Event("x", 0, 1),)), VideoAnnotations("b", (event,))]
    with pytest.raises(LabelError) as error:
        write_annotations(tmp_path / "x.json", videos, None, TARGET)
    assert str(error.value).startswith(f"{tmp_path / 'x.json'}: video b, {sentence}")
    assert not (tmp_path / "x.json").exists()


def test_a_file_too_large_to_be_read_is_not_written(monkeypatch):
    monkeypatch.setattr("uvast.exchange.native.MAX_BYTES", 100)
    with pytest.raises(CorruptFileError, match=r"out: is larger than .* write one file per video"):
        written(format_named("uvast"), [VideoAnnotations("v", (Event("x", 0, 1),))])


LABELS_OF_FRAMES = {
    "ms-tcn": lambda n: "cut\n" * n,
    "deepethogram": lambda n: ",background,cut\n" + "".join(f"{i},0,1\n" for i in range(n)),
}


@pytest.mark.parametrize("kind", LABELS_OF_FRAMES)
@pytest.mark.parametrize(("n_labels", "is_told"), [(100, True), (196, False), (210, True)])
def test_labels_of_another_number_of_frames_are_told(kind, n_labels, is_told):
    content = LABELS_OF_FRAMES[kind](n_labels).encode()
    rate = Fraction(30)
    known, free = ConstantRate(rate, 200), ConstantRate(rate)
    found = read(format_named(kind), Source(content, "v.txt", times_of=lambda _: known))
    note = (
        f"has labels for {n_labels} frames, but the video has 200; if they are at another rate, "
        "pass it with --fps"
    )
    assert found.warnings == ((note,) if is_told else ())
    found = read(format_named(kind), Source(content, "v.txt", times_of=lambda _: free))
    assert found.warnings == ()


@pytest.mark.parametrize("kind", ["ms-tcn", "deepethogram"])
def test_intervals_without_a_frame_are_told(kind):
    events = (Event("x", 0.0, 1.0), Event("y", 1.51, 1.511), Event("z", 7.0, 8.0))
    video = VideoAnnotations("v", events, duration=5.0)
    note = "v: 2 intervals cover no frame or lie after the end"
    assert note in written(format_named(kind), [video]).warnings
    with pytest.raises(
        LabelError, match=r"v: ends at 1e\+12 s and has more than 100 million frames"
    ):
        written(format_named(kind), [VideoAnnotations("v", (Event("x", 0.0, 1e12),))])


def test_boris_holds_one_observed_span():
    video = VideoAnnotations("v", (Event("x", 1.0, 2.0),), observed=(Span(0, 3), Span(5, 6)))
    warnings = written(format_named("boris"), [video]).warnings
    assert warnings == (
        "v: BORIS holds only one observed span; it is written from the start of the first to the "
        "end of the last",
    )


def test_intervals_that_overlap_themselves_are_one_in_boris(tmp_path: Path):
    video = VideoAnnotations(
        "v", (Event("x", 0.0, 2.0), Event("x", 1.0, 3.0), Event("x", 3.0, 4.0))
    )
    for name, suffix in (("boris", "boris"), ("boris-tabular", "csv")):
        path = tmp_path / f"v.{suffix}"
        write_annotations(path, [video], format_named(name), TARGET)
        events = read_annotations(path).videos[0].events
        assert [(e.start, e.end) for e in events] == [(0.0, 3.0), (3.0, 4.0)]


def test_files_that_know_a_video_by_other_paths_are_told(tmp_path: Path):
    for who in ("ann", "bo"):
        (tmp_path / f"{who}.csv").write_text(f"video,start,end,label\n/{who}/v.mp4,1,2,{who}\n")
    found = read_annotations(tmp_path)
    assert [(video.video, video.labels) for video in found.videos] == [("v.mp4", ("ann", "bo"))]
    told = "v.mp4: the files say it is at ann/v.mp4 and at bo/v.mp4; it is read as one video"
    assert found.warnings == (told,)
