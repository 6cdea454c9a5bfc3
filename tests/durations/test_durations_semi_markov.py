from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from durations_reference import (
    TableLengths,
    all_segmentations,
    concave_table,
    integer_frames,
    planted_frames,
    random_frames,
    slow_semi_markov_score,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.durations import (
    LengthModel,
    Transitions,
    segmentation_score,
    semi_markov,
    viterbi,
)
from uvast.errors import InputError
from uvast.segments import Segmentation

seeds = st.integers(0, 2**32 - 1)


def integer_transitions(generator, n_classes, forbidden=0.2):
    initial = generator.integers(-3, 1, n_classes).astype(float)
    bigram = generator.integers(-3, 1, (n_classes, n_classes)).astype(float)
    bigram[generator.random(bigram.shape) < forbidden] = -np.inf
    initial[1:][generator.random(n_classes - 1) < forbidden] = -np.inf
    np.fill_diagonal(bigram, -np.inf)
    return Transitions(initial, bigram)


def with_ends(generator, transitions):
    shares = generator.choice([0.0, 0.25, 0.5, 1.0], transitions.n_classes)
    with np.errstate(divide="ignore"):
        return replace(transitions, final=np.log(shares))


def key_from_the_end(segmentation):
    """The documented order of ties: last action, its start, the action before, its start, …"""
    pairs = zip(segmentation.transcript.tolist(), segmentation.starts.tolist(), strict=True)
    return tuple(reversed(tuple(pairs)))


@settings(max_examples=500, deadline=None)
@given(seeds, st.integers(1, 6), st.integers(1, 3))
def test_equals_brute_force_over_all_segmentations_and_its_ties(seed, n_frames, n_classes):
    generator = np.random.default_rng(seed)
    frames = integer_frames(generator, n_frames, n_classes)
    lengths = TableLengths(concave_table(generator, n_classes, n_frames))
    transitions = integer_transitions(generator, n_classes)
    best, winner = -np.inf, None
    for one in all_segmentations(n_frames, n_classes):
        score = frames[np.arange(n_frames), one.labels].sum()
        score += lengths.score(one.transcript, one.durations).sum()
        score += transitions.score(one.transcript)
        tied = score == best > -np.inf and key_from_the_end(one) < key_from_the_end(winner)
        if score > best or tied:
            best, winner = score, one
    found = semi_markov(frames, lengths, transitions, alpha=1.0)
    assert found == winner


@pytest.mark.parametrize("kind", ["poisson", "gamma", "none"])
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_slow_recurrence_on_longer_videos(kind, seed):
    generator = np.random.default_rng(seed)
    frames = random_frames(generator, 250, 6)
    shapes = tuple(generator.uniform(1, 20, 6)) if kind == "gamma" else ()
    lengths = LengthModel(kind, tuple(generator.uniform(2, 60, 6)), shapes)
    transitions = Transitions.fit(list(generator.integers(0, 6, (20, 9))), 6)
    found = semi_markov(frames, lengths, transitions, alpha=0.3)
    slow = slow_semi_markov_score(0.3 * frames, lengths, transitions)
    score = segmentation_score(frames, found, lengths, transitions, alpha=0.3)
    assert score == pytest.approx(slow, abs=1e-8)


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_its_durations_are_those_of_viterbi_on_its_transcript(seed):
    generator = np.random.default_rng(seed)
    frames = random_frames(generator, 60, 4)
    lengths = LengthModel("gamma", tuple(generator.uniform(4, 30, 4)), (3.0,) * 4)
    transitions = Transitions.fit([], 4)
    found = semi_markov(frames, lengths, transitions)
    given_transcript = viterbi(frames, found.transcript, lengths, alpha=0.2)
    score = given_transcript.score + transitions.score(found.transcript)
    own = segmentation_score(frames, found, lengths, transitions, alpha=0.2)
    assert own == pytest.approx(score, abs=1e-9)
    assert found.n_frames == 60
    assert found.durations.min() > 0
    assert found.merged() == found


def test_finds_a_planted_segmentation_through_noise():
    truth = Segmentation(np.array([0, 1, 2, 0]), np.array([20, 30, 15, 25]))
    frames = planted_frames(truth, 3)
    noisy = frames.copy()
    noisy[[5, 28, 41, 70]] = noisy[[5, 28, 41, 70]][:, ::-1]  # lone frames that look wrong
    lengths = LengthModel("gamma", (22.0, 30.0, 15.0), (6.0, 6.0, 6.0))
    found = semi_markov(noisy, lengths, Transitions.fit([[0, 1, 2, 0]], 3), alpha=0.5)
    assert found == truth


def test_the_order_of_actions_counts():
    # The middle frames look like 1 or 2 alike; only 2 ever follows 0.
    frames = np.log([[0.9, 0.05, 0.05]] * 5 + [[0.04, 0.48, 0.48]] * 5)
    found = semi_markov(frames, LengthModel.none(3), Transitions.fit([[0, 2]] * 9, 3), alpha=1.0)
    assert found == Segmentation(np.array([0, 2]), np.array([5, 5]))


def test_golden_values():
    t = np.arange(40)[:, None]
    frames = -3 * np.abs(np.sin(0.11 * t + 1.1 * np.arange(3)))
    lengths = LengthModel("gamma", (8.0, 12.0, 10.0), (2.0, 4.0, 3.0))
    transitions = Transitions.fit([[0, 1, 2], [0, 2, 1]], 3)
    found = semi_markov(frames, lengths, transitions, alpha=0.5)
    assert found.transcript.tolist() == [0, 2, 1, 0, 2]
    assert found.durations.tolist() == [5, 9, 10, 9, 7]
    score = segmentation_score(frames, found, lengths, transitions, alpha=0.5)
    assert score == pytest.approx(-18.411247255469185, abs=1e-9)


def test_one_frame_and_one_class():
    lengths, transitions = LengthModel.none(2), Transitions.fit([], 2)
    one = semi_markov(np.log([[0.3, 0.7]]), lengths, transitions)
    assert one == Segmentation(np.array([1]), np.array([1]))
    only = semi_markov(np.zeros((9, 1)), LengthModel.none(1), Transitions.fit([], 1))
    assert only == Segmentation(np.array([0]), np.array([9]))


def test_equal_and_impossible_frames():
    lengths, transitions = LengthModel.none(3), Transitions.fit([], 3)
    for value in (-1.0, -np.inf):
        found = semi_markov(np.full((8, 3), value), lengths, transitions)
        assert found == Segmentation(np.array([0]), np.array([8]))
    frames = np.full((8, 3), -np.inf)
    frames[:3, 2] = frames[3:, 1] = 0
    assert semi_markov(frames, lengths, transitions).durations.tolist() == [3, 5]


@pytest.mark.parametrize(
    ("frames", "lengths", "transitions", "alpha", "message"),
    [
        (np.zeros((0, 2)), LengthModel.none(2), Transitions.fit([], 2), 1, "shape"),
        (np.zeros((3, 2)), LengthModel.none(3), Transitions.fit([], 2), 1, "length model of 3"),
        (np.zeros((3, 2)), LengthModel.none(2), Transitions.fit([], 3), 1, "transition model of 3"),
        (np.zeros((3, 2)), LengthModel.none(2), Transitions.fit([], 2), -1, "alpha"),
        (np.full((3, 2), np.nan), LengthModel.none(2), Transitions.fit([], 2), 1, "NaN"),
    ],
)
def test_refuses_what_cannot_be(frames, lengths, transitions, alpha, message):
    with pytest.raises(InputError, match=message):
        semi_markov(frames, lengths, transitions, alpha=alpha)


@settings(max_examples=200, deadline=None)
@given(seeds, st.integers(1, 6), st.integers(1, 3))
def test_ends_count_as_brute_force_says(seed, n_frames, n_classes):
    """Whatever the video may end with: the best score of all, by probabilities multiplied out."""
    generator = np.random.default_rng(seed)
    frames = random_frames(generator, n_frames, n_classes)
    lengths = TableLengths(concave_table(generator, n_classes, n_frames))
    transitions = with_ends(generator, integer_transitions(generator, n_classes, forbidden=0.0))
    ends = np.exp(transitions.final)
    scores = []
    with np.errstate(divide="ignore"):
        for one in all_segmentations(n_frames, n_classes):
            actions = one.transcript
            score = frames[np.arange(n_frames), one.labels].sum()
            score += lengths.score(actions, one.durations).sum()
            score += transitions.initial[actions[0]]
            for before, after in pairwise(actions):
                score += transitions.bigram[before, after] + np.log(1 - ends[before])
            scores.append(score + np.log(ends[actions[-1]]))
    if max(scores) == -np.inf:
        with pytest.raises(InputError, match="allow no segmentation"):
            semi_markov(frames, lengths, transitions, alpha=1.0)
        return
    found = semi_markov(frames, lengths, transitions, alpha=1.0)
    best = segmentation_score(frames, found, lengths, transitions, alpha=1.0)
    assert best == pytest.approx(max(scores))


def test_a_video_ends_as_the_training_videos_do():
    transitions = Transitions.fit([[0, 1, 2], [1, 0, 2], [0, 1, 0, 2]] * 9, 3, ends=True)
    assert np.exp(transitions.final) == pytest.approx([0.5 / 37, 0.5 / 28, 27.5 / 28])
    truth = Segmentation([0, 1, 0, 2], [10, 10, 10, 10])
    frames = planted_frames(truth, 3)
    frames[30:] = np.log([0.4, 0.3, 0.3])  # nothing to see there
    lengths = LengthModel.none(3)
    assert semi_markov(frames, lengths, transitions, alpha=1.0).transcript.tolist()[-1] == 2
    without = semi_markov(frames, lengths, transitions.without_ends, alpha=1.0)
    assert without.transcript.tolist() == [0, 1, 0]


def test_transitions_that_forbid_every_segmentation_are_an_error():
    """0 may come first, 1 may come last, and nothing leads from one to the other."""
    no, lengths = -np.inf, LengthModel.none(2)
    apart = Transitions([0, no], [[no, no], [0, no]], np.array([no, 0]))
    sentence = (
        r"^the transitions allow no segmentation of 8 frames; let a video end with an action that "
        r"it can reach, or leave the ends out \(decode.ends=false\)$"
    )
    with pytest.raises(InputError, match=sentence):
        semi_markov(np.zeros((8, 2)), lengths, apart)
    everything = semi_markov(np.zeros((8, 2)), lengths, apart.without_ends)
    assert everything == Segmentation([0], [8])
    joined = replace(apart, bigram=[[no, 0], [no, no]])
    assert semi_markov(np.zeros((8, 2)), lengths, joined).transcript.tolist() == [0, 1]
    with pytest.raises(InputError, match="no segmentation of 1 frame;"):  # no room for two
        semi_markov(np.zeros((1, 2)), lengths, joined)


@pytest.mark.parametrize(
    ("final", "sentence"),
    [([0.0], "ends of shape"), ([0.1, 0.0], "not log-prob"), ([np.nan, 0.0], "not log-prob")],
)
def test_ends_are_log_probabilities(final, sentence):
    with pytest.raises(InputError, match=sentence):
        Transitions(np.zeros(2), np.full((2, 2), -np.inf), np.array(final))
