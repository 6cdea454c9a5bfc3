"""Files as the tools write them, by hand after real ones; and what is wrong with some."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from uvast.errors import CorruptFileError, LabelError
from uvast.exchange import (
    ConstantRate,
    Event,
    PresentationTimes,
    Source,
    Span,
    Target,
    VideoAnnotations,
    recognised,
)
from uvast.exchange.formats import format_named, read, write

AT_25 = ConstantRate(Fraction(25))


def reading(content: str | bytes, place: str, kind: str | None = None, times=None):
    raw = content.encode() if isinstance(content, str) else content
    source = Source(raw, place, times_of=lambda _: times)
    found = recognised(source)
    if kind is not None:
        assert found.name == kind
    return read(found, source)


def spans(video) -> list[tuple[str, float, float | None]]:
    return [
        (e.label, round(e.start, 6), None if e.end is None else round(e.end, 6))
        for e in video.events
    ]


ELAN = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="2020-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0">
  <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">
    <MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/data/talk.wav" MIME_TYPE="audio/x-wav"/>
    <MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/data/my%20talk.mp4" MIME_TYPE="video/mp4"
      TIME_ORIGIN="500"/>
  </HEADER>
  <TIME_ORDER>
    <TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="1000"/>
    <TIME_SLOT TIME_SLOT_ID="ts2"/>
    <TIME_SLOT TIME_SLOT_ID="ts3"/>
    <TIME_SLOT TIME_SLOT_ID="ts4" TIME_VALUE="4000"/>
  </TIME_ORDER>
  <TIER LINGUISTIC_TYPE_REF="default-lt" TIER_ID="words" ANNOTATOR="Ann">
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1"
      TIME_SLOT_REF2="ts2"><ANNOTATION_VALUE>one</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts2"
      TIME_SLOT_REF2="ts3"><ANNOTATION_VALUE>two &amp; a half</ANNOTATION_VALUE>
      </ALIGNABLE_ANNOTATION></ANNOTATION>
    <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a3" TIME_SLOT_REF1="ts3"
      TIME_SLOT_REF2="ts4"><ANNOTATION_VALUE></ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
  </TIER>
  <TIER LINGUISTIC_TYPE_REF="sub" PARENT_REF="words" TIER_ID="parts">
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a4" ANNOTATION_REF="a1">
      <ANNOTATION_VALUE>o</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
    <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a5" ANNOTATION_REF="a1" PREVIOUS_ANNOTATION="a4">
      <ANNOTATION_VALUE>ne</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
  </TIER>
</ANNOTATION_DOCUMENT>
"""


def test_elan_interpolates_open_slots_and_follows_references():
    found = reading(ELAN, "x.eaf", "elan")
    video = found.videos[0]
    assert video.video == "my talk.mp4"
    assert spans(video) == [
        ("o", 1.5, 2.0), ("one", 1.5, 2.5), ("ne", 2.0, 2.5), ("two & a half", 2.5, 3.5),
    ]  # fmt: skip
    assert {e.annotator for e in video.events if e.tier == "words"} == {"Ann"}
    assert found.warnings == (
        "tier words: a time that ELAN leaves open is placed evenly between its neighbours "
        "(2 times)",
        "tier words: an annotation without text is left out",
    )


def test_elan_calls_many_videos_unknown():
    text = ELAN.replace("video/mp4", "unknown")
    assert reading(text, "talk.eaf", "elan").videos[0].video == "my talk.mp4"


def test_equal_records_make_equal_elan_files():
    """Slots of the same moment are in the order of the tiers."""
    events = tuple(Event("x", 1.0, 2.0, tier) for tier in "abcdefgh")
    texts = {
        write(format_named("elan"), [VideoAnnotations("v.mp4", tuple(map(replace, some)))],
              Target("v.eaf")).content
        for some in (events, events[::-1], events)
    }  # fmt: skip
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('TIME_VALUE="4000"', 'TIME_VALUE="4s"',
         "x.eaf, line 12: TIME_VALUE '4s' is not a number; correct it or remove it"),
        (' TIME_VALUE="4000"', "",
         "x.eaf, line 17: time slot 'ts2' has no time and no neighbours that have one; give the "
         "annotation a time in ELAN"),
        ('TIME_SLOT_REF2="ts4"', 'TIME_SLOT_REF2="ts9"',
         "x.eaf, line 20: time slot 'ts9' does not exist; correct it or remove it"),
        ('ANNOTATION_REF="a1"', 'ANNOTATION_REF="a7"',
         "x.eaf, line 24: refers to annotation 'a7', which has no time; correct it or remove it"),
        ("milliseconds", "NTSC-frames",
         "x.eaf, line 2: counts time in 'NTSC-frames'; save it again with ELAN, in milliseconds"),
    ],
)  # fmt: skip
def test_faults_of_elan_name_their_line(old, new, sentence):
    with pytest.raises(LabelError) as error:
        reading(ELAN.replace(old, new), "x.eaf")
    assert str(error.value) == sentence


def boris(events, **changes) -> str:
    observation = {
        "file": {"1": ["C:\\videos\\a.mp4", "/data/b.mp4"], "2": []},
        "type": "MEDIA",
        "time offset": 0.0,
        "media_info": {
            "length": {"C:\\videos\\a.mp4": 10.0, "/data/b.mp4": 20.0},
            "fps": {"C:\\videos\\a.mp4": 25.0},
        },
        "events": events,
        "observation time interval": [0, 0],
    }
    project = {
        "project_format_version": "7.0",
        "behaviors_conf": {
            "0": {"type": "State event", "key": "r", "code": "run"},
            "1": {"type": "Point event", "key": "j", "code": "jump"},
        },
        "observations": {"obs": observation | changes},
    }
    return json.dumps(project)


def test_boris_states_toggle_and_time_runs_on_over_media():
    events = [
        [1.0, "cat", "run", "fast|left", "quick"],
        [2.0, "dog", "run", "", ""],
        [3.0, "cat", "run", "fast|left", ""],
        [8.0, "cat", "jump", "", "", 200],
        [12.0, "dog", "run", "", ""],
        [15.0, "cat", "run", "", ""],
    ]
    found = reading(boris(events), "p.boris", "boris")
    first, second = found.videos
    assert (first.video, first.duration, first.frame_rate) == ("a.mp4", 10.0, 25.0)
    assert spans(first) == [("run", 1.0, 3.0), ("run", 2.0, 10.0), ("jump", 8.0, None)]
    assert first.events[0] == Event("run", 1.0, 3.0, "cat", ("fast", "left"), comment="quick")
    assert spans(second) == [("run", 0.0, 2.0), ("run", 5.0, 20.0)]
    assert found.warnings == (
        "observation obs: 'run' runs on into the next video; it is cut there",
        "observation obs: 'run' never stops; it ends at 30 s",
    )


def test_a_boris_observation_of_a_part_of_the_video():
    found = reading(boris([], **{"observation time interval": [2, 12]}), "p.boris")
    assert [video.observed for video in found.videos] == [(Span(2, 10),), (Span(0, 2),)]


def test_boris_adds_an_offset_to_the_times_of_events_and_not_to_the_observed_span():
    events = [[11.0, "", "run", "", ""], [15.1, "", "run", "", ""], [21.5, "", "jump", "", ""]]
    about = {"time offset": 10.0, "observation time interval": [2, 12]}
    first, second = reading(boris(events, **about), "p.boris").videos
    assert spans(first) == [("run", 1.0, 5.1)]
    assert spans(second) == [("jump", 1.5, None)]
    assert [first.observed, second.observed] == [(Span(2, 10),), (Span(0, 2),)]
    (back, _) = reading(boris([[-9.0, "", "jump", "", ""]], **{"time offset": -10}), "p").videos
    assert spans(back) == [("jump", 1.0, None)]
    with pytest.raises(LabelError) as error:
        reading(boris([[4.0, "", "jump", "", ""]], **{"time offset": 10.0}), "p.boris")
    assert str(error.value) == (
        "p.boris, observation obs, event 1: is 6 s before the video starts; correct it, or the "
        "observation's time offset, in BORIS"
    )


def test_boris_may_count_from_the_creation_date_of_a_video():
    made = 1_700_000_000
    one = {
        "file": {"1": ["a.mp4"]},
        "media_creation_date_as_offset": True,
        "media_info": {"length": {"a.mp4": 9.0}, "media_creation_time": {"/b/a.mp4": made}},
        "time offset": 2,
    }
    (video,) = reading(boris([[made + 3.25, "", "jump", "", ""]], **one), "p.boris").videos
    assert spans(video) == [("jump", 1.25, None)]
    for changes in ({"file": {"1": ["a.mp4", "b.mp4"]}}, {"media_info": {}}):
        with pytest.raises(LabelError, match=r"p.boris, observation obs: counts from the creation"):
            reading(boris([[made, "", "jump", "", ""]], **(one | changes)), "p.boris")
        assert reading(boris([], **(one | changes)), "p.boris").videos[0].events == ()


def test_faults_of_boris_name_the_event():
    with pytest.raises(
        LabelError, match=r"p.boris, observation obs, event 1: \[\"x\", .* is not an event"
    ):
        reading(boris([["x", "", "run", "", ""]]), "p.boris")
    with pytest.raises(
        LabelError, match=r"behaviors_conf.0.code: field required; save the project"
    ):
        reading('{"behaviors_conf": {"0": {}}, "observations": {}}', "p.boris")


def test_modifiers_that_nobody_chose_in_boris():
    """It writes None for each set of modifiers without a choice."""
    events = [[1.0, "", "run", "None|left", ""], [2.0, "", "run", "None|left", ""],
              [3.0, "", "jump", "None", ""]]  # fmt: skip
    first, _ = reading(boris(events), "p.boris", "boris").videos
    assert [event.modifiers for event in first.events] == [("left",), ()]
    table = TABULAR_9.replace(",run,,f,,", ",run,,None,f,")
    first, _ = reading(table, "t.csv", "boris-tabular").videos
    assert first.events[0].modifiers == ("f",)


def test_boris_codes_that_the_ethogram_lacks_are_points():
    found = reading(boris([[1.0, "", "fly", "", ""]]), "p.boris")
    assert spans(found.videos[0]) == [("fly", 1.0, None)]
    assert found.warnings == (
        "observation obs: 'fly' is not in the ethogram; it is read as points",
    )


OLD_BORIS = """Observation id,cats 1,,,,,,,
,,,,,,,,
Media file(s),,,,,,,,
Player #1,/data/cat.avi,,,,,,,
,,,,,,,,
Time,Media file path,Total length,FPS,Subject,Behavior,Behavioral category,Comment,Status
0.5,/data/cat.avi,60.0,25,tom,run,,,START
2.25,/data/cat.avi,60.0,25,tom,jump,,high,POINT
3.0,/data/cat.avi,60.0,25,tom,run,,,STOP
4.0,/data/cat.avi,60.0,25,tom,run,,,START
"""


def test_older_boris_tables_have_rows_before_the_header():
    found = reading(OLD_BORIS, "old.csv", "boris-tabular")
    video = found.videos[0]
    assert (video.video, video.duration, video.frame_rate) == ("cat.avi", 60.0, 25.0)
    assert spans(video) == [("run", 0.5, 3.0), ("jump", 2.25, None), ("run", 4.0, 60.0)]
    assert found.warnings == ("'run' never stops; it ends at 60 s",)


TABULAR_9 = (
    "Observation id,Observation date,Description,Observation duration,Observation type,Source,"
    "Time offset (s),Media duration (s),FPS,Subject,Behavior,Behavioral category,Modifier #1,"
    "Modifier #2,Behavior type,Time,Media file name,Image index,Image file path,Comment\n"
    "o,2024-01-01,,5,Media file(s),player #1:a.mp4;b.mp4,0,10.000;5.000,25.000;25.000,s,run,,f,,"
    "START,2.0,a.mp4,50,NA,\n"
    "o,2024-01-01,,5,Media file(s),player #1:a.mp4;b.mp4,0,10.000;5.000,25.000;25.000,s,run,,f,,"
    "STOP,4.0,a.mp4,100,NA,\n"
    "o,2024-01-01,,5,Media file(s),player #1:a.mp4;b.mp4,0,10.000;5.000,25.000;25.000,s,jump,,,,"
    "POINT,11.5,b.mp4,37,NA,\n"
)


def test_boris_9_with_several_media_and_rates_in_one_cell():
    first, second = reading(TABULAR_9, "t.csv", "boris-tabular").videos
    assert spans(first) == [("run", 2.0, 4.0)]
    assert first.events[0].modifiers == ("f",)
    assert (second.video, second.duration, second.frame_rate) == ("b.mp4", 5.0, 25.0)
    assert spans(second) == [("jump", 1.5, None)]


def test_boris_exports_keep_the_offset_in_their_times():
    shifted = TABULAR_9.replace("b.mp4,0,", "b.mp4,-1.5,")
    assert shifted != TABULAR_9
    first, second = reading(shifted, "t.csv", "boris-tabular").videos
    assert spans(first) == [("run", 3.5, 5.5)]
    assert spans(second) == [("jump", 3.0, None)]
    aggregated = (
        "Observation id,Source,Time offset (s),Media duration (s),Behavior,Start (s),Stop (s)\n"
        "o,player #1:v.mp4,10.0,60,run,11.5,12.5\n"
    )
    assert spans(reading(aggregated, "a.csv", "boris-aggregated").videos[0]) == [("run", 1.5, 2.5)]
    with pytest.raises(
        LabelError, match=r"a.csv, line 2: 'ten' is not a time offset; write seconds"
    ):
        reading(aggregated.replace("10.0", "ten"), "a.csv")
    with pytest.raises(LabelError, match=r"a.csv, line 2: is 1700000000 s after the video starts"):
        reading(aggregated.replace("11.5,12.5", "1700000010,1700000020"), "a.csv")


def test_boris_aggregated_points_have_no_duration():
    text = (
        "Observation id,FPS (frame/s),Subject,Behavior,Behavior type,Start (s),Stop (s),"
        "Duration (s),Media file name,Comment start\n"
        "o,NA,,run,STATE,1.5,2.5,1.0,v.mp4,\no,NA,,jump,POINT,3.5,3.5,NA,v.mp4,oh\n"
    )
    video = reading(text, "a.csv", "boris-aggregated").videos[0]
    assert spans(video) == [("run", 1.5, 2.5), ("jump", 3.5, None)]
    assert (video.frame_rate, video.events[1].comment) == (None, "oh")
    with pytest.raises(LabelError, match=r"a.csv, line 2: 'soon' is not a time; write seconds"):
        reading(text.replace("1.5,2.5", "soon,2.5"), "a.csv")


OBSERVER = (
    "Date_Time_Absolute_dmy_hmsf;Time_Relative_hms;Time_Relative_sf;Duration_sf;Observation;"
    "Event_Log;Subject;Behavior;Modifier_1;Modifier_2;Event_Type;Comment;\n"
    "01-02-2024 09:00:00,000;00:00:00;0,000;2,500;mouse;log1;tom;run;fast;;State start;oh;\n"
    "01-02-2024 09:00:01,000;00:00:01;1,000;1,500;mouse;log1;jerry;run;;;State start;;\n"
    "01-02-2024 09:00:02,250;00:00:02;2,250;0,000;mouse;log1;tom;jump;high;left;State point;;\n"
    "01-02-2024 09:00:02,500;00:00:02;2,500;0,000;mouse;log1;tom;run;fast;;State stop;;\n"
    "01-02-2024 09:00:02,500;00:00:02;2,500;0,000;mouse;log1;jerry;run;;;State stop;;\n"
    "01-02-2024 10:00:00,000;00:00:00;0,125;0,000;rat;log2;tom;jump;;;Point;;\n"
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_event_logs_of_the_observer(encoding):
    found = reading(OBSERVER.encode(encoding), "all logs.txt", "observer")
    first, second = found.videos
    assert (first.video, second.video) == ("mouse", "rat")
    assert spans(first) == [("run", 0.0, 2.5), ("run", 1.0, 2.5), ("jump", 2.25, None)]
    assert [event.tier for event in first.events] == ["tom", "jerry", "tom"]
    assert [event.modifiers for event in first.events] == [("fast",), (), ("high", "left")]
    assert [event.comment for event in first.events] == ["oh", "", ""]
    assert spans(second) == [("jump", 0.125, None)]
    assert found.warnings == ()


def test_event_logs_of_the_observer_with_few_columns():
    """Hours, minutes and seconds, and one video, which has the file's name."""
    text = (
        "Time_Relative_hmsf,Behavior,Event_Type\n"
        "0:01:02.500,run,state start\n0:01:04.000,run,state stop\n0:01:04.000,run,state start\n"
        "0:01:05.250,run,state stop\n"
    )
    (video,) = reading(text, "v.csv", "observer").videos
    assert video.video == "v"
    assert spans(video) == [("run", 62.5, 64.0), ("run", 64.0, 65.25)]


def test_the_next_start_of_a_state_may_stand_above_its_stop_of_the_same_moment():
    text = (
        "Observation,Time_Relative_sf,Behavior,Event_Type\n"
        "v,1,run,State start\nv,2,run,State start\nv,2,run,State stop\n"
        "v,3.5,run,State start\nv,3.5,run,State stop\nv,4,run,State stop\n"
    )
    (video,) = reading(text, "v.csv", "observer").videos
    assert spans(video) == [("run", 1.0, 2.0), ("run", 2.0, 3.5), ("run", 3.5, 4.0)]


def test_each_log_of_an_observation_has_its_own_states():
    text = (
        "Observation,Event_Log,Time_Relative_sf,Behavior,Event_Type\n"
        "v,a,1,run,State start\nv,b,1.5,run,State start\n"
        "v,a,2,run,State stop\nv,b,2.5,run,State stop\n"
    )
    (video,) = reading(text, "v.csv", "observer").videos
    assert spans(video) == [("run", 1.0, 2.0), ("run", 1.5, 2.5)]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("1,run,State start\n2,run,State start\n",
         "v.csv, line 3: 'run' starts twice; add the row that it lacks, or remove this one"),
        ("1,run,State start\n2,run,State start\n3,run,State stop\n",
         "v.csv, line 3: 'run' starts twice; add the row that it lacks, or remove this one"),
        ("1,run,State start\n2,run,State start\n3,run,State start\n",
         "v.csv, line 3: 'run' starts twice; add the row that it lacks, or remove this one"),
        ("2,run,State stop\n",
         "v.csv, line 2: 'run' stops without a start; add the row that it lacks, or remove this "
         "one"),
        ("1,run,State start\n2,jump,State point\n",
         "v.csv, line 2: 'run' never stops; add the row that it lacks, or remove this one"),
        ("2,run,State start\n1,run,State stop\n",
         "v.csv, line 3: 'run' stops before it starts (line 2); correct it or remove it"),
        ("-0.5,run,Point\n",
         "v.csv, line 2: '-0.5' is not a time since the start of the observation; write seconds, "
         "such as 12.5"),
        ("1,run,Stat\n",
         "v.csv, line 2: 'Stat' is not a type of event; write State start, State stop or Point"),
        ("1,,Point\n", "v.csv, line 2: an event at 1 s without a label; name it"),
    ],
)  # fmt: skip
def test_faults_of_an_event_log_name_the_row(rows, sentence):
    with pytest.raises(LabelError) as error:
        reading(f"Time_Relative_sf,Behavior,Event_Type\n{rows}", "v.csv", "observer")
    assert str(error.value) == sentence


def test_what_is_no_event_log_of_the_observer():
    with pytest.raises(LabelError, match="does not have the header of an event log of The Obs"):
        read(format_named("observer"), Source(OLD_BORIS.encode(), "old.csv"))


VIA = {
    "project": {"pname": "x", "vid_list": ["1"]},
    "attribute": {
        "1": {"aname": "TEMPORAL-SEGMENTS", "anchor_id": "FILE1_Z2_XY0", "type": 4,
              "options": {"0": "cut", "1": "stir"}},
        "2": {"aname": "hand", "anchor_id": "FILE1_Z2_XY0", "type": 1, "options": {}},
    },
    "file": {"1": {"fid": "1", "fname": "soup.mp4", "type": 4, "loc": 1, "src": ""}},
    "view": {"1": {"fid_list": ["1"]}},
    "metadata": {
        "1_a": {"vid": "1", "flg": 0, "z": [1.5, 2.5], "xy": [], "av": {"1": "1", "2": "left"}},
        "1_b": {"vid": "1", "flg": 0, "z": [3], "xy": [], "av": {"1": "0"}},
        "1_c": {"vid": "1", "flg": 0, "z": [4], "xy": [2, 1, 1, 5, 5], "av": {"1": "0"}},
    },
}  # fmt: skip


def test_via_options_texts_moments_and_regions():
    found = reading(json.dumps(VIA), "p.json", "via")
    video = found.videos[0]
    assert video.video == "soup.mp4"
    assert spans(video) == [("left", 1.5, 2.5), ("stir", 1.5, 2.5), ("cut", 3.0, None)]
    assert [event.tier for event in video.events] == ["hand", "", ""]
    assert found.warnings == ("regions of the picture are left out",)


def test_both_csv_exports_of_via():
    segments = (
        "# Exported using VGG Image Annotator (http://www.robots.ox.ac.uk/~vgg/software/via)\n"
        "# CSV_HEADER = metadata_id,file_list,temporal_segment_start,temporal_segment_end,"
        "metadata\n"
        '"1_a","[""soup.mp4""]",1.5,2.5,"{""TEMPORAL-SEGMENTS"":""cut""}"\n'
    )
    everything = (
        '# ATTRIBUTE = {"1":{"aname":"hand","options":{"7":"left"}}}\n'
        "# CSV_HEADER = metadata_id,file_list,flags,temporal_coordinates,spatial_coordinates,"
        "metadata\n"
        '"1_a","[""soup.mp4""]",0,"[1.5,2.5]","[]","{""1"":""7""}"\n'
    )
    assert reading(segments, "a.csv", "via-csv").videos[0].events == (Event("cut", 1.5, 2.5),)
    second = reading(everything, "a.csv", "via-csv").videos[0]
    assert second.events == (Event("left", 1.5, 2.5, "hand"),)
    with pytest.raises(LabelError, match=r"a.csv, line 3: has 4 columns, not 5"):
        reading(segments.replace("1.5,2.5", "1.5"), "a.csv")


def result(kind="timelinelabels", **value):
    return {"type": kind, "from_name": "timeline", "to_name": "video", "value": value}


def test_label_studio_annotations_go_before_predictions():
    task = {
        "id": 7,
        "data": {"video": "/data/upload/1/ab12-soup.mp4"},
        "annotations": [
            {"completed_by": {"email": "ann@lab"}, "result": [
                result(ranges=[{"start": 1, "end": 25}, {"start": 51, "end": 51}],
                       timelinelabels=["cut"]),
                result("timeserieslabels", start=3.5, end=4.5, instant=False,
                       timeserieslabels=["stir"]),
                result("videorectangle", sequence=[]),
            ]},
            {"was_cancelled": True, "result": []},
        ],
        "predictions": [{"model_version": "m", "result": []}],
    }  # fmt: skip
    found = reading(json.dumps([task]), "e.json", "label-studio", times=AT_25)
    video = found.videos[0]
    assert video.video == "ab12-soup.mp4"
    assert spans(video) == [("cut", 0.0, 1.0), ("cut", 2.02, None), ("stir", 3.5, 4.5)]
    assert {event.annotator for event in video.events} == {"ann@lab"}
    assert found.warnings == (
        "task 7: a skipped annotation is left out",
        "task 7: predictions are left out, as there are annotations",
        "task 7: results of type 'videorectangle' are left out",
    )


def test_label_studio_predictions_have_scores():
    one = result(ranges=[{"start": 1, "end": 50}], timelinelabels=["cut"]) | {"score": 0.75}
    task = {"data": {"video": "v.mp4", "fps": 25},
            "predictions": [{"model_version": "net", "result": [one]}]}  # fmt: skip
    video = reading(json.dumps(task), "e.json", "label-studio").videos[0]
    assert video.events == (Event("cut", 0.0, 2.0, annotator="net", confidence=0.75),)


def test_label_studio_json_min():
    """As the SDK's converter writes it."""
    task = {
        "video": "/data/local-files/?d=soup.mp4", "id": 3, "annotator": 1, "lead_time": 2.5,
        "hand": [{"ranges": [{"start": 45, "end": 85}], "timelinelabels": ["cut"]}],
    }  # fmt: skip
    found = reading(json.dumps([task]), "min.json", "label-studio", times=AT_25)
    assert found.videos[0].video == "soup.mp4"
    assert found.videos[0].events == (Event("cut", 1.76, 3.4, "hand", annotator="1"),)
    assert found.warnings == ()


def test_label_studio_exports_the_numbers_of_predictions_alone():
    one = result(ranges=[{"start": 1, "end": 50}], timelinelabels=["cut"])
    task = {"data": {"video": "v.mp4", "fps": "25"}, "predictions": [3, 4],
            "annotations": [{"result": [one]}]}  # fmt: skip
    found = reading(json.dumps([task]), "e.json", "label-studio")
    assert spans(found.videos[0]) == [("cut", 0.0, 2.0)]
    assert found.warnings == ()


@pytest.mark.parametrize("kind", ["label-studio", "label-studio-predictions"])
def test_label_studio_is_told_the_rate_of_a_video_whose_frames_have_times(kind):
    video = VideoAnnotations("v.mp4", (Event("cut", 0.1, 0.3),), frame_rate=10.0)
    times = PresentationTimes(np.arange(20) / 10)
    content = write(format_named(kind), [video], Target("out", lambda _: times)).content
    assert json.loads(content)[0]["data"] == {"video": "v.mp4", "fps": 10.0}


def test_label_studio_needs_a_frame_rate():
    task = {"data": {"video": "v.mp4"}, "annotations": [
        {"result": [result(ranges=[{"start": 1, "end": 2}], timelinelabels=["a"])]}]}  # fmt: skip
    with pytest.raises(LabelError) as error:
        reading(json.dumps(task), "e.json")
    assert str(error.value) == (
        "e.json: counts frames, but the frame rate of v.mp4 is not known; pass --fps, "
        "such as --fps 25"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"database": {"v": {"duration": 9, "annotations": [{"segment": [1, 2], "label": "a"}]}}},
        {"v": {"duration_second": 9, "annotations": [{"segment": [1, 2], "label": "a"}]}},
        {"results": {"v": [{"segment": [1, 2], "label": "a", "score": 0.5}]}},
    ],
)
def test_dialects_of_activitynet(value):
    video = reading(json.dumps(value), "a.json", "activitynet").videos[0]
    assert spans(video) == [("a", 1.0, 2.0)]
    assert video.duration == (None if "results" in value else 9)


def test_a_fault_of_activitynet_names_the_annotation():
    value = {"v": {"annotations": [{"segment": [3, 2], "label": "a"}]}}
    with pytest.raises(LabelError) as error:
        reading(json.dumps(value), "a.json")
    assert str(error.value) == (
        "a.json, video v, annotation 1: 'a' starts at 3 s and ends at 2 s; "
        "swap its times or remove it"
    )


SHEET = (
    "Video;Start;End;Label;Weather\nv.mp4;1,5;00:02,5;cut;sun\n/data/v.mp4;1:02:03,25;;look;rain\n"
)


@pytest.mark.parametrize(
    "content",
    [
        SHEET.encode(),
        b"\xef\xbb\xbf" + SHEET.encode(),
        SHEET.encode("utf-16"),
        SHEET.encode("utf-16-le"),
        SHEET.replace("\n", "\r\n").encode(),
        SHEET.replace("\n", "\r").encode(),
        ("My labels\n\nmade in March\n" + SHEET).encode(),
        SHEET.replace(";", "\t").encode(),
        SHEET.replace(",", ".").replace(";", ",").encode(),
    ],
    ids=["semicolons", "bom", "utf-16", "no bom", "crlf", "cr", "preamble", "tabs", "commas"],
)
def test_tables_of_all_countries(content):
    found = reading(content, "t.csv", "tsv" if b"\t" in content and b"\0" not in content else "csv")
    assert spans(found.videos[0]) == [("cut", 1.5, 2.5), ("look", 3723.25, None)]
    assert found.warnings == ("column 'weather' is not used",)


def test_tables_by_frames_and_of_points():
    frames = reading("video,start_frame,end_frame,label\nv,0,25,a\n", "t.csv", times=AT_25)
    assert spans(frames.videos[0]) == [("a", 0.0, 1.0)]
    points = reading("label,frame\na,25\n", "some/v.csv", times=AT_25).videos[0]
    assert (points.video, spans(points)) == ("v", [("a", 1.02, None)])
    with_rate = reading("video,frame,label,fps\nv,50,a,50\n", "t.csv").videos[0]
    assert (with_rate.frame_rate, spans(with_rate)) == (50.0, [("a", 1.01, None)])


@pytest.mark.parametrize("name", ["duration", "Duration (s)", "duration_seconds"])
def test_a_start_and_a_duration_are_an_interval(name):
    text = f"video,onset,{name},label\nv,0.1,0.2,cut\nv,1:05,3,stir\nv,2,0,beep\nv,4,,look\n"
    found = reading(text, "t.csv", "csv")
    assert spans(found.videos[0]) == [
        ("cut", 0.1, 0.3), ("beep", 2.0, None), ("look", 4.0, None), ("stir", 65.0, 68.0),
    ]  # fmt: skip
    told = "there is no column 'end'; 'duration' is how long each event lasts"
    assert found.warnings == (told,)


@pytest.mark.parametrize(
    ("header", "end"), [("start,end", 2.0), ("time,rate", None), ("start_frame,end_frame", 0.08)]
)
def test_a_duration_that_may_be_the_video_s_is_not_used(header, end):
    found = reading(f"video,{header},label,duration\nv,1,2,cut,60\n", "t.csv", "csv", times=AT_25)
    assert found.videos[0].events[0].end == end
    assert "column 'duration' is not used" in found.warnings


@pytest.mark.parametrize(
    "unit", ["(s)", " (s)", " [s]", " (sec)", "_s", "_sec", "(ms)", " [ms]", "_ms", "_msec"]
)
def test_columns_may_name_seconds_or_milliseconds(unit):
    factor = 1000 if "m" in unit else 1
    text = f"Video,Start{unit},End{unit},Label\nv,{2 * factor},{3.5 * factor},cut\nv,0:05,0:06,b\n"
    found = reading(text, "t.csv", "csv")
    assert spans(found.videos[0]) == [("cut", 2.0, 3.5), ("b", 5.0, 6.0)]
    assert found.warnings == ()


NO_ENDS = "there is no column for the ends or durations, so each row is a point"


@pytest.mark.parametrize(
    ("header", "notes"),
    [
        ("start,finish", ("column 'finish' is not used", NO_ENDS)),
        ("start,end_frame", ("column 'end_frame' is not used", NO_ENDS)),
        ("start_frame,end", ("column 'end' is not used", NO_ENDS)),
        ("time,duration", (
            "column 'duration' is not used",
            "each row is a point; if it lasts for its 'duration', name the column 'time' 'start'",
        )),
    ],
)  # fmt: skip
def test_a_table_without_ends_says_that_its_rows_are_points(header, notes):
    found = reading(f"video,{header},label\nv,1,2,cut\n", "t.csv", "csv", times=AT_25)
    assert found.videos[0].events[0].is_point
    assert found.warnings == notes


def test_a_row_without_an_end_frame_is_a_point():
    text = "video,start_frame,end_frame,label\nv,0,25,cut\nv,50,,look\n"
    found = reading(text, "t.csv", "csv", times=AT_25)
    assert spans(found.videos[0]) == [("cut", 0.0, 1.0), ("look", 2.02, None)]


@pytest.mark.parametrize("missing", ["NA", "NaN", "nan", "#N/A", "None"])
def test_numbers_that_are_missing(missing):
    """As R, pandas and spreadsheets write them; a label may well be called NA."""
    text = f"video,start,end,label,confidence\nv,1,2,NA,0.5\nv,3,{missing},look,{missing}\n"
    video = reading(text, "t.csv", "csv").videos[0]
    assert spans(video) == [("NA", 1.0, 2.0), ("look", 3.0, None)]
    assert [event.confidence for event in video.events] == [0.5, None]
    with pytest.raises(LabelError, match=r"t.csv, line 3: has no time; write seconds"):
        reading(text.replace("v,3,", f"v,{missing},"), "t.csv", "csv")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("frame,label\n" + "".join(f"{n},{'ab'[n // 20]}\n" for n in range(40)),
         "t.csv: has a row for every frame, but a row is one event; write the labels alone, one "
         "line per frame, into VIDEO.txt; or a row per event, with start_frame and end_frame"),
        ("time,behaviour,type\n1,cut,State start\n2,cut,State stop\n",
         "t.csv: has rows for starts and rows for ends (column 'type'); write one row per event, "
         "with its start and end; or name the columns as BORIS does: Time, Behavior and Behavior "
         "type"),
    ],
    ids=["frames", "states"],
)  # fmt: skip
def test_rows_that_are_no_events_are_refused(text, sentence):
    with pytest.raises(LabelError) as error:
        reading(text, "t.csv", "csv", times=AT_25)
    assert str(error.value) == sentence


def test_commas_in_most_cells_do_not_hide_that_a_table_is_split_by_semicolons():
    rows = "v;1,5;2,5;cut, slow, left\nv;3,5;4,5;cut, slow, left\n"
    found = reading(f"video;start;end;label\n{rows}", "t.csv", "csv")
    assert spans(found.videos[0]) == [
        ("cut, slow, left", 1.5, 2.5), ("cut, slow, left", 3.5, 4.5),
    ]  # fmt: skip


def test_predictions_of_uvast_are_read_by_their_seconds():
    text = (
        "label,start,end,confidence,start_seconds,end_seconds\n"
        "cut,0,30,0.9000,0.000,1.000\nstir,30,60,0.5000,1.000,2.000\n"
    )
    found = reading(text, "v.csv", "csv")
    assert spans(found.videos[0]) == [("cut", 0.0, 1.0), ("stir", 1.0, 2.0)]
    assert found.videos[0].events[0].confidence == 0.9
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("v,noon,2,a", "t.csv, line 2: 'noon' is not a time; write seconds, mm:ss or hh:mm:ss.mmm"),
        ("v,1:75,2,a", "t.csv, line 2: '1:75' is not a time; write seconds, mm:ss or hh:mm:ss.mmm"),
        ("v,3,2,a", "t.csv, line 2: 'a' starts at 3 s and ends at 2 s; swap its times or "
                    "remove it"),
        ("v,-0.5,2,a", "t.csv, line 2: 'a' is at -0.5 s; times count seconds from the video's "
                       "start"),
        ("v,1,2,", "t.csv, line 2: has no label; name it or remove the row"),
        ("v,,2,a", "t.csv, line 2: has no time; write seconds, mm:ss or hh:mm:ss.mmm"),
        ("v,1,5,2,5,a", "t.csv, line 2: has 6 cells, but the header has 4; put quotes around cells "
                        "that hold separators, such as a decimal comma"),
        ('v,1,2,"a', "t.csv, line 3: cannot be read as CSV (unexpected end of data); save it again "
                     "as CSV, with quotes around cells that hold separators"),
    ],
)  # fmt: skip
def test_a_fault_of_a_table_names_its_line(row, sentence):
    with pytest.raises(LabelError) as error:
        read(format_named("csv"), Source(f"video,start,end,label\n{row}\n".encode(), "t.csv"))
    assert str(error.value) == sentence


def test_audacity_points_and_frequencies():
    text = "0.500000\t1.500000\tcut\n\\\t100.0\t200.0\n2.000000\t2.000000\tlook\n3.0\t4.0\t\n"
    found = reading(text, "soup.txt", "audacity")
    assert found.videos[0].video == "soup"
    assert spans(found.videos[0]) == [("cut", 0.5, 1.5), ("look", 2.0, None)]
    assert found.warnings == (
        "frequency ranges are left out",
        "a label without text is left out",
    )


def test_audacity_times_below_zero():
    found = reading("-0.000000\t1.5\tcut\n", "soup.txt", "audacity")
    assert spans(found.videos[0]) == [("cut", 0.0, 1.5)]
    with pytest.raises(LabelError) as error:
        reading("1.0\t1.5\tcut\n-0.250000\t0.5\tlook\n", "soup.txt", "audacity")
    assert str(error.value) == (
        "soup.txt, line 2: 'look' is at -0.25 s; times count seconds from the video's start"
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1\n00:00:01,000 --> 00:00:02,000\ncut\n2\n00:00:03,000 --> 00:00:04,000\nstir\n", "srt"),
        ("WEBVTT\n\n00:01.000 --> 00:02.000\ncut\n00:03.000 --> 00:04.000\nstir\n", "vtt"),
    ],
)
def test_subtitles_without_empty_lines(text, kind):
    video = reading(text, f"v.{kind}", kind).videos[0]
    assert spans(video) == [("cut", 1.0, 2.0), ("stir", 3.0, 4.0)]


def test_a_label_that_is_a_number_is_not_the_next_cues_number():
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\n3\n00:03.000 --> 00:04.000\n4\n"
    (video,) = reading(text, "v.vtt").videos
    assert [one.label for one in video.events] == ["3", "4"]


def test_subtitles():
    srt = (
        "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>cut</i>\r\nthe meat\r\n\r\n"
        "2\r\n00:00:03,000 --> 00:00:04,000\r\n"
    )
    found = reading(srt, "v.srt", "srt")
    assert spans(found.videos[0]) == [("cut the meat", 1.0, 2.5)]
    assert found.warnings == ("a cue without text is left out",)
    vtt = (
        "WEBVTT - made by hand\n\nNOTE\n1 --> is no time\n\nSTYLE\n::cue {}\n\n"
        "cue-1\n00:01.000 --> 00:02.500 line:0\n<v Ann>a &lt;b&gt; <c.x>c</c>\n"
    )
    video = reading(vtt, "v.vtt", "vtt").videos[0]
    assert video.events == (Event("a <b> c", 1.0, 2.5, "Ann"),)
    with pytest.raises(LabelError, match=r"v.vtt, line 3: .* has no valid times"):
        reading("WEBVTT\n\n00:99:01.000 --> 00:00:02.000\nx\n", "v.vtt")


def test_lines_of_frames_count_from_one_with_inclusive_ends():
    """The look-alike of knot_tying: blanks at the ends, CRLF, two neighbours of one label."""
    text = "3 5 G12 \r\n6 8 G13 \r\n9 9 G13 \r\n"
    video = reading(text, "knots/S01.txt", "intervals", times=AT_25).videos[0]
    assert video.video == "S01"
    assert spans(video) == [("G12", 0.08, 0.2), ("G13", 0.2, 0.32), ("G13", 0.32, 0.36)]
    for bad in ("0 4 a", "5 4 a", "1 4", "1.5 4 a"):
        with pytest.raises(LabelError, match=r"S.txt, line 1: "):
            read(format_named("intervals"), Source(bad.encode(), "S.txt"))


def test_an_empty_line_among_frame_labels():
    with pytest.raises(LabelError, match=r"v.txt, line 2: has no label"):
        read(format_named("ms-tcn"), Source(b"a\n\nb\n", "v.txt", times_of=lambda _: AT_25))


def test_cvat_tracks_are_on_until_outside():
    text = """<?xml version="1.0"?><annotations><version>1.1</version><meta><task>
    <name>t</name><size>100</size><source>walk.mp4</source></task></meta>
    <track id="0" label="person">
      <box frame="10" outside="0"><attribute name="action">walk</attribute></box>
      <box frame="20" outside="0"><attribute name="action">run</attribute></box>
      <box frame="30" outside="1"><attribute name="action">run</attribute></box>
      <box frame="80" outside="0"><attribute name="action">run</attribute></box>
    </track></annotations>"""
    video = reading(text, "a.xml", "cvat", times=AT_25).videos[0]
    assert video.video == "walk.mp4"
    assert [(e.start, e.end, e.modifiers) for e in video.events] == [
        (0.4, 0.8, ("walk",)), (0.8, 1.2, ("run",)), (3.2, 4.0, ("run",)),
    ]  # fmt: skip
    assert video.observed == (Span(0.0, 4.0),)


@pytest.mark.parametrize(
    ("head", "seen"),
    [
        ("<task><size>100</size><start_frame>1000</start_frame><stop_frame>1099</stop_frame></task>",
         (40.0, 44.0)),
        ("<job><size>50</size><start_frame>1000</start_frame><stop_frame>1098</stop_frame></job>",
         (40.0, 43.96)),
        ("<task><size>1100</size></task>", (0.0, 44.0)),
        ("<task><size>1100</size><start_frame>0</start_frame><stop_frame>0</stop_frame></task>",
         (0.0, 44.0)),
    ],
    ids=["task", "job with a step", "no span", "a span that is too short"],
)  # fmt: skip
def test_cvat_tasks_of_a_part_of_the_video(head, seen):
    text = f"""<annotations><meta>{head}</meta><track id="0" label="run">
      <box frame="1075" outside="0"/></track></annotations>"""
    video = reading(text, "a.xml", "cvat", times=AT_25).videos[0]
    assert video.observed == (Span(*seen),)
    assert spans(video) == [("run", 43.0, seen[1])]


def opf(db: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("project", "!project\nname: x\nviewerSettings:\n- feed: /data/baby.mp4\n")
        archive.writestr("db", db)
    return out.getvalue()


def test_datavyu_cells():
    db = (
        "#4\nlook (MATRIX,true,)-code01|NOMINAL,code02|NOMINAL\n"
        "00:00:01:500,00:00:02:250,(mum,left\\, up)\n00:00:03:000,00:00:00:000,(toy,)\n"
        "00:00:04:000,00:00:05:000,(,)\nnote (TEXT,true,)\n01:00:00:001,01:00:00:002,hello\n"
    )
    found = reading(opf(db), "s.opf", "datavyu")
    video = found.videos[0]
    assert video.video == "baby.mp4"
    assert video.events == (
        Event("mum", 1.5, 2.25, "look", ("left, up",)),
        Event("toy", 3.0, None, "look"),
        Event("hello", 3600.001, 3600.002, "note"),
    )
    assert len(found.warnings) == 2
    with pytest.raises(LabelError, match=r"s.opf \(db\), line 3: 'huh' is neither a column nor"):
        reading(opf(db.replace("00:00:01:500,00:00:02:250,(mum,left\\, up)", "huh")), "s.opf")


def test_texts_of_datavyu_that_need_a_backslash():
    db = (
        "#4\nleft\\-hand (MATRIX,true,)-code01|NOMINAL,code02|NOMINAL\n"
        "00:00:01:000,00:00:02:000,(hand\\-over,a\\\\)\n"
        "note (TEXT,true,)\n00:00:03:000,00:00:04:000,one\\\n\\\ntwo\n"
        "00:00:05:000,00:00:06:000,three\n"
    )
    assert reading(opf(db), "s.opf", "datavyu").videos[0].events == (
        Event("hand-over", 1.0, 2.0, "left-hand", ("a\\",)),
        Event("one two", 3.0, 4.0, "note"),
        Event("three", 5.0, 6.0, "note"),
    )
    with pytest.raises(LabelError, match=r"s.opf \(db\), line 9: 'huh' is neither a column nor"):
        reading(opf(f"{db}huh"), "s.opf")


def test_anvil_in_utf_16_with_a_track_that_spans_another():
    text = """<?xml version="1.0" encoding="UTF-16"?><annotation><head>
    <video src="talk.avi"/></head><body>
    <track name="gesture" type="primary">
      <el index="0" start="1.5" end="2.5"><attribute name="hand">left</attribute>
        <attribute name="type">beat</attribute></el>
      <el index="1" start="3.0" end="4.0"><attribute name="type">point</attribute></el></track>
    <track name="unit" type="span" ref="gesture">
      <el index="0" start="0" end="1"><attribute name="type">phrase</attribute></el></track>
    </body></annotation>"""
    video = reading(text.encode("utf-16"), "t.anvil", "anvil").videos[0]
    assert video.video == "talk.avi"
    assert video.events == (
        Event("beat", 1.5, 2.5, "gesture", ("left",)),
        Event("phrase", 1.5, 4.0, "unit"),
        Event("point", 3.0, 4.0, "gesture"),
    )


BENTO = (
    "Bento annotation file\nMovie file(s):\nmice.seq\n\nStimulus name:\n"
    "Annotation start frame: 1\nAnnotation stop frame: 100\nAnnotation framerate: 25.000000\n\n"
    "List of channels:\nCh1\n\nList of annotations:\nattack\nmount\n\n"
    "Ch1----------\n>attack\nStart\t Stop\t Duration\n26\t50\t25\n\n>mount\nStart\tStop\tDuration\n"
)


def test_bento_by_frames_and_by_seconds():
    video = reading(BENTO, "m.annot", "bento").videos[0]
    assert (video.video, video.frame_rate) == ("mice.seq", 25.0)
    assert video.events == (Event("attack", 1.0, 2.0, "Ch1"),)
    assert video.observed == (Span(0.0, 4.0),)
    by_seconds = reading(BENTO.replace("26\t50", "1.04\t2"), "m.annot").videos[0]
    assert by_seconds.events == (Event("attack", 1.04, 2.0, "Ch1"),)


@pytest.mark.parametrize(
    ("movies", "video"),
    [
        (r"  C:\My Videos\day 1 top.seq C:\My Videos\day 1 front.seq ", "day 1 top.seq"),
        (" /data/a.xyz /data/b.xyz", "a.xyz"),
    ],
)
def test_bento_puts_paths_with_blanks_on_one_line(movies, video):
    text = BENTO.replace("Movie file(s):\nmice.seq", f"Movie file(s):{movies}")
    assert reading(text, "m.annot", "bento").videos[0].video == video


def test_what_nobody_recognises():
    with pytest.raises(LabelError, match=r"x.dat: is not in a format that uvast recognises"):
        reading("hello\nworld\n", "x.dat")
    with pytest.raises(CorruptFileError, match=r"x.json: is not valid JSON"):
        read(format_named("uvast"), Source(b"{", "x.json"))


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.csv", b"", "is empty; choose a file with labels"),
        ("x.csv", b"a,b\n1,2\n", "has no row that names its columns; name them video, start"),
        (
            "x.mp4",
            b"\0\0\0\x20ftypisom",
            "is a video, not labels; add it to a project with",
        ),
        ("x.gz", b"\x1f\x8b\x08", "is an archive, not labels; unpack it first"),
        (
            "x.mat",
            b"MATLAB 5.0 MAT-file",
            "is a MATLAB file, not labels; export the labels",
        ),
    ],
)
def test_what_is_no_file_of_labels(name, content, sentence):
    with pytest.raises(LabelError) as caught:
        recognised(Source(content, name))
    assert str(caught.value).startswith(f"{name}: {sentence}")


def test_a_newer_native_file():
    text = '{"format": "uvast annotations", "version": 2, "videos": []}'
    with pytest.raises(LabelError, match=r"has version 2, but this uvast reads 1; install a newer"):
        reading(text, "v.json", "uvast")


def test_frames_that_nobody_labelled_are_no_class_of_frame_texts():
    text = "reach\n" * 25 + "unlabelled\n" * 25 + "grasp\n" * 50
    (video,) = reading(text, "soup.txt", "ms-tcn", times=AT_25).videos
    assert spans(video) == [("reach", 0.0, 1.0), ("grasp", 2.0, 4.0)]
    assert video.observed == (Span(0.0, 1.0), Span(2.0, 4.0))
    with pytest.raises(LabelError, match="holds no labels"):
        reading("unlabelled\n" * 9, "soup.txt", "ms-tcn", times=AT_25)


TWO_MICE = [
    pytest.param(
        "video,start,end,label\n/d/mouse1/video.mp4,1,2,groom\n/d/mouse2/video.mp4,3,4,rear\n",
        "csv",
        id="table",
    ),
    pytest.param(
        r"""{"behaviors_conf": {"0": {"code": "groom", "type": "Point event"},
        "1": {"code": "rear", "type": "Point event"}}, "observations": {
        "a": {"file": {"1": ["C:\\d\\mouse1\\video.mp4"]}, "events": [[1, "", "groom"]]},
        "b": {"file": {"1": ["C:\\d\\mouse2\\video.mp4"]}, "events": [[3, "", "rear"]]}}}""",
        "boris",
        id="boris",
    ),
    pytest.param(
        "Observation id,Source,Media file name,Subject,Behavior,Behavior type,Time,Comment\n"
        "a,player #1:/d/mouse1/video.mp4,/d/mouse1/video.mp4,,groom,POINT,1,\n"
        "b,player #1:/d/mouse2/video.mp4,/d/mouse2/video.mp4,,rear,POINT,3,\n",
        "boris-tabular",
        id="boris-tabular",
    ),
    pytest.param(
        "Source,Media file name,Subject,Behavior,Behavior type,Time,Comment\n"
        "/d/mouse1/video.mp4,/d/mouse1/video.mp4,,groom,POINT,1,\n"
        "/d/mouse2/video.mp4,/d/mouse2/video.mp4,,rear,POINT,3,\n",
        "boris-tabular",
        id="boris-tabular without observations",
    ),
    pytest.param(
        """{"attribute": {}, "file": {"1": {"fname": "/d/mouse1/video.mp4"},
        "2": {"fname": "/d/mouse2/video.mp4"}}, "view": {"1": {"fid_list": ["1"]},
        "2": {"fid_list": ["2"]}}, "metadata": {"a": {"vid": "1", "z": [1], "av": {"x": "groom"}},
        "b": {"vid": "2", "z": [3], "av": {"x": "rear"}}}}""",
        "via",
        id="via",
    ),
    pytest.param(
        "# CSV_HEADER = metadata_id,file_list,temporal_segment_start,temporal_segment_end,metadata"
        '\n"a","[""/d/mouse1/video.mp4""]",1,2,"{""x"":""groom""}"'
        '\n"b","[""/d/mouse2/video.mp4""]",3,4,"{""x"":""rear""}"\n',
        "via-csv",
        id="via-csv",
    ),
    pytest.param(
        json.dumps(
            [
                {"data": {"video": f"/d/{folder}/video.mp4"}, "annotations": [{"result": [
                    {"type": "labels", "value": {"start": 1, "end": 2, "labels": [label]}}]}]}
                for folder, label in (("mouse1", "groom"), ("mouse2", "rear"))
            ]
        ),
        "label-studio",
        id="label-studio",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), TWO_MICE)
def test_two_videos_of_one_file_name_stay_two(text, kind):
    found = reading(text, "two.x", kind)
    assert {video.video: video.labels for video in found.videos} == {
        "mouse1/video.mp4": ("groom",), "mouse2/video.mp4": ("rear",),
    }  # fmt: skip


def test_one_video_under_several_spellings_is_one():
    rows = (r"d\mouse1\video.mp4", "/d/mouse1/video.mp4", "./d/mouse1//video.mp4")
    text = "video,start,end,label\n" + "".join(f"{row},1,2,{n}\n" for n, row in enumerate(rows))
    (video,) = reading(text, "t.csv", "csv").videos
    assert (video.video, len(video.events)) == ("video.mp4", 3)


CVAT_PROJECT = """<annotations><meta><project><id>1</id><name>mice</name><tasks>
  <task><id>3</id><name>{}</name><size>100</size></task>
  <task><id>5</id><name>{}</name><size>50</size></task></tasks></project></meta>
  <track id="0" label="groom" task_id="3"><box frame="10" outside="0"/></track>
  <track id="1" label="rear" task_id="{}"><box frame="{}" outside="0"/></track></annotations>"""


def test_cvat_tasks_of_a_project_are_videos_of_their_own():
    """CVAT counts the frames of a project on from task to task."""
    text = CVAT_PROJECT.format("m1.mp4", "m2.mp4", 5, 120)
    found = reading(text, "a.xml", "cvat", times=AT_25)
    assert [(v.video, spans(v), v.observed) for v in found.videos] == [
        ("m1.mp4", [("groom", 0.4, 4.0)], (Span(0.0, 4.0),)),
        ("m2.mp4", [("rear", 0.8, 2.0)], (Span(0.0, 2.0),)),
    ]


def test_cvat_tasks_of_a_project_have_spans_of_their_own():
    """Each covers another part of its video; the numbers begin anew in another subset."""

    def task(number: int, subset: str, size: int, first: int, last: int, step: str = "") -> str:
        return (
            f"<task><id>{number}</id><name>m{number}.mp4</name><size>{size}</size>"
            f"<subset>{subset}</subset><start_frame>{first}</start_frame>"
            f"<stop_frame>{last}</stop_frame><frame_filter>{step}</frame_filter></task>"
        )

    def track(task: int, frame: int, end: int) -> str:
        return (
            f'<track id="0" label="run" task_id="{task}"><box frame="{frame}" outside="0"/>'
            f'<box frame="{end}" outside="1"/></track>'
        )

    tasks = (
        task(1, "test", 100, 1000, 1099),
        task(2, "test", 20, 50, 145, "step=5"),
        task(3, "test", 25, 0, 24),
        task(4, "train", 50, 25, 74),
    )
    shown = (
        *(track(1, 1025, 1050), track(2, 1100 + 75, 1100 + 100)),
        *(track(3, 1250 + 0, 1250 + 25), track(4, 50, 75)),
    )
    text = (
        f"<annotations><meta><project><tasks>{''.join(tasks)}</tasks></project></meta>"
        f"{''.join(shown)}</annotations>"
    )
    found = reading(text, "a.xml", "cvat", times=AT_25).videos
    assert [(v.video, spans(v), v.observed) for v in found] == [
        ("m1.mp4", [("run", 41.0, 42.0)], (Span(40.0, 44.0),)),
        ("m2.mp4", [("run", 3.0, 4.0)], (Span(2.0, 5.84),)),
        ("m3.mp4", [("run", 0.0, 1.0)], (Span(0.0, 1.0),)),
        ("m4.mp4", [("run", 2.0, 3.0)], (Span(1.0, 3.0),)),
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            CVAT_PROJECT.format("m.mp4", "m.mp4", 5, 120),
            r"two tasks are called 'm.mp4'; export each",
        ),
        (
            CVAT_PROJECT.format("m1.mp4", "m2.mp4", 7, 120),
            r"does not say which video each belongs to",
        ),
        (CVAT_PROJECT.format("m1.mp4", "", 5, 120), r"a task has no name"),
        (
            CVAT_PROJECT.format("m1.mp4", "m2.mp4", 5, 20),
            r"line 5: frame 20 is not among its task's frames in this project, 100 to 149; export",
        ),
        (
            "<annotations><meta><task><id>3</id><name>m1.mp4</name><size>100</size></task>"
            "<task><id>5</id><name>m2.mp4</name><size>50</size></task></meta>"
            '<track id="0" label="rear"><box frame="10" outside="0"/></track></annotations>',
            r"does not say which video each belongs to",
        ),
    ],
)
def test_cvat_tasks_that_cannot_be_told_apart_are_refused(text, sentence):
    with pytest.raises(LabelError, match=sentence):
        reading(text, "a.xml", "cvat", times=AT_25)
