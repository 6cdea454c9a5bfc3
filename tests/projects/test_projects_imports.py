"""Labels into a project and out again: round trips, undo, all or nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planted_project import everything_in, plant_features, plant_project

from uvast.errors import CorruptFileError, LabelError, OutputError, UnknownVideoError
from uvast.exchange import (
    FORMATS,
    Event,
    Format,
    Rules,
    Span,
    Target,
    VideoAnnotations,
    format_named,
    frame_labels,
    losses,
    write_annotations,
)
from uvast.projects import Project
from uvast.projects.exports import exported, exported_times
from uvast.projects.imports import import_labels, undo_import
from uvast.projects.incoming import HowToRead, read_incoming
from uvast.projects.video_times import video_times
from uvast.projects.videos import write_videos

RATE = 25.0
WRITABLE = [one for one in FORMATS if one.write is not None]


def put(project: Project, *files: Path, existing="refuse", overlaps="error", **how) -> tuple:
    """Imports as the command does; the notes."""
    incoming = read_incoming(project, files, HowToRead(**how))
    done = import_labels(project, incoming, existing=existing, overlaps=overlaps)
    return (*incoming.notes, *done.notes)


def table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["video,start,end,label", *rows]) + "\n", encoding="utf-8")
    return path


@st.composite
def on_frames(draw, name: str) -> VideoAnnotations:
    """Intervals that follow each other, with gaps, on the frames of a video."""
    steps = draw(st.lists(st.integers(2, 90), min_size=2, max_size=12))
    edges = np.cumsum([draw(st.integers(0, 40)), *steps]) / RATE
    labels = draw(st.lists(st.sampled_from(["cut", "stir", "a & b"]), min_size=12, max_size=12))
    events = [
        Event(label, float(start), float(end))
        for label, start, end in zip(labels, edges[:-1], edges[1:], strict=False)
        if draw(st.booleans())
    ]
    return VideoAnnotations(name, tuple(events or [Event("cut", 0.0, 2.0)]))


@pytest.mark.parametrize("kind", WRITABLE, ids=lambda kind: kind.name)
@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_in_and_out_and_in_again(kind: Format, data, tmp_path_factory):
    """What a project exports and another imports is the same at every frame."""
    folder = tmp_path_factory.mktemp("round")
    names = ("a clip", "b.2")
    first = plant_project(folder / "first", names, rate=RATE, seconds=60.0)
    for name in names:
        first.write_annotations(data.draw(on_frames(name)))
    out = folder / ("out" if "videos" not in kind.holds else f"out{kind.suffixes[0]}")
    target = Target(str(out), exported_times(first))
    _, warnings = write_annotations(out, exported(first, kind), kind, target)
    assert warnings == ()
    second = plant_project(folder / "second", names, rate=RATE, seconds=60.0)
    put(second, out, kind=kind)
    for name in names:
        before, after = first.annotations(name), second.annotations(name)
        assert before is not None
        assert after is not None
        times = video_times(first, name)
        assert times is not None
        found = [frame_labels(one, times, names=("background", "a & b", "cut", "stir")).labels
                 for one in (before, after)]  # fmt: skip
        assert (found[0] == found[1]).all()
        if kind.name not in ("ms-tcn", "deepethogram"):  # these name every frame
            spans = [[(e.label, e.start, e.end) for e in one.events] for one in (before, after)]
            assert spans[1] == [(n, pytest.approx(s), pytest.approx(e)) for n, s, e in spans[0]]


def test_a_native_export_holds_everything(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["v"])
    record = VideoAnnotations(
        "v",
        (Event("cut", 1.0, 2.5, "hand", ("fast",), "Ann", 0.5, "sure?"), Event("look", 3.0)),
        observed=(Span(0.5, 4.0),),
    )
    project.write_annotations(record)
    kind = format_named("uvast")
    (found,) = exported(project, kind)
    assert (found.video, found.frame_rate, found.duration) == ("v.mp4", 25.0, 1e5)
    out = tmp_path / "v.json"
    write_annotations(out, [found], kind, Target("out"))
    put(project, out, existing="replace")
    assert project.annotations("v") == record
    # a format is not blamed for what is known of the video anyway
    assert not any(
        "frame rate" in text
        for text in losses(format_named("elan"), exported(project, format_named("elan")))
    )


def test_two_hours_at_29_97_do_not_drift(tmp_path: Path):
    """Frame numbers count frames of the video by its real times, also after a late start."""
    times = 0.5 + np.arange(215_784) * 1001 / 30000
    project = plant_project(tmp_path / "p", ["v"], rate=29.97, seconds=7200.7)
    plant_features(project, "v", times)
    starts = np.arange(0, 215_000, 1000)
    lines = "".join(f"{start + 1} {start + 500} cut\n" for start in starts)
    (tmp_path / "v.txt").write_text(lines)
    put(project, tmp_path / "v.txt")
    found = project.annotations("v")
    assert found is not None
    seconds = np.array([[event.start, event.end] for event in found.events])
    exact = np.stack([times[starts], times[starts + 500]], axis=1)
    assert np.abs(seconds - exact).max() < 0.5 * 1001 / 30000 / 1000
    project.materialise()
    labels = (tmp_path / "p" / "groundTruth" / "v.txt").read_text().split()
    assert [i for i in range(1, len(labels)) if labels[i - 1 : i + 1] == ["background", "cut"]] == (
        starts[1:].tolist()
    )


def test_seconds_at_29_97_are_off_by_half_a_frame_at_most(tmp_path: Path):
    times = np.arange(215_784) * 1001 / 30000
    project = plant_project(tmp_path / "p", ["v"], rate=29.97)
    plant_features(project, "v", times)
    said = np.linspace(1.0, 7190.0, 60)
    rows = [f"v,{start!r},{start + 40!r},x" for start in said.tolist()]
    put(project, table(tmp_path / "v.csv", *rows))
    project.materialise()
    labels = np.array((tmp_path / "p" / "groundTruth" / "v.txt").read_text().split()) == "x"
    edges = times[np.flatnonzero(np.diff(labels.astype(int)) == 1) + 1]
    assert np.abs(edges - said).max() <= 0.5 * 1001 / 30000 + 1e-9


def test_a_look_alike_of_knot_tying(tmp_path: Path):
    """Lines of frames from 1, ends inclusive, no --fps; what follows is background."""
    project = plant_project(tmp_path / "p", ["S01", "S02"], rate=30.0)
    for name in project.names:
        plant_features(project, name, np.arange(9) * 0.0333333)
    folder = tmp_path / "intervals"
    folder.mkdir()
    (folder / "S01.txt").write_bytes(b"3 4 G12 \r\n5 6 G13 \r\n7 7 G13 \r\n")
    (folder / "S02.txt").write_bytes(b"1 2 G1 \r\n")
    put(project, folder)
    project.materialise()
    lines = (tmp_path / "p" / "groundTruth" / "S01.txt").read_text().split()
    assert lines == ["background"] * 2 + ["G12"] * 2 + ["G13"] * 3 + ["background"] * 2


def test_frame_labels_at_another_rate_are_told(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["v"], rate=30.0, seconds=66.0)
    (tmp_path / "v.txt").write_text("cut\n" * 990)
    notes = put(project, tmp_path / "v.txt")
    assert notes == (
        "v.txt: has labels for 990 frames, but the video has 1980; if they are at another rate, "
        "pass it with --fps",
    )
    assert put(project, tmp_path / "v.txt", existing="replace", rate=Fraction(15)) == ()


def test_points_become_timestamps_and_partial_labels_stay_partial(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["clicked", "partial"])
    for name in project.names:
        plant_features(project, name, np.arange(50) / 10)
    rows = ["clicked,1,,cut", "clicked,3,,stir", "partial,1,2,cut", "partial,2.5,3,stir"]
    notes = put(project, table(tmp_path / "x.csv", *rows), gaps="unknown")
    assert "only what lies inside intervals counts as labelled" in notes
    partial = project.annotations("partial")
    assert partial is not None
    assert partial.observed == (Span(1.0, 2.0), Span(2.5, 3.0))
    project.materialise()
    assert not (tmp_path / "p" / "groundTruth" / "clicked.txt").exists()
    assert '"frame": 30, "label": "stir"' in (tmp_path / "p" / "timestamps.json").read_text()
    assert '"partial": [[10, 20], [25, 30]]' in (tmp_path / "p" / "labelled.json").read_text()


def test_every_import_can_be_undone(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a", "b"])
    states = [everything_in(tmp_path / "p" / "annotations")]
    put(project, table(tmp_path / "1.csv", "a,0,1,cut"))
    states.append(everything_in(tmp_path / "p" / "annotations"))
    put(project, table(tmp_path / "2.csv", "a,1,2,stir", "b,0,1,cut"), existing="add")
    states.append(everything_in(tmp_path / "p" / "annotations"))
    put(project, table(tmp_path / "3.csv", "b,5,6,mix"), existing="replace")
    a, b = project.annotations("a"), project.annotations("b")
    assert a is not None
    assert b is not None
    assert (a.labels, b.labels) == (("cut", "stir"), ("mix",))
    for number in (3, 2, 1):
        undone, record = undo_import(project)
        assert undone == number
        assert record.files == (str(tmp_path / f"{number}.csv"),)
        assert everything_in(tmp_path / "p" / "annotations") == states.pop()
    with pytest.raises(LabelError, match="there is no import to undo; import labels with uvast"):
        undo_import(project)


def test_later_work_is_never_lost(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a", "b"])
    put(project, table(tmp_path / "1.csv", "a,0,1,cut", "b,0,1,cut"))
    project.write_annotations(VideoAnnotations("b", (Event("mine", 0.0, 1.0),)))
    before = everything_in(tmp_path / "p")
    with pytest.raises(OutputError, match="annotations of b were changed after import 1; keep"):
        undo_import(project)
    assert everything_in(tmp_path / "p") == before
    undo_import(project, drop_changes=True)
    assert project.annotations("b") is None


def test_what_another_process_labels_meanwhile_stays(tmp_path: Path, monkeypatch):
    from uvast.projects import imports

    project = plant_project(tmp_path / "p", ["a", "b"])
    project.write_annotations(VideoAnnotations("b", (Event("old", 0.0, 1.0),)))
    real = imports.swap

    def late(new: Path, old: Path) -> None:
        project.write_annotations(VideoAnnotations("b", (Event("newer", 0.0, 1.0),)))
        real(new, old)

    monkeypatch.setattr(imports, "swap", late)
    put(project, table(tmp_path / "1.csv", "a,0,1,cut"))
    found = project.annotations("b")
    assert found is not None
    assert found.labels == ("newer",)


def labelled(name: str, *labels: str) -> VideoAnnotations:
    return VideoAnnotations(name, tuple(Event(label, 0.0, 1.0) for label in labels))


def test_what_is_saved_before_and_after_the_swap_stays_too(tmp_path: Path, monkeypatch):
    """The newest of a, the deletion of b, the new c; d is what the import says."""
    from uvast.projects import imports

    project = plant_project(tmp_path / "p", ["a", "b", "c", "d"])
    for name in ("a", "b"):
        project.write_annotations(labelled(name, "old"))
    real = imports.swap

    def late(new: Path, old: Path) -> None:
        project.write_annotations(labelled("a", "v1"))
        project.remove_annotations("b")
        project.write_annotations(labelled("c", "v1"))
        real(new, old)
        project.write_annotations(labelled("a", "v2"))

    monkeypatch.setattr(imports, "swap", late)
    put(project, table(tmp_path / "1.csv", "d,0,1,cut"))
    found = [project.annotations(name) for name in project.names]
    assert [one and one.labels for one in found] == [("v2",), None, ("v1",), ("cut",)]


def test_a_save_while_files_are_copied_is_not_taken_for_none(tmp_path: Path, monkeypatch):
    from uvast.projects import imports

    project = plant_project(tmp_path / "p", ["a", "b"])
    project.write_annotations(labelled("b", "v1"))
    real = imports.shutil.copyfile

    def late(source, target, **options):
        copy = real(source, target, **options)
        project.write_annotations(labelled("b", "v2"))  # as many bytes
        return copy

    monkeypatch.setattr(imports.shutil, "copyfile", late)
    put(project, table(tmp_path / "1.csv", "a,0,1,cut"))
    assert project.annotations("b") == labelled("b", "v2")


def test_files_that_go_while_they_are_copied_are_no_error(tmp_path: Path, monkeypatch):
    from uvast.projects import imports

    project = plant_project(tmp_path / "p", ["a", "b"])
    project.write_annotations(labelled("b", "old"))
    temporary = tmp_path / "p" / "annotations" / f".uvast.{'0' * 16}.tmp"
    temporary.write_text("half")
    real = imports.shutil.copytree

    def late(source, target, **options):
        def copy(one, to):
            Path(one).unlink()
            return function(one, to)

        function = options.get("copy_function", imports.shutil.copy2)

        return real(source, target, **options | {"copy_function": copy})

    monkeypatch.setattr(imports.shutil, "copytree", late)
    put(project, table(tmp_path / "1.csv", "a,0,1,cut"))
    assert list(everything_in(tmp_path / "p" / "annotations")) == ["a.json"]


def test_a_link_that_leads_nowhere_is_not_dropped(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a", "b"])
    (tmp_path / "p" / "annotations").mkdir()
    link = tmp_path / "p" / "annotations" / "b.json"
    link.symlink_to(tmp_path / "not mounted" / "b.json")
    with pytest.raises(OutputError, match="cannot be written"):
        put(project, table(tmp_path / "1.csv", "a,0,1,cut"))
    assert link.is_symlink()


@pytest.mark.parametrize("step", ["_replace", "swap", "_forget"])
def test_killed_half_way_is_the_old_state_or_the_new_one(step, tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a", "b"])
    put(project, table(tmp_path / "1.csv", "a,0,1,cut"))
    old = everything_in(tmp_path / "p" / "annotations")
    files = table(tmp_path / "2.csv", "a,5,6,stir", "b,0,1,stir")
    command = ["--undo"] if step == "_forget" else [str(files), "--add"]
    code = (
        "import os, signal, sys\nfrom uvast.projects import imports\n"
        f"imports.{step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from uvast.cli.main import main\n"
        f"sys.argv = ['uvast', 'import', {str(tmp_path / 'p')!r}, *{command!r}]\nmain()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, env=os.environ)
    assert ended.returncode == -signal.SIGKILL
    if step == "_forget":  # undone, but its record is still there
        assert everything_in(tmp_path / "p" / "annotations") == {}
        with pytest.raises(LabelError, match="there is no import to undo"):
            undo_import(project)
        return
    assert everything_in(tmp_path / "p" / "annotations") == old
    put(project, files, existing="add")  # the same number again
    assert sorted(path.name for path in (tmp_path / "p" / "imports").iterdir()) == ["1", "2"]
    undo_import(project)
    assert everything_in(tmp_path / "p" / "annotations") == old


def test_an_error_in_any_file_leaves_the_project_as_it_is(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a", "b"])
    good = table(tmp_path / "good.csv", "a,0,1,cut")
    before = everything_in(tmp_path / "p")
    bad = table(tmp_path / "bad.csv", "b,1,0,cut")
    with pytest.raises(LabelError, match=r"bad.csv, line 2: 'cut' starts at 1 s and ends at 0 s"):
        put(project, good, bad)
    overlapping = table(tmp_path / "x.csv", "a,0,2,cut", "b,0,2,cut", "b,1,3,stir")
    with pytest.raises(LabelError, match=r"b: 'cut' \(0 to 2 s\) and 'stir' \(1 to 3 s\) overlap"):
        put(project, overlapping)
    with pytest.raises(LabelError, match=r"bad.csv: video 'bb' is not among the 2 videos; the n"):
        put(project, good, table(tmp_path / "bad.csv", "bb,0,1,cut"))
    assert everything_in(tmp_path / "p") == before
    notes = put(project, overlapping, overlaps="longest")
    assert "b: intervals overlap, the longest counts" in notes


def test_what_could_not_be_read_again_does_not_come_in(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a", "b"])
    before = everything_in(tmp_path / "p")
    with pytest.raises(LabelError, match=r"video b, 'cut' at 1.7e\+09 s: its start should be less"):
        put(project, table(tmp_path / "1.csv", "a,0,1,cut", "b,1700000000,1700000001,cut"))
    with pytest.raises(LabelError, match="its comment should have at most 10000 characters"):
        project.write_annotations(VideoAnnotations("a", (Event("x", 0, 1, comment="c" * 12_000),)))
    assert everything_in(tmp_path / "p") == before


def test_what_cannot_be_read_can_be_replaced(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"])
    (tmp_path / "p" / "annotations").mkdir()
    (tmp_path / "p" / "annotations" / "a.json").write_text("{")
    new = table(tmp_path / "1.csv", "a,0,1,cut")
    with pytest.raises(CorruptFileError):
        put(project, new, existing="add")
    put(project, new, existing="replace")
    assert project.annotations("a") == VideoAnnotations("a", (Event("cut", 0.0, 1.0),))
    undo_import(project)
    assert (tmp_path / "p" / "annotations" / "a.json").read_text() == "{"


def test_videos_with_annotations_are_not_touched_unasked(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"])
    put(project, table(tmp_path / "1.csv", "a,0,1,cut"))
    more = table(tmp_path / "2.csv", "a,0,1,cut", "a,2,3,stir")
    sentence = r"video a has annotations already; keep both with --add, or put the new ones in"
    with pytest.raises(OutputError, match=sentence):
        put(project, more)
    put(project, more, existing="add")
    found = project.annotations("a")
    assert found is not None
    assert [event.label for event in found.events] == ["cut", "stir"]  # nothing twice


def test_a_table_of_names_matches_and_leaves_out(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a", "b"])
    rows = table(tmp_path / "1.csv", "cam 1.avi,0,1,cut", "b.MOV,0,1,stir", "pilot,0,1,cut")
    notes = put(project, rows, videos={"cam 1.avi": "a", "pilot": "", "other": "a"})
    found = [project.annotations(name) for name in ("a", "b")]
    assert [one.labels if one else None for one in found] == [("cut",), ("stir",)]
    assert "the table of names lists 'other', which is in no file" in notes
    assert "1 video left out, as the table of names asks: pilot" in notes


def test_videos_that_the_project_does_not_have_are_left_out_on_request(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a", "b"])
    others = [f"c{number}" for number in range(7)]
    rows = table(tmp_path / "1.csv", *(f"{name},0,1,cut" for name in ("a", *others)))
    with pytest.raises(UnknownVideoError, match="leave it out with --skip-unknown, or"):
        put(project, rows)
    notes = put(project, rows, skip_unknown=True)
    assert "7 videos left out, not in the project: c0, c1, c2, c3, c4 and 2 more" in (notes)
    assert [project.annotations(name) is not None for name in ("a", "b")] == [True, False]


def test_an_ambiguous_name_is_not_an_unknown_one(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["Take", "TAke"])
    rows = table(tmp_path / "1.csv", "TAKE,0,1,cut")
    with pytest.raises(LabelError, match="can be Take or TAke"):
        put(project, rows, skip_unknown=True)


def test_a_file_of_unknown_videos_alone_is_refused(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"])
    with pytest.raises(LabelError, match="there are no annotations to import"):
        put(project, table(tmp_path / "1.csv", "b,0,1,cut"), skip_unknown=True)
    assert project.annotations("a") is None


def test_names_with_dots_are_whole_names(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["2024-05-01 10.15.30", "clip"])
    other = table(tmp_path / "1.csv", "2024-05-01 10.15.47,0,1,cut")
    with pytest.raises(LabelError, match=r"video '2024-05-01 10.15.47' is not among the 2 videos"):
        put(project, other)
    put(project, table(tmp_path / "2.csv", "2024-05-01 10.15.30.mp4,0,1,cut"))
    assert project.annotations("2024-05-01 10.15.30") is not None


def test_a_file_of_an_odd_suffix_is_found_again(tmp_path: Path):
    plant_project(tmp_path / "p", ["clip"])
    videos = [replace(v, path=v.path.with_suffix(".x1")) for v in Project(tmp_path / "p").videos]
    write_videos(tmp_path / "p", videos)
    project = Project.open(tmp_path / "p")
    put(project, table(tmp_path / "1.csv", "clip.x1,0,1,cut"))
    assert exported(project, format_named("csv"))[0].video == "clip.x1"


def test_seconds_that_are_no_seconds_are_told(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"], seconds=10.0)
    notes = put(project, table(tmp_path / "1.csv", "a,1,9000,cut"))
    assert "a: 1 annotation running past its end (10 s)" in notes
    project = plant_project(tmp_path / "q", ["a"], seconds=10.0)
    assert not put(project, table(tmp_path / "2.csv", "a,1,10.5,cut"))
    videos = [replace(one, seconds=None) for one in project.videos]
    write_videos(plant_project(tmp_path / "r", ["a"]).path, videos)  # nobody knows its length
    project = Project.open(tmp_path / "r")
    assert not put(project, table(tmp_path / "3.csv", "a,1,9000,cut"))


def test_rules_act_on_the_way(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"], seconds=10.0)
    path = tmp_path / "1.csv"
    path.write_text("video,start,end,label,tier\na,0,1,cut,left\na,0,1,idle,left\na,0,1,x,right\n"
                    "a,20,21,chop,left\n")  # fmt: skip
    rules = Rules(tiers=("left",), names={"chop": "cut"})
    notes = put(project, path, rules=rules, background="idle", overlaps="first")
    assert "1 annotation left out: on other tiers" in notes
    assert "'idle' is called 'background' in this project" in notes
    assert "a: 1 annotation after its end (10 s)" in notes
    found = project.annotations("a")
    assert found is not None
    assert {event.label for event in found.events} <= {"cut", "background"}


def test_several_files_of_one_video_are_merged(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"])
    (tmp_path / "a.txt").write_text("0.0\t1.0\tcut\n")
    put(project, tmp_path / "a.txt", table(tmp_path / "1.csv", "a.mp4,1,2,stir"))
    found = project.annotations("a")
    assert found is not None
    assert found.labels == ("cut", "stir")


@pytest.mark.parametrize("text", ["{", "{}", '{"format": "uvast import", "version": 1, "when": "x",'
                                  ' "files": [], "videos": ["../../x"]}'])  # fmt: skip
def test_a_broken_record_touches_nothing(text, tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"])
    put(project, table(tmp_path / "1.csv", "a,0,1,cut"))
    (tmp_path / "p" / "imports" / "1" / "import.json").write_text(text)
    before = everything_in(tmp_path / "p")
    with pytest.raises((CorruptFileError, LabelError), match="remove this folder; the annotations"):
        undo_import(project)
    assert everything_in(tmp_path / "p") == before


def test_an_xlsx_file_comes_in(tmp_path: Path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["video", "start", "end", "label"], ["a", "00:01", "00:02.5", "cut"]):
        book.active.append(row)
    book.save(tmp_path / "labels.xlsx")
    project = plant_project(tmp_path / "p", ["a"])
    put(project, tmp_path / "labels.xlsx")
    assert project.annotations("a") == VideoAnnotations("a", (Event("cut", 1.0, 2.5),))


def test_frames_of_a_video_that_is_gone_count_at_its_rate(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"], rate=29.97)
    (tmp_path / "a.txt").write_text("1 30000 cut\n")
    put(project, tmp_path / "a.txt")
    found = project.annotations("a")
    assert found is not None
    assert found.events[0].end == pytest.approx(1001.0)
    assert replace(found, events=()) == VideoAnnotations("a")


def project_of_two_mice(tmp_path: Path) -> Project:
    """Two videos of one file name, in folders of their own, added one after the other."""
    project = plant_project(tmp_path / "p", ["video", "mouse2_video"])
    places = (Path("/lab/mouse1/video.mp4"), Path("/lab/mouse2/video.mp4"))
    pairs = zip(project.videos, places, strict=True)
    write_videos(project.path, [replace(video, path=path) for video, path in pairs])
    return Project.open(project.path)


def labels_of(project: Project) -> dict[str, tuple[str, ...]]:
    found = {name: project.annotations(name) for name in project.names}
    return {name: () if one is None else one.labels for name, one in found.items()}


def test_videos_of_one_file_name_are_matched_by_their_folders(tmp_path: Path):
    project = project_of_two_mice(tmp_path)
    rows = ("D:/mouse1/video.mp4,1,2,groom", "D:/Mouse2/video.mp4,3,4,rear")
    put(project, table(tmp_path / "l.csv", *rows))
    assert labels_of(project) == {"video": ("groom",), "mouse2_video": ("rear",)}


def test_folders_count_also_where_a_file_has_one_video(tmp_path: Path):
    project = project_of_two_mice(tmp_path)
    put(project, table(tmp_path / "l.csv", "/data/mouse2/video.avi,3,4,rear"))
    assert labels_of(project) == {"video": (), "mouse2_video": ("rear",)}
    alone = table(tmp_path / "m.csv", "video.mp4,1,2,groom")  # as the project itself exports it
    put(project, alone)
    assert labels_of(project) == {"video": ("groom",), "mouse2_video": ("rear",)}


def test_frames_are_those_of_the_video_in_that_folder(tmp_path: Path):
    project = project_of_two_mice(tmp_path)
    plant_features(project, "mouse2_video", np.arange(10) * 2.0)
    path = tmp_path / "l.csv"
    path.write_text("video,start_frame,end_frame,label\n/x/mouse2/video.mp4,1,3,rear\n")
    put(project, path)
    assert project.annotations("mouse2_video").events == (Event("rear", 2.0, 6.0),)


def test_videos_of_one_file_name_that_no_folder_tells_need_a_table(tmp_path: Path):
    project = project_of_two_mice(tmp_path)
    rows = ("ann/video.mp4,1,2,groom", "bo/video.mp4,3,4,rear")
    labels = table(tmp_path / "l.csv", *rows)
    sentence = r"two videos are called video.mp4, and no video is 'ann/video.mp4'; give a table"
    with pytest.raises(LabelError, match=sentence):
        put(project, labels)
    one = table(tmp_path / "m.csv", "/x/ann/video.mp4,1,2,groom")
    with pytest.raises(LabelError, match=r"'x/ann/video.mp4' can be video or mouse2_video; say"):
        put(project, one)
    assert labels_of(project) == {"video": (), "mouse2_video": ()}
    put(project, labels, videos={"ann/video.mp4": "mouse2_video", "bo/video.mp4": ""})
    put(project, one, videos={"x/ann/video.mp4": "video"})
    assert labels_of(project) == {"video": ("groom",), "mouse2_video": ("groom",)}


def test_two_videos_of_a_file_do_not_become_one_of_the_project(tmp_path: Path):
    project = plant_project(tmp_path / "sub", ["v"])
    labels = table(tmp_path / "l.csv", "sub/v.mp4,1,2,groom", f"{tmp_path.name}/sub/v.mp4,3,4,rear")
    longer = f"{tmp_path.name}/sub/v.mp4"
    with pytest.raises(LabelError, match=rf"called v.mp4, 'sub/v.mp4' and '{longer}', and both"):
        put(project, labels)
    put(project, labels, videos={"sub/v.mp4": "v", longer: "v"})
    assert labels_of(project) == {"v": ("groom", "rear")}


def test_two_uploads_of_one_file_name_do_not_become_one_video(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["v"])
    uploads = ["0a1b2c3d-v.mp4", "9f8e7d6c-v.mp4"]
    file = tmp_path / "tasks.json"
    tasks = []
    for upload, start, label in zip(uploads, (1, 3), ("groom", "rear"), strict=True):
        value = {"start": start, "end": start + 1, "labels": [label]}
        results = [{"result": [{"type": "labels", "value": value}]}]
        tasks.append({"data": {"video": f"/data/upload/7/{upload}"}, "annotations": results})
    file.write_text(json.dumps(tasks))
    with pytest.raises(LabelError) as caught:
        put(project, file)
    assert str(caught.value) == (
        f"{file}: two videos are called v.mp4, {uploads[0]!r} and {uploads[1]!r}, and both can be "
        "v; say which each is in a table with --names"
    )
    assert labels_of(project) == {"v": ()}
    put(project, file, videos={uploads[0]: "v", uploads[1]: ""})
    assert labels_of(project) == {"v": ("groom",)}
    put(project, file, videos=dict.fromkeys(uploads, "v"), existing="replace")
    assert labels_of(project) == {"v": ("groom", "rear")}


def test_two_uploads_of_one_file_name_are_two_videos_in_separate_files_too(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["v"])
    rows = ("/data/upload/7/0a1b2c3d-v.mp4,1,2,groom", "/data/upload/7/9f8e7d6c-v.mp4,3,4,rear")
    one, other = (table(tmp_path / f"{n}.csv", row) for n, row in enumerate(rows))
    with pytest.raises(LabelError) as caught:
        put(project, one, other)
    assert str(caught.value) == (
        f"{other}: two videos are called v.mp4, '0a1b2c3d-v.mp4' in {one} and '9f8e7d6c-v.mp4', "
        "and both can be v; say which each is in a table with --names"
    )
    assert labels_of(project) == {"v": ()}
    put(project, one, other, videos=dict.fromkeys(("0a1b2c3d-v.mp4", "9f8e7d6c-v.mp4"), "v"))
    assert labels_of(project) == {"v": ("groom", "rear")}
    again = table(tmp_path / "again.csv", rows[0].replace("1,2,groom", "3,4,rest"))
    own = table(tmp_path / "own.csv", "v,2,3,loop")
    put(project, one, again, own, existing="replace")  # one upload twice, and no upload
    assert labels_of(project) == {"v": ("groom", "loop", "rest")}


def test_labels_that_differ_only_in_case_are_told(tmp_path: Path):
    project = plant_project(tmp_path / "p", ["a"])
    plant_features(project, "a", np.arange(10))
    put(project, table(tmp_path / "l.csv", "a,1,2,loop", "a,3,4,Loop", "a,5,6,knot"))
    sentence = "classes that differ only in case, perhaps typing errors: Loop and loop"
    assert project.materialise() == (sentence,)


def test_labels_that_come_before_features_are_told_in_one_line(tmp_path: Path):
    names = [f"v{number}" for number in range(7)]
    project = plant_project(tmp_path / "p", names)
    put(project, table(tmp_path / "l.csv", *(f"{name},1,2,loop" for name in names)))
    sentence = "left out: v0, v1, v2, v3, v4 and 2 more have labels but no features yet; make them"
    (note,) = project.materialise()
    assert note == f"{sentence} with uvast extract {project.path}"
