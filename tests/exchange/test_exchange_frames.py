"""Seconds to frames and back: no drift, one rule for overlaps, unlabelled is not background."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.errors import ConfigError, InputError, LabelError
from uvast.exchange import (
    ConstantRate,
    Event,
    PresentationTimes,
    Span,
    VideoAnnotations,
    exact_rate,
    frame_labels,
    frame_timestamps,
    from_frame_labels,
    parse_rate,
)
from uvast.exchange.frame_times import middles
from uvast.exchange.overlaps import first_conflict, painted
from uvast.segments import UNLABELLED, Segmentation

NTSC = Fraction(30000, 1001)
TWO_HOURS = 215_784


def test_two_hours_at_29_97_do_not_drift():
    """Boundaries in milliseconds, as ELAN has them: none is off by more than half a frame."""
    generator = np.random.default_rng(0)
    true = np.sort(generator.choice(TWO_HOURS, 4000, replace=False))
    exact = true * 1001 / 30000
    for times in (
        ConstantRate(parse_rate("29.97")),
        PresentationTimes(np.arange(TWO_HOURS) * 1001 / 30000),
    ):
        found = times.nearest_edges(np.round(exact, 3))
        np.testing.assert_array_equal(found, true)
        anywhere = generator.uniform(0, TWO_HOURS * 1001 / 30000, 4000)
        off = np.abs(times.edges(times.nearest_edges(anywhere)) - anywhere)
        assert off.max() <= 0.5 * 1001 / 30000 + 1e-9


def test_a_rate_read_literally_would_drift():
    literal = ConstantRate(Fraction(2997, 100))
    last = TWO_HOURS * 1001 / 30000
    assert abs(float(literal.edges(TWO_HOURS)) - last) > 0.2 / 29.97


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=40), st.floats(0, 3))
def test_edges_of_any_video_come_back(steps, first):
    times = PresentationTimes(first + np.cumsum([0.0, *steps[:-1]]))
    frames = np.arange(times.n_frames + 1)
    np.testing.assert_array_equal(times.nearest_edges(times.edges(frames)), frames)
    np.testing.assert_array_equal(times.frames_at(times.edges(frames[:-1])), frames[:-1])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0.002, 1.0), min_size=1, max_size=30),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
)
def test_labels_of_frames_come_back(steps, letters):
    n_frames = min(len(steps), len(letters))
    times = PresentationTimes(np.cumsum(steps[:n_frames]))
    labels = np.array(["abc".index(letter) for letter in letters[:n_frames]])
    video = from_frame_labels("v", labels, ["a", "b", "c"], times)
    found = frame_labels(video, times, names=["a", "b", "c", "background"])
    np.testing.assert_array_equal(found.labels, labels)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=10, unique=True), st.integers(1, 120))
def test_timestamps_come_back_even_if_rounded_to_milliseconds(frames, rate):
    times = ConstantRate(Fraction(rate), 201)
    stamps = np.sort(frames)
    labels = [f"l{frame}" for frame in stamps]
    seconds = np.round(middles(times, stamps), 3).tolist()
    rough = VideoAnnotations("v", tuple(map(Event, labels, seconds)))
    found = frame_timestamps(rough, times)
    np.testing.assert_array_equal(found.timestamps, stamps)
    assert found.labels == tuple(labels)


def test_only_labels_that_are_never_intervals_become_timestamps():
    video = VideoAnnotations("v", (Event("a", 1.0), Event("b", 2.0), Event("b", 3.0, 4.0)))
    assert frame_timestamps(video, ConstantRate(Fraction(10))).labels == ("a",)


def test_two_points_in_one_frame():
    video = VideoAnnotations("v", (Event("a", 1.0), Event("b", 1.01)))
    with pytest.raises(LabelError, match=r"v: 'a' and 'b' are both at frame 10; a frame has one"):
        frame_timestamps(video, ConstantRate(Fraction(10)))


AT_10 = ConstantRate(Fraction(10), 10)


def letters(found) -> str:
    return "".join("?" if i == UNLABELLED else found.names[i][0] for i in found.labels)


def test_gaps_are_background_or_unknown():
    video = VideoAnnotations("v", (Event("x", 0.2, 0.4), Event("y", 0.4, 0.5)))
    assert letters(frame_labels(video, AT_10)) == "bbxxybbbbb"
    found = frame_labels(video, AT_10, gaps="unknown")
    assert letters(found) == "??xxy?????"
    assert found.unknown == ((0, 2), (5, 10))
    assert found.names == ("x", "y")
    with pytest.raises(InputError, match=r"unknown frames has no segmentation"):
        _ = found.segmentation
    assert frame_labels(video, AT_10).segmentation.durations.tolist() == [2, 2, 1, 5]


def test_outside_of_what_was_looked_at_nothing_is_background():
    video = VideoAnnotations(
        "v", (Event("x", 0.2, 0.4),), observed=(Span(0.1, 0.5), Span(0.8, 0.9))
    )
    assert letters(frame_labels(video, AT_10)) == "?bxxb???b?"


def test_intervals_beyond_the_end_are_cut_and_short_ones_are_told():
    video = VideoAnnotations("v", (Event("x", 0.8, 3.0), Event("y", 0.51, 0.53), Event("z", 4, 5)))
    found = frame_labels(video, AT_10)
    assert letters(found) == "bbbbbbbbxx"
    assert found.notes == ("v: 2 intervals cover no frame or lie after the end",)


@pytest.mark.parametrize("seconds", [1.7e12, 1.7e9, 1e300])
def test_times_beyond_all_reason(seconds):
    """Such as milliseconds since 1970; asked for so many frames, a computer has no memory."""
    with pytest.raises(LabelError) as error:
        frame_labels(VideoAnnotations("v", (Event("x", 1.0, seconds),)), ConstantRate(NTSC))
    assert str(error.value) == (
        f"v: ends at {seconds:g} s and has more than 100 million frames; times count seconds from "
        "the video's start; correct them, or the frame rate"
    )


def test_a_video_that_says_it_has_more_frames_than_can_be():
    times = ConstantRate(NTSC, 2**48)
    with pytest.raises(LabelError, match="v: has more than 100 million frames"):
        frame_labels(VideoAnnotations("v", (Event("x", 1.0, 2.0),)), times)


@pytest.mark.parametrize(
    ("how", "expected"), [("first", "AAAAAACC"), ("last", "ABBACCCC"), ("longest", "AAAAAACC")]
)
def test_which_of_several_intervals_counts(how, expected):
    events = (Event("A", 0.0, 0.6), Event("B", 0.1, 0.3), Event("C", 0.4, 0.8))
    times = ConstantRate(Fraction(10), 8)
    found = frame_labels(VideoAnnotations("v", events), times, overlaps=how)
    assert letters(found) == expected
    assert found.notes == (f"v: intervals overlap, the {how} counts",)
    with pytest.raises(LabelError) as error:
        frame_labels(VideoAnnotations("v", events), times)
    assert str(error.value) == (
        "v: 'A' (0 to 0.6 s) and 'B' (0.1 to 0.3 s) overlap; correct them, choose a --tier, or "
        "pass --overlaps first, last or longest"
    )


def test_an_overlap_of_less_than_half_a_frame_is_none():
    events = (Event("A", 0.0, 0.301), Event("B", 0.299, 0.5))
    assert letters(frame_labels(VideoAnnotations("v", events), AT_10)) == "AAABBbbbbb"


SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 8)).map(lambda s: (s[0], s[0] + s[1])), max_size=8
)


@settings(max_examples=200, deadline=None)
@given(SPANS, st.sampled_from(["first", "last", "longest"]))
def test_painting_against_a_moment_by_moment_count(spans, how):
    keys = {
        "first": lambda i: (spans[i][0], i),
        "last": lambda i: (-spans[i][0], -i),
        "longest": lambda i: (spans[i][0] - spans[i][1], spans[i][0], i),
    }
    expected = []
    for moment in range(30):
        there = [i for i, (start, end) in enumerate(spans) if start <= moment < end]
        expected.append(min(there, key=keys[how]) if there else None)
    found: list[int | None] = [None] * 30
    for place, start, end in painted(spans, how):
        assert found[int(start) : int(end)] == [None] * int(end - start)
        found[int(start) : int(end)] = [place] * int(end - start)
    assert found == expected


@settings(max_examples=200, deadline=None)
@given(SPANS, st.data())
def test_conflicts_against_all_pairs(spans, data):
    labels = [data.draw(st.sampled_from("ab")) for _ in spans]
    some = any(
        labels[i] != labels[j] and max(spans[i][0], spans[j][0]) < min(spans[i][1], spans[j][1])
        for i in range(len(spans))
        for j in range(i)
    )
    found = first_conflict(spans, labels)
    assert (found is not None) == some
    if found is not None:
        i, j = found
        assert labels[i] != labels[j]
        assert max(spans[i][0], spans[j][0]) < min(spans[i][1], spans[j][1])


def test_a_label_that_is_no_class():
    video = VideoAnnotations("v", (Event("x", 0.2, 0.4),))
    with pytest.raises(
        LabelError, match=r"v: label 'x' is not among the classes; add it or map it"
    ):
        frame_labels(video, AT_10, names=["background", "y"])


@pytest.mark.parametrize(
    ("text", "rate"),
    [("25", Fraction(25)), ("29.97", NTSC), ("23.976", Fraction(24000, 1001)),
     ("59.94", Fraction(60000, 1001)), ("30000/1001", NTSC), ("12.5", Fraction(25, 2)),
     ("1", Fraction(1)), ("30", Fraction(30)), ("2997/100", Fraction(2997, 100))],
)  # fmt: skip
def test_frame_rates_as_people_write_them(text, rate):
    assert parse_rate(text) == rate


def test_exact_rates_of_numbers():
    assert exact_rate(29.97002997) == NTSC
    assert exact_rate(15.0) == 15


@pytest.mark.parametrize("text", ["0", "-3", "fast", "1/0", "nan", "1e9"])
def test_what_is_no_frame_rate(text):
    with pytest.raises(ConfigError, match=r"--fps: .* is not a frame rate; write for example 25"):
        parse_rate(text)


@pytest.mark.parametrize("times", [[], [[0.0]], [0.0, 0.0], [1.0, 0.5], [0.0, np.nan]])
def test_what_are_no_presentation_times(times):
    with pytest.raises(InputError, match=r"presentation times"):
        PresentationTimes(times)


def test_frames_after_the_end_go_on_at_the_usual_step():
    times = PresentationTimes([0.0, 0.5, 1.0])
    assert times.edges([3, 5]).tolist() == [1.5, 2.5]


def test_neighbours_that_meet_half_way_between_frames_do_not_overlap() -> None:
    """14.1 s is a tie at 15 frames a second; 3.8 + (14.1 - 3.8) is not 14.1."""
    times = PresentationTimes(np.round(np.arange(400) / 15, 6))
    video = VideoAnnotations("v", (Event("G12", 3.8, 14.1), Event("G13", 14.1, 423.7 / 18)))
    labels = frame_labels(video, times).labels
    assert Segmentation.from_labels(labels).transcript.tolist() == [0, 1, 2, 0]
