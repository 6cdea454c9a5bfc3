"""Label next: planted videos, and brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from uvast.proposals import (
    Predicted,
    has_click,
    is_clicked,
    is_known,
    middle_half,
    propose,
)

SIX = [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10), (10, 12)]


def video(*doubts: float, known: str = "", lengths: tuple[float, ...] = ()) -> Predicted:
    """Planted segments; `known` has a `k` for each that is."""
    return Predicted(
        np.array(doubts),
        np.array(lengths or [1.0] * len(doubts)),
        np.array([one == "k" for one in known.ljust(len(doubts))]),
    )


def test_the_video_with_the_highest_mean_doubt_comes_first() -> None:
    videos = {"a": video(0.9, 0.1, 0.1), "b": video(0.5, 0.6), "c": video(0.2)}
    assert propose(videos) == ("b", 1, False)


def test_the_mean_is_that_of_the_frames() -> None:
    videos = {"a": video(0.9, 0.1, lengths=(1, 9)), "b": video(0.3, 0.3)}
    assert propose(videos) == ("b", 0, False)


def test_a_video_that_was_begun_is_finished_first() -> None:
    videos = {"a": video(0.9, 0.9), "b": video(0.4, 0.2, 0.3, known="k"), "c": video(1.0)}
    assert propose(videos) == ("b", 2, True)


def test_done_videos_are_not_proposed() -> None:
    done = video(0.9, 0.9, known="kk")
    assert propose({"a": done, "b": video(0.0)}) == ("b", 0, False)
    assert propose({"a": done}) is None
    assert propose({}) is None


def test_of_equals_the_first() -> None:
    assert propose({"a": video(0.5, 0.5), "b": video(0.5)}) == ("a", 0, False)


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=6), min_size=1, max_size=4))
def test_asking_again_and_again_goes_through_video_after_video(doubts: list[list[float]]) -> None:
    videos = {str(number): video(*one) for number, one in enumerate(doubts)}
    asked = []
    while (found := propose(videos)) is not None:
        asked.append(found)
        videos[found.video].known[found.place] = True
    order = list(dict.fromkeys(one.video for one in asked))
    assert [one.video for one in asked] == [
        name for name in order for _ in range(len(videos[name].doubts))
    ]
    assert len({one[:2] for one in asked}) == len(asked)
    means = [videos[name].doubt for name in order]
    assert means == sorted(means, reverse=True)
    for name in order:
        within = [videos[name].doubts[one.place] for one in asked if one.video == name]
        assert within == sorted(within, reverse=True)


def test_an_answer_tells_of_the_middle_half() -> None:
    assert middle_half(2.0, 10.0) == (4.0, 6.0, 8.0)


def test_a_segment_is_known_by_its_middle() -> None:
    labelled = [(2.0, 4.0), (6.0, 7.0)]
    segments = [(0, 3), (0, 4), (3, 5), (4, 6), (6, 7), (6, 9)]
    assert is_known(segments, labelled).tolist() == [False, True, False, False, True, False]
    assert is_known(segments, ()).tolist() == 6 * [False]
    assert is_known([], labelled).tolist() == []


@given(st.lists(st.integers(0, 24).map(lambda number: number / 2), max_size=6).map(sorted))
def test_segments_with_a_click(clicks: list[float]) -> None:
    inside = [any(start <= one < end for one in clicks) for start, end in SIX]
    assert has_click(SIX, clicks).tolist() == inside
    near = [any(inside[max(0, place - 1) : place + 2]) for place in range(6)]
    assert is_clicked(SIX, clicks).tolist() == near


def test_one_segment_that_a_model_adds_is_no_gap_and_the_rest_of_a_video_is() -> None:
    assert is_clicked(SIX, [1, 5, 7, 11]).all()
    assert is_clicked(SIX, [1, 3]).tolist() == [True, True, True, False, False, False]
    assert is_clicked([], [1.0]).tolist() == []
