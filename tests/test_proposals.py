"""Label next: planted videos, and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.proposals import (
    LOOK_WIDTH,
    MOST_KNOWN,
    Predicted,
    has_click,
    is_clicked,
    is_known,
    middle_half,
    propose,
    segment_looks,
)

SIX = [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10), (10, 12)]


def video(
    *doubts: float, known: str = "", lengths: tuple[float, ...] = (), look: float = 0.0
) -> Predicted:
    """Planted segments that look alike; `known` has a `k` for each that is."""
    return Predicted(
        np.full((len(doubts), 3), look),
        np.array(doubts),
        np.array(lengths or [1.0] * len(doubts)),
        np.array([one == "k" for one in known.ljust(len(doubts))]),
    )


def test_of_equally_new_looks_the_video_with_the_highest_mean_doubt_comes_first() -> None:
    videos = {"a": video(0.9, 0.1, 0.1), "b": video(0.5, 0.6), "c": video(0.2)}
    assert propose(videos) == ("b", 1, False)


def test_of_equal_doubts_the_video_that_looks_least_like_known_ones() -> None:
    known = video(0.1, known="k", look=5.0)
    videos = {"a": video(0.5, look=4.0), "b": video(0.5, look=9.0), "c": video(0.5, look=6.0)}
    assert propose({"known": known, **videos}) == ("b", 0, False)
    near = {"also": video(0.1, known="k", look=9.5), "far": video(0.5, look=0.0)}
    assert propose({"known": known, **videos, **near}) == ("far", 0, False)


def test_both_ranks_count() -> None:
    videos = {
        "known": video(0.0, known="k"),
        "unsure": video(0.9, look=0.1),
        "strange": video(0.1, look=9.0),
        "both": video(0.8, look=8.0),
        "neither": video(0.2, look=0.2),
    }
    assert propose(videos) == ("both", 0, False)


def test_doubt_and_strangeness_are_means_over_the_frames() -> None:
    one = Predicted(
        np.array([[0.0, 3.0], [4.0, 4.0]]),
        np.array([0.9, 0.1]),
        np.array([1.0, 9.0]),
        np.zeros(2, bool),
    )
    assert one.doubt == pytest.approx(0.18)
    known = np.array([[0.0, 0.0], [4.0, 5.0]])
    assert one.strangeness(known) == pytest.approx((1 * 3 + 9 * 1) / 10)
    assert one.strangeness(known[:0]) == 0


def test_of_very_many_known_segments_some_from_everywhere_are_compared() -> None:
    n = 5 * MOST_KNOWN
    looks = np.repeat([[0.0], [7.0]], n // 2, axis=0)
    many = Predicted(looks, np.zeros(n), np.ones(n), np.ones(n, bool))
    videos = {
        name: Predicted(np.array([[look]]), np.ones(1), np.ones(1), np.zeros(1, bool))
        for name, look in (("a", 0.0), ("b", 3.0), ("c", 7.0))
    }
    assert propose({"many": many, **videos}) == ("b", 0, False)


def test_a_video_that_was_begun_is_finished_first() -> None:
    videos = {"a": video(0.9, 0.9, look=9), "b": video(0.4, 0.2, 0.3, known="k"), "c": video(1.0)}
    assert propose(videos) == ("b", 2, True)


def test_done_videos_are_not_proposed() -> None:
    done = video(0.9, 0.9, known="kk")
    assert propose({"a": done, "b": video(0.0)}) == ("b", 0, False)
    assert propose({"a": done}) is None
    assert propose({}) is None


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
    for name in order:
        within = [videos[name].doubts[one.place] for one in asked if one.video == name]
        assert within == sorted(within, reverse=True)


def test_looks_keep_distances_in_few_numbers() -> None:
    means = np.random.default_rng(0).normal(size=(20, 500))
    looks = segment_looks(means)
    assert looks.shape == (20, LOOK_WIDTH)
    wide, narrow = (np.linalg.norm(one[:, None] - one[None], axis=-1) for one in (means, looks))
    upper = np.triu_indices(20, 1)
    ratios = narrow[upper] / wide[upper]
    assert ratios.mean() == pytest.approx(1, abs=0.1)
    assert ratios.std() < 0.2
    assert (segment_looks(means[:, :5]) == means[:, :5]).all()


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
