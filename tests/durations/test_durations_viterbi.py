from __future__ import annotations

import sys
import time

import numpy as np
import pytest
from durations_reference import (
    TableLengths,
    brute_force_durations,
    concave_table,
    integer_frames,
    planted_frames,
    random_frames,
    slow_viterbi_score,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.durations import LOG_FLOOR, LengthModel, segmentation_score, viterbi
from uvast.durations.viterbi import _segments_in_block
from uvast.errors import InputError
from uvast.segments import Segmentation

module = sys.modules["uvast.durations.viterbi"]  # the package's `viterbi` is the function
seeds = st.integers(0, 2**32 - 1)


def drawn_problem(seed, n_frames, n_segments, n_classes=3):
    generator = np.random.default_rng(seed)
    transcript = generator.integers(0, n_classes, min(n_segments, n_frames))
    return generator, transcript


@settings(max_examples=1500, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(1, 6))
def test_equals_brute_force_and_breaks_ties_towards_early_boundaries(seed, n_frames, n_segments):
    generator, transcript = drawn_problem(seed, n_frames, n_segments)
    frames = integer_frames(generator, n_frames, 3)
    lengths = TableLengths(concave_table(generator, 3, n_frames))
    durations, score, _ = brute_force_durations(frames, transcript, lengths)
    found = viterbi(frames, transcript, length_model=lengths)
    assert found.score == score
    np.testing.assert_array_equal(found.durations, durations)


@settings(max_examples=300, deadline=None)
@given(seeds, st.integers(1, 30), st.integers(1, 30), st.booleans())
def test_blocks_of_segments_change_nothing(seed, n_frames, n_segments, is_held):
    generator, transcript = drawn_problem(seed, n_frames, n_segments)
    frames = integer_frames(generator, n_frames, 3)
    lengths = TableLengths(concave_table(generator, 3, n_frames))
    held = np.sort(generator.choice(n_frames, len(transcript), replace=False)) if is_held else None
    whole = viterbi(frames, transcript, length_model=lengths, held=held)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_STARTS", 1)
        blocks = viterbi(frames, transcript, length_model=lengths, held=held)
    assert blocks.score == whole.score
    np.testing.assert_array_equal(blocks.durations, whole.durations)


@pytest.mark.parametrize(
    ("n_frames", "n_segments", "block"),
    [(5775, 20, 20), (100_000, 100, 100), (20_000, 10_000, 1677), (1_000_000, 500_000, 708)],
)
def test_the_starts_that_are_kept_are_few(n_frames, n_segments, block):
    low = np.arange(n_segments) + 1
    assert _segments_in_block(low, low + n_frames - n_segments) == block


@settings(max_examples=600, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(1, 5), st.sampled_from(["poisson", "gamma", "none"]))
def test_equals_brute_force_with_every_length_model(seed, n_frames, n_segments, kind):
    generator, transcript = drawn_problem(seed, n_frames, n_segments)
    frames = random_frames(generator, n_frames, 3)
    means = generator.uniform(0.5, 6, 3)
    shapes = tuple(generator.uniform(1, 8, 3)) if kind == "gamma" else ()
    lengths = LengthModel(kind, tuple(means), shapes)
    durations, score, scores = brute_force_durations(0.7 * frames, transcript, lengths)
    found = viterbi(frames, transcript, length_model=lengths, alpha=0.7)
    assert found.score == pytest.approx(score, abs=1e-9)
    if (scores > score - 1e-9).sum() == 1:
        np.testing.assert_array_equal(found.durations, durations)


@settings(max_examples=600, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))
def test_equals_brute_force_over_sampled_boundaries(seed, n_frames, n_segments, frame_sampling):
    generator, transcript = drawn_problem(seed, n_frames, n_segments)
    frames = integer_frames(generator, n_frames, 3)
    lengths = TableLengths(concave_table(generator, 3, n_frames))
    step = min(frame_sampling, n_frames // len(transcript))  # a finer grid where it has to be
    allowed = [*range(0, n_frames, step), n_frames]
    expected = brute_force_durations(frames, transcript, lengths, allowed=allowed)
    found = viterbi(frames, transcript, length_model=lengths, frame_sampling=frame_sampling)
    assert found.score == expected[1]
    np.testing.assert_array_equal(found.durations, expected[0])


@settings(max_examples=1000, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(1, 5), st.integers(1, 3))
def test_held_timestamps_equal_brute_force(seed, n_frames, n_segments, frame_sampling):
    generator, transcript = drawn_problem(seed, n_frames, n_segments)
    frames = integer_frames(generator, n_frames, 3)
    lengths = TableLengths(concave_table(generator, 3, n_frames))
    first = np.sort(generator.choice(n_frames, len(transcript), replace=False))
    last = generator.integers(first, np.append(first[1:], n_frames))
    held = np.stack((first, last), axis=1)
    step = min(frame_sampling, n_frames // len(transcript))
    allowed = [*range(0, n_frames, step), n_frames]
    expected = brute_force_durations(frames, transcript, lengths, allowed=allowed, held=held)
    options = {"length_model": lengths, "frame_sampling": frame_sampling, "held": held}
    if expected is None:
        with pytest.raises(InputError, match="lower frame_sampling"):
            viterbi(frames, transcript, **options)
        return
    found = viterbi(frames, transcript, **options)
    assert found.score == expected[1]
    np.testing.assert_array_equal(found.durations, expected[0])
    ends = np.cumsum(found.durations)
    assert (ends - found.durations <= first).all()
    assert (last < ends).all()
    alone = viterbi(frames, transcript, length_model=lengths, held=first)
    pairs = viterbi(frames, transcript, length_model=lengths, held=np.stack((first, first), axis=1))
    np.testing.assert_array_equal(alone.durations, pairs.durations)


@pytest.mark.parametrize("kind", ["poisson", "gamma", "none"])
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_slow_recurrence_on_longer_videos(kind, seed):
    generator = np.random.default_rng(seed)
    frames = random_frames(generator, 300, 5)
    transcript = generator.integers(0, 5, 14)
    shapes = tuple(generator.uniform(1, 20, 5)) if kind == "gamma" else ()
    lengths = LengthModel(kind, tuple(generator.uniform(2, 60, 5)), shapes)
    found = viterbi(frames, transcript, length_model=lengths)
    assert found.score == pytest.approx(slow_viterbi_score(frames, transcript, lengths), abs=1e-8)
    segmentation = Segmentation(transcript, found.durations)
    assert found.score == pytest.approx(
        segmentation_score(frames, segmentation, lengths, alpha=1.0), abs=1e-8
    )


@pytest.mark.parametrize("lengths", [None, LengthModel.poisson([9.0, 20.0, 4.0])])
def test_finds_a_planted_segmentation(lengths):
    truth = Segmentation(np.array([0, 1, 0, 2]), np.array([7, 25, 11, 3]))
    found = viterbi(planted_frames(truth, 3), truth.transcript, lengths)
    np.testing.assert_array_equal(found.durations, truth.durations)
    frame_score = 46 * np.log(0.9)
    expected = frame_score
    if lengths is not None:
        expected += lengths.score(truth.transcript, truth.durations).sum()
    assert found.score == pytest.approx(expected)


def test_poisson_lengths_share_the_frames_as_their_means_do():
    # With nothing to see, two segments of means 2 and 6 share 8 frames as their means do.
    found = viterbi(np.zeros((8, 2)), [0, 1], LengthModel.poisson([2.5, 6.5]))
    assert found.durations.tolist() == [2, 6]
    assert found.score == pytest.approx(0, abs=1e-12)


def test_a_held_timestamp_overrules_the_frames():
    truth = Segmentation(np.array([0, 1]), np.array([6, 4]))
    found = viterbi(planted_frames(truth, 2), [0, 1], held=[1, 3])
    assert found.durations.tolist() == [3, 7]


def test_golden_values():
    t = np.arange(24)[:, None]
    frames = -np.abs(np.sin(0.37 * t + 1.1 * np.arange(3)))
    found = viterbi(frames, [0, 2, 1, 0], LengthModel.poisson([5.0, 8.0, 6.0]))
    assert found.durations.tolist() == [2, 4, 10, 8]
    assert found.score == pytest.approx(-15.083230054867546, abs=1e-9)


def test_one_frame_and_one_segment():
    assert viterbi([[-1.0, -2.0]], [1]).durations.tolist() == [1]
    assert viterbi([[-1.0, -2.0]], [1]).score == -2
    assert viterbi(np.full((7, 2), -0.5), [0]).durations.tolist() == [7]
    assert viterbi(np.zeros((4, 2)), [0, 1, 0, 1]).durations.tolist() == [1, 1, 1, 1]


def test_equal_probabilities_give_the_earliest_boundaries():
    assert viterbi(np.full((9, 3), -1.0), [0, 1, 2]).durations.tolist() == [1, 1, 7]


def test_impossible_frames_count_as_the_floor():
    frames = np.full((6, 2), -np.inf)
    frames[:4, 0] = 0
    found = viterbi(frames, [0, 1])
    assert found.durations.tolist() == [4, 2]
    assert found.score == 2 * LOG_FLOOR
    assert viterbi(np.full((5, 2), -np.inf), [0, 1]).durations.sum() == 5


def test_an_hour_of_noise_is_refused_at_once():
    """It would take minutes: 100,000 frames, of which every second one has another label."""
    frames = np.zeros((100_000, 2), dtype=np.float32)
    noise = np.arange(50_000) % 2
    sentence = (
        "a transcript of 50,000 actions for 100,000 frames takes too long; it looks like noise: "
        "smooth the frame labels with mode_filter=25, or use semi-markov decoding"
    )
    started = time.perf_counter()
    with pytest.raises(InputError, match=sentence):
        viterbi(frames, noise)
    assert time.perf_counter() - started < 5
    # timestamps leave each boundary little room
    found = viterbi(frames, noise, held=2 * np.arange(50_000))
    assert found.durations.sum() == 100_000


def test_the_result_is_frozen():
    found = viterbi(np.zeros((3, 1)), [0])
    with pytest.raises(ValueError, match="read-only"):
        found.durations[0] = 1


@pytest.mark.parametrize(
    ("frames", "transcript", "options", "message"),
    [
        (np.zeros((3, 2)), [0, 1, 0, 1], {}, "4 actions for 3 frames"),
        (np.zeros((3, 2)), [], {}, "at least one action"),
        (np.zeros((3, 2)), [2], {}, "action 2"),
        (np.zeros((3, 2)), [-1], {}, "action -1"),
        (np.zeros((3, 2)), [0.0], {}, "not integers"),
        (np.zeros((0, 2)), [0], {}, "shape"),
        (np.zeros(3), [0], {}, "shape"),
        (np.full((3, 2), np.nan), [0], {}, "NaN"),
        (np.full((3, 2), np.inf), [0], {}, "infinite"),
        (np.zeros((3, 2)), [0], {"length_model": LengthModel.none(1)}, "1 classes for frames of 2"),
        (np.zeros((3, 2)), [0], {"frame_sampling": 0}, "frame sampling"),
        (np.zeros((4, 2)), [0, 1], {"frame_sampling": 2, "held": [0, 1]}, "lower frame_sampling"),
        (np.zeros((3, 2)), [0], {"alpha": 0.0}, "alpha"),
        (np.zeros((3, 2)), [0, 1], {"held": [1]}, "1 timestamps for 2 segments"),
        (np.zeros((3, 2)), [0, 1], {"held": [1, 3]}, "outside"),
        (np.zeros((5, 2)), [0, 1], {"held": [[0, 2], [2, 3]]}, "segments that overlap"),
        (np.zeros((5, 2)), [0], {"held": 2}, r"timestamps of shape \(\), not"),
        (np.zeros((5, 2)), [0, 1], {"held": [[1], [3]]}, r"timestamps of shape \(2, 1\)"),
        (np.zeros((5, 2)), [0, 1], {"held": [[0, 1, 2], [3, 3, 4]]}, r"of shape \(2, 3\)"),
    ],
)
def test_refuses_what_cannot_be(frames, transcript, options, message):
    with pytest.raises(InputError, match=message):
        viterbi(frames, transcript, **options)
