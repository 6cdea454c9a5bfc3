"""Agreement of two annotators: planted answers, and kappa against its definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.errors import InputError, LabelError
from uvast.evaluation.agreement import Differences, Pair, agreement, cohens_kappa
from uvast.evaluation.annotations import compare_annotations
from uvast.exchange import ConstantRate, Event, Span, VideoAnnotations
from uvast.segments import Segmentation
from uvast.vocabulary import Vocabulary

CLASSES = Vocabulary(("-", "A", "B"), ("-",))


def pair(first: str, second: str, rate: float = 10.0) -> Pair:
    sides = [Segmentation.from_labels(["-AB".index(c) for c in text]) for text in (first, second)]
    return Pair(sides[0], sides[1], np.arange(len(first) + 1) / rate)


def test_the_textbook_example():
    """Of 50 grants both say yes to 20 and no to 15: kappa 0.4 (Cohen's own kind of table)."""
    assert cohens_kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40))
def test_kappa_against_its_definition(frames):
    first, second = np.array(frames).T
    confusion = np.zeros((3, 3), dtype=np.int64)
    np.add.at(confusion, (first, second), 1)
    observed = np.mean(first == second)
    chance = sum(np.mean(first == c) * np.mean(second == c) for c in range(3))
    expected = math.nan if chance >= 1 else (observed - chance) / (1 - chance)
    assert cohens_kappa(confusion) == pytest.approx(expected, nan_ok=True)


def test_nothing_and_one_label_have_no_kappa():
    assert math.isnan(cohens_kappa(np.zeros((2, 2), dtype=np.int64)))
    assert math.isnan(cohens_kappa(np.array([[5, 0], [0, 0]])))


def test_boundaries_of_matched_segments():
    found = agreement([pair("--AAAA--BBB-", "---AAAAABBBB")], CLASSES)
    # A starts 1 frame later and ends 2 later; B starts together and ends 1 later, at the edge
    assert (found.n_first, found.n_second, found.n_matched) == (2, 2, 2)
    assert found.starts == Differences(
        2, pytest.approx(0.05), pytest.approx(0.095), pytest.approx(0.05)
    )
    assert found.ends.n == 2
    assert found.ends.shift == pytest.approx(0.15)
    assert found.acc == pytest.approx(100 * 8 / 12)
    assert found.f1 == {10: 100.0, 25: 100.0, 50: 100.0}
    assert found.confusion.tolist() == [[2, 2, 1], [1, 3, 0], [0, 0, 3]]


def test_a_boundary_that_is_the_videos_own_edge_counts_for_nobody():
    found = agreement([pair("AAAB", "AABB")], CLASSES)
    assert (found.starts.n, found.ends.n) == (1, 1)
    assert found.ends.shift == pytest.approx(-0.1)


def test_a_segment_that_is_cut_in_two_matches_once():
    found = agreement([pair("AAAAAAAA", "AAAAA-AA")], CLASSES)
    assert (found.n_first, found.n_second, found.n_matched) == (1, 2, 1)
    assert found.ends.shift == pytest.approx(-0.3)


def test_background_boundaries_are_nobodys():
    found = agreement([pair("----", "----")], CLASSES)
    assert (found.n_matched, found.starts.n) == (0, 0)
    values = found.as_dict()
    assert values["kappa"] is None
    assert values["starts"]["median_seconds"] is None


def test_edges_have_to_fit():
    one = pair("AB", "AB")
    with pytest.raises(InputError, match=r"2 edges for 2 frames"):
        agreement([one._replace(edges=one.edges[:-1])], CLASSES)


AT_10 = ConstantRate(Fraction(10))


def video(name: str, *events: Event, **more) -> VideoAnnotations:
    return VideoAnnotations(name, events, **more)


def test_videos_match_by_stem_and_the_rest_is_listed():
    first = [video("a.mp4", Event("x", 0, 1)), video("b.mp4", Event("x", 0, 1))]
    second = [video("a", Event("x", 0, 1)), video("c", Event("x", 0, 1))]
    found = compare_annotations(first, second, times_of=lambda _: AT_10)
    assert list(found.videos) == ["a.mp4"]
    assert found.notes == ("b.mp4: only the first side has it", "c: only the second side has it")


def test_names_with_dots_are_never_mixed_up():
    first = [video("P03.cam1", Event("x", 0, 1)), video("P04", Event("x", 0, 1))]
    second = [video("P03.cam2", Event("x", 0, 1)), video("P04", Event("x", 0, 1))]
    found = compare_annotations(first, second, times_of=lambda _: AT_10)
    assert list(found.videos) == ["P04"]
    assert found.notes == (
        "P03.cam1: only the first side has it", "P03.cam2: only the second side has it",
    )  # fmt: skip


def test_equal_names_go_first():
    first = [video("a.mp4", Event("x", 0, 1)), video("a", Event("y", 0, 1))]
    found = compare_annotations(first, [*first[1:], first[0]], times_of=lambda _: AT_10)
    assert (list(found.videos), found.agreement.acc) == (["a.mp4", "a"], 100)
    second = [first[1], video("b", Event("x", 0, 1))]
    found = compare_annotations(first, second, times_of=lambda _: AT_10)
    assert (list(found.videos), found.agreement.acc) == (["a"], 100)


def test_what_one_side_never_saw_is_left_out():
    first = [video("a", Event("x", 0, 1), observed=(Span(0, 2),), duration=4.0)]
    second = [video("a", Event("x", 0, 1), Event("y", 3, 4))]
    found = compare_annotations(first, second, times_of=lambda _: AT_10)
    assert found.agreement.n_frames == 20
    assert found.agreement.acc == 100
    assert found.notes == ("a: 20 frames without labels are left out",)
    unknown = compare_annotations(first, second, times_of=lambda _: AT_10, gaps="unknown")
    assert unknown.agreement.n_frames == 10


def test_the_rate_of_the_files_or_the_usual_one():
    first, second = [video("a", Event("x", 0, 2), frame_rate=50.0)], [video("a", Event("x", 0, 2))]
    assert compare_annotations(first, second, times_of=lambda _: None).agreement.n_frames == 100
    found = compare_annotations(second, second, times_of=lambda _: None)
    assert found.agreement.n_frames == 50
    assert found.notes == ("a: compared at 25 frames a second",)


def test_times_since_1970_are_a_sentence():
    late = [video("a", Event("x", 1.7e12, 1.7e12 + 2))]
    with pytest.raises(LabelError, match=r"a: ends at 1.7e\+12 s and has more than 100 million"):
        compare_annotations(late, late, times_of=lambda _: None)


def test_one_video_on_each_side_needs_no_name_but_a_note():
    cut = Event("cut", 0.0, 1.0)
    found = compare_annotations([video("v.mp4", cut)], [video("w", cut)], times_of=lambda _: None)
    assert "v.mp4 is compared with w: each side has one video" in found.notes
    same = compare_annotations([video("v.mp4", cut)], [video("v", cut)], times_of=lambda _: None)
    assert not [one for one in same.notes if "is compared with" in one]


def test_points_are_not_compared_with_intervals():
    with pytest.raises(LabelError, match="w: one side has points and no intervals; compare files"):
        compare_annotations(
            [video("v", Event("cut", 0.0, 1.0))],
            [video("w", Event("cut", 1.0))],
            times_of=lambda _: None,
        )


def test_nothing_to_compare():
    points, some = [video("a", Event("x", 1.0))], [video("a", Event("x", 1.0, 2.0))]
    with pytest.raises(LabelError, match=r"there are no intervals to compare"):
        compare_annotations(points, points, times_of=lambda _: AT_10)
    others = [video("b", Event("x", 1.0, 2.0)), video("c", Event("x", 1.0, 2.0))]
    with pytest.raises(LabelError, match=r"no video is on both sides"):
        compare_annotations(some, others, times_of=lambda _: AT_10)
