"""What a format can hold comes back equal; what it cannot is listed."""

from __future__ import annotations

import numpy as np
import pytest
from exchange_records import RATE, read_back, records, rounded, written
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from uvast.exchange import FORMATS, Event, Source, Span, VideoAnnotations, losses, recognised
from uvast.exchange.formats import format_named, read
from uvast.exchange.frames import from_frame_labels

BY_ROWS = ("ms-tcn", "deepethogram")
WRITABLE = [one for one in FORMATS if one.write is not None]
HELD = [one for one in WRITABLE if one.name not in BY_ROWS]


@pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.name)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_what_a_format_holds_comes_back(kind, data):
    n_videos = data.draw(st.integers(1, 3)) if "videos" in kind.holds else 1
    videos = [data.draw(records(kind)) for _ in range(n_videos)]
    assume(len({video.video for video in videos}) == n_videos)
    result = written(kind, videos)
    assert result.warnings == ()
    reading = read_back(kind, result.content, videos[0].video)
    assert reading.warnings == ()
    assert sorted(map(rounded, reading.videos), key=lambda v: v.video) == sorted(
        map(rounded, videos), key=lambda v: v.video
    )


@pytest.mark.parametrize("kind", HELD, ids=lambda kind: kind.name)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_what_is_written_is_recognised(kind, data):
    video = data.draw(records(kind))
    assume(video.events)
    source = Source(written(kind, [video]).content, f"x{kind.suffixes[0]}")
    found = recognised(source)
    assert found.read is kind.read


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["background", "cut meat", "stir"]), min_size=1, max_size=40))
def test_frame_labels_come_back(labels):
    kind = format_named("ms-tcn")
    text = "".join(f"{label}\n" for label in labels).encode()
    reading = read_back(kind, text, "v")
    assert reading.videos[0].duration == pytest.approx(len(labels) * 1001 / 30000)
    assert written(kind, reading.videos).content == text


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_a_table_of_behaviours_comes_back(rows):
    kind = format_named("deepethogram")
    lines = [",background,cut,stir"]
    for index, (known, cut, stir) in enumerate(rows):
        cells = [int(not (cut or stir)), int(cut), int(stir)] if known else [-1, -1, -1]
        lines.append(",".join(map(str, [index, *cells])))
    # a behaviour that never happens has no column in what is written
    assume(any(known and cut for known, cut, _ in rows))
    assume(any(known and stir for known, _, stir in rows))
    text = ("\n".join(lines) + "\n").encode()
    reading = read_back(kind, text, "v_labels")
    assert reading.videos[0].video == "v"
    assert written(kind, reading.videos).content == text


@pytest.mark.parametrize("name", ["boris", "boris-tabular", "boris-aggregated"])
@pytest.mark.parametrize("video", ["a;b.mp4", "a|b;c.mp4", "NA", "v.mp4"])
def test_boris_keeps_awkward_names_and_events_after_the_end(name, video):
    events = (
        Event("NA", 1.0, 2.0, "na", ("NA",), comment="not found"),
        Event("late", 3.5, 4.5),
        Event("later", 5.0, 6.0),
        Event("last", 7.0),
    )
    kept = VideoAnnotations(video, events, duration=4.0)
    kind = format_named(name)
    assert read_back(kind, written(kind, [kept]).content, "other").videos == (kept,)


EVERYTHING = VideoAnnotations(
    "v.mp4",
    (
        Event("cut", 1.0, 2.0, "hand", ("fast",), "Ann", 0.5, "sure?"),
        Event("look", 3.0, None, "eye", ("up",), "Bo", 0.25, "there"),
    ),
    observed=(Span(0.0, 12.0),),
    frame_rate=25.0,
    duration=12.0,
)
WORDS = {
    "points": "points", "tier": "tiers", "modifiers": "modifiers", "annotator": "annotators",
    "confidence": "confidences", "comment": "comments", "observed": "looked at",
    "frame_rate": "frame rate", "duration": "length",
}  # fmt: skip


@pytest.mark.parametrize("kind", WRITABLE, ids=lambda kind: kind.name)
def test_what_a_format_cannot_hold_is_listed(kind):
    told = " / ".join(losses(kind, [EVERYTHING]))
    for what, word in WORDS.items():
        assert (word in told) == (what not in kind.holds), what
    assert (
        losses(kind, [EVERYTHING])
        == written(kind, [EVERYTHING]).warnings[: len(losses(kind, [EVERYTHING]))]
    )


@pytest.mark.parametrize("kind", WRITABLE, ids=lambda kind: kind.name)
def test_what_was_listed_is_really_lost_and_nothing_else(kind):
    """Blanking what a format cannot hold changes nothing in its file but the warnings."""
    held = kind.holds

    def kept(event: Event) -> Event:
        return Event(
            event.label,
            event.start,
            event.end,
            event.tier if "tier" in held else "",
            event.modifiers if "modifiers" in held else (),
            event.annotator if "annotator" in held else "",
            event.confidence if "confidence" in held else None,
            event.comment if "comment" in held else "",
        )

    events = tuple(kept(e) for e in EVERYTHING.events if "points" in held or not e.is_point)
    blank = VideoAnnotations(
        "v.mp4",
        events,
        EVERYTHING.observed if "observed" in held else None,
        EVERYTHING.frame_rate if "frame_rate" in held else None,
        EVERYTHING.duration if "duration" in held else None,
    )
    first, second = written(kind, [EVERYTHING]), written(kind, [blank])
    if kind.name == "xlsx":  # a workbook holds the time of its making
        assert read(kind, Source(first.content, "a")) == read(kind, Source(second.content, "a"))
    else:
        assert first.content == second.content
    assert losses(kind, [blank]) == ()


def test_presentation_times_keep_frames(tmp_path):
    """A video of a variable rate: frames written and read by its own times are the same."""
    from uvast.exchange import PresentationTimes, Target
    from uvast.exchange.formats import write

    times = PresentationTimes(np.cumsum([0.04, 0.01, 0.2, 0.03, 0.04, 0.1, 0.02, 0.05]))
    labels = np.array([0, 0, 1, 1, 2, 2, 2, 0])
    video = from_frame_labels("v", labels, ["a", "b", "c"], times)
    for name in ("ms-tcn", "intervals", "label-studio"):
        kind = format_named(name)
        content = write(kind, [video], Target("v", times_of=lambda _: times)).content
        back = read(kind, Source(content, "v.txt", times_of=lambda _: times)).videos[0]
        spans = [(e.label, e.start, e.end) for e in video.events if e.label != "a" or e.start < 0.3]
        found = [(e.label, e.start, e.end) for e in back.events]
        assert set(spans) <= set(found), name
    assert RATE.n_frames is None
