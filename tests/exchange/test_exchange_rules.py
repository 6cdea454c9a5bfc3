"""Records and the rules on them: tiers, labels of parts, mappings, overlaps, names of videos."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from uvast.errors import ConfigError, InputError, LabelError
from uvast.exchange import (
    FORMATS,
    Event,
    Span,
    VideoAnnotations,
    labelled_from,
    match_videos,
    on_tiers,
    renamed,
    without_overlaps,
)
from uvast.exchange.files import read_pairs

VIDEO = VideoAnnotations(
    "v.mp4",
    (
        Event("run", 1.0, 2.0, "cat", ("fast", "left")),
        Event("run", 1.5, 3.0, "dog"),
        Event("jump", 4.0, None, "cat"),
    ),
)


def labels(ruled) -> list[str]:
    return [event.label for video in ruled.videos for event in video.events]


def test_texts_stay_on_one_line_and_an_interval_of_no_length_is_a_point():
    event = Event(" a\n\tb\x00 ", 1.0, 1.0, modifiers=("", " x "), comment="c\r\nd")
    assert event == Event("a b", 1.0, None, modifiers=("x",), comment="c d")
    assert Event("می‌خواهم", 0.0).label == "می‌خواهم"  # with the joiner it is written with


def test_labels_that_look_the_same_are_the_same():
    decomposed, composed = "fu\u0308ttern", "f\u00fcttern"  # as macOS and others write it
    assert Event(decomposed, 0.0, comment=decomposed) == Event(composed, 0.0, comment=composed)
    assert VideoAnnotations(decomposed) == VideoAnnotations(composed)


@pytest.mark.parametrize("invisible", ["\u200b", "\ufeff", "\u2060", "\u00ad"])
def test_characters_that_show_nothing_make_no_other_label(invisible):
    for text in (f"{invisible}cut", f"c{invisible}ut", f"cut{invisible}", f"cut {invisible}"):
        assert Event(text, 0.0, tier=text, modifiers=(text,)) == Event(
            "cut", 0.0, tier="cut", modifiers=("cut",)
        )
    assert Event(f"fu{invisible}\u0308ttern", 0.0).label == "f\u00fcttern"
    assert Event(f"cut{invisible} bread", 0.0).label == "cut bread"
    with pytest.raises(InputError, match="without a label"):
        Event(invisible, 0.0)
    found = (VideoAnnotations(f"v{invisible}", (Event("cut", 0.0, tier="hand"),)),)
    assert labels(renamed(found, {f"c{invisible}ut": "chop"})) == ["chop"]
    assert labels(renamed(found, {"cut": invisible})) == []
    assert labels(on_tiers(found, [f"hand{invisible}"])) == ["cut"]
    assert match_videos(["v"], [f"v{invisible}"]) == {"v": f"v{invisible}"}


def test_videos_that_look_the_same_are_told_apart_by_their_exact_names():
    videos = ["v", "v\u200b"]
    assert match_videos(videos, videos) == {"v": "v", "v\u200b": "v\u200b"}
    with pytest.raises(LabelError, match="'v' can be "):
        match_videos(["v"], ["v\u2060", "v\u200b"])


@pytest.mark.parametrize("text", ["می\u200cخواهم", "👩\u200d🍳 cooks", "क्\u200dष"])
def test_joiners_that_change_what_is_shown_stay(text):
    assert Event(text, 0.0).label == text


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (("", 1.0), "an event at 1 s without a label"),
        (("a", -1.0), "'a' is at -1 s; times count seconds from the video's start"),
        (("a", float("nan")), "'a' is at nan s"),
        (("a", 2.0, 1.0), "'a' starts at 2 s and ends at 1 s"),
        (("a", 1.0, 2.0, "", (), "", 1.5), "'a' has a confidence of 1.5; write it as a number"),
    ],
)
def test_events_that_cannot_be(values, sentence):
    with pytest.raises(InputError, match=sentence):
        Event(*values)


def test_a_record_does_not_depend_on_order():
    other = VideoAnnotations("v.mp4", VIDEO.events[::-1])
    assert other == VIDEO
    assert VideoAnnotations("v", observed=(Span(3, 4), Span(1, 2), Span(2, 2.5))).observed == (
        Span(1, 2.5), Span(3, 4),
    )  # fmt: skip


def test_chosen_tiers():
    ruled = on_tiers([VIDEO], ["dog"])
    assert labels(ruled) == ["run"]
    assert ruled.notes == ("2 annotations left out: on other tiers",)
    with pytest.raises(
        LabelError, match=r"--tier: there is no tier or subject 'dgo'; did you mean 'dog'"
    ):
        on_tiers([VIDEO], ["dgo"])


def test_labels_of_several_parts():
    assert labels(labelled_from([VIDEO], "behavior+modifier")) == ["run fast left", "run", "jump"]
    assert labels(labelled_from([VIDEO], "subject + label")) == ["cat run", "dog run", "cat jump"]
    with pytest.raises(ConfigError, match=r"--label-from: 'colour' has an unknown part"):
        labelled_from([VIDEO], "colour")


def test_a_mapping_renames_merges_and_drops():
    ruled = renamed([VIDEO], {"run": "move", "jump": "", "fly": "move"})
    assert labels(ruled) == ["move", "move"]
    assert ruled.notes == (
        "the mapping names 'fly', which no annotation has",
        "1 annotation left out: the mapping gives no name to their labels",
    )


def test_mapping_files(tmp_path: Path):
    path = tmp_path / "m.csv"
    path.write_text("from;to\n# a note\nrun;move\njump;\n", encoding="utf-8")
    assert read_pairs(path) == {"run": "move", "jump": ""}
    path.write_text("run,move\nrun,walk\n", encoding="utf-8")
    with pytest.raises(LabelError, match=r"m.csv, line 2: 'run' gets two names, 'move' and 'walk'"):
        read_pairs(path)
    path.write_text("run,move,fast\n", encoding="utf-8")
    with pytest.raises(LabelError, match=r"m.csv, line 1: has more than two columns"):
        read_pairs(path)


def test_overlaps_in_seconds_keep_points_and_tell():
    events = (Event("a", 0.0, 10.0), Event("b", 2.0, 3.0, "t"), Event("p", 2.5))
    ruled = without_overlaps([VideoAnnotations("v", events)], "last")
    assert ruled.videos[0].events == (
        Event("a", 0.0, 2.0), Event("b", 2.0, 3.0, "t"), Event("p", 2.5), Event("a", 3.0, 10.0),
    )  # fmt: skip
    assert ruled.notes == ("v: intervals overlap, the last counts",)
    same = (Event("a", 0.0, 10.0), Event("a", 2.0, 3.0))
    assert without_overlaps([VideoAnnotations("v", same)], "error").notes == ()


NAMES = ["Talk_01.mp4", "Talk_02.mp4", "größe.avi", "a.mp4", "a.avi"]


@pytest.mark.parametrize(
    ("name", "video"),
    [("Talk_01.mp4", "Talk_01.mp4"), ("Talk_01", "Talk_01.mp4"), ("talk_02.MOV", "Talk_02.mp4"),
     ("gro\u0308ße", "größe.avi"), ("a.avi", "a.avi")],
)  # fmt: skip
def test_videos_match_by_name_stem_and_case(name, video):
    assert match_videos([name], NAMES) == {name: video}


@pytest.mark.parametrize(
    ("name", "videos"),
    [("2024-05-01 10.15.47", ["2024-05-01 10.15.30"]), ("P03.cam3", ["P03.cam1", "P03"]),
     ("P03", ["P03.cam1"]), ("P03.cam3.mp4", ["P03.cam1.mp4"])],
)  # fmt: skip
def test_what_follows_a_dot_is_a_part_of_a_name(name, videos):
    with pytest.raises(LabelError, match=f"video '{name}' is not among the"):
        match_videos([name], videos)


def test_suffixes_of_videos_and_annotations_are_none():
    suffixes = {suffix for one in FORMATS for suffix in one.suffixes} | {".mp4", ".MTS", ".mp4.csv"}
    for suffix in suffixes:
        name = f"10.15.30{suffix}"
        assert match_videos([name], ["10.15.30", "10.15.47"]) == {name: "10.15.30"}
        assert match_videos(["10.15.30"], [name, "10.15.47.mp4"]) == {"10.15.30": name}
    assert match_videos(["a.mp4.csv"], ["a", "a.mp4"]) == {"a.mp4.csv": "a.mp4"}
    assert match_videos(["A.dav"], ["a"], files={"a.dav": "a"}) == {"A.dav": "a"}


def test_files_uploaded_to_label_studio():
    name, paths = "a1b2c3d4-Soup.mp4", {"a1b2c3d4-Soup.mp4": "data/upload/1/a1b2c3d4-Soup.mp4"}
    assert match_videos([name], ["soup", "stew"], paths=paths) == {name: "soup"}
    assert match_videos([name], ["Soup", name], paths=paths) == {name: name}
    with pytest.raises(LabelError, match=f"video '{name}' is not among the 1 videos"):
        match_videos([name], ["Soup"])


def test_an_exact_name_goes_before_a_stem():
    assert match_videos(["a"], ["a.mp4", "a"]) == {"a": "a"}
    assert match_videos(["A"], ["a", "A"]) == {"A": "A"}


def test_a_table_of_names_and_what_matches_nothing():
    assert match_videos(["x"], NAMES, table={"x": "Talk_01"}) == {"x": "Talk_01.mp4"}
    with pytest.raises(LabelError) as error:
        match_videos(["Tolk_01"], NAMES, where="labels.csv")
    assert str(error.value) == (
        "labels.csv: video 'Tolk_01' is not among the 5 videos; the nearest are Talk_01.mp4, "
        "Talk_02.mp4; rename it, leave it out with --skip-unknown, or give a table with --names"
    )
    with pytest.raises(LabelError, match=r"video 'a' can be a.mp4 or a.avi; say which in a table"):
        match_videos(["a"], NAMES)


def test_neighbours_at_any_frame_do_not_overlap():
    """An end is the next one's start, bit by bit; start plus length would often be later."""
    edges = (np.arange(2000) * 0.0333333).tolist()
    firsts = [Event("cut", edges[i], edges[4 * i + 7]) for i in range(1, 400)]
    assert any(first.start + first.seconds > first.stop for first in firsts)
    for first in firsts:
        video = VideoAnnotations("v", (first, Event("stir", first.stop, first.stop + 1)))
        assert without_overlaps([video], "error").videos == (video,)
