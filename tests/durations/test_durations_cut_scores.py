"""Scores of cuts in the exact searches, and cuts read off boundaries, against brute force."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import numpy as np
import pytest
from durations_reference import (
    TableLengths,
    all_ends,
    all_segmentations,
    concave_table,
    integer_frames,
    planted_frames,
    random_frames,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.durations import (
    LengthModel,
    Transitions,
    boundary_scores,
    cut_at_boundaries,
    segmentation_score,
    semi_markov,
    viterbi,
)
from uvast.errors import InputError
from uvast.segments import Segmentation

seeds = st.integers(0, 2**32 - 1)


def plain_score(frames, segmentation, lengths, cuts):
    """By a loop over segments; `cuts` may hold anything at frame 0."""
    total = 0.0
    for action, start, end in segmentation.segments:
        total += sum(frames[t, action] for t in range(start, end))
        total += lengths.score(action, end - start)
        if start > 0:
            total += cuts[start]
    return total


def problem(seed, n_frames, n_classes=3):
    generator = np.random.default_rng(seed)
    frames = integer_frames(generator, n_frames, n_classes)
    lengths = TableLengths(concave_table(generator, n_classes, n_frames))
    return generator, frames, lengths, generator.integers(-4, 5, n_frames).astype(float)


@settings(max_examples=400, deadline=None)
@given(seeds, st.integers(1, 9), st.integers(1, 5))
def test_viterbi_equals_brute_force_and_its_ties(seed, n_frames, n_segments):
    generator, frames, lengths, cuts = problem(seed, n_frames)
    transcript = generator.integers(0, 3, min(n_segments, n_frames))
    choices = [
        Segmentation(transcript, np.diff(ends, prepend=0))
        for ends in all_ends(n_frames, len(transcript))
    ]
    scores = [plain_score(frames, one, lengths, cuts) for one in choices]
    found = viterbi(frames, transcript, lengths, cut_scores=cuts)
    assert found.score == max(scores)
    assert Segmentation(transcript, found.durations) == choices[int(np.argmax(scores))]


@settings(max_examples=200, deadline=None)
@given(seeds, st.integers(1, 12), st.integers(1, 4), st.integers(2, 4))
def test_on_a_coarse_grid_a_cut_has_the_best_score_around_it(seed, n_frames, n_segments, sampling):
    generator, frames, lengths, cuts = problem(seed, n_frames)
    transcript = generator.integers(0, 3, min(n_segments, n_frames))
    step = min(sampling, n_frames // len(transcript))
    grid = [*range(0, n_frames, step), n_frames]
    around = np.full(n_frames, -np.inf)
    for t in range(n_frames):
        nearest = min(grid, key=lambda place: (abs(place - t), -place))
        if 0 < nearest < n_frames:
            around[nearest] = max(around[nearest], cuts[t])
    choices = [
        Segmentation(transcript, np.diff(ends, prepend=0))
        for ends in all_ends(n_frames, len(transcript))
        if np.isin(ends, grid).all()
    ]
    best = max(plain_score(frames, one, lengths, around) for one in choices)
    found = viterbi(frames, transcript, lengths, cut_scores=cuts, frame_sampling=sampling)
    assert found.score == best
    segmentation = Segmentation(transcript, found.durations)
    assert plain_score(frames, segmentation, lengths, around) == best


@settings(max_examples=200, deadline=None)
@given(seeds, st.integers(1, 6), st.integers(1, 3))
def test_semi_markov_equals_brute_force(seed, n_frames, n_classes):
    generator, frames, lengths, cuts = problem(seed, n_frames, n_classes)
    initial = generator.integers(-3, 1, n_classes).astype(float)
    bigram = generator.integers(-3, 1, (n_classes, n_classes)).astype(float)
    np.fill_diagonal(bigram, -np.inf)
    transitions = Transitions(initial, bigram)
    found = semi_markov(frames, lengths, transitions, alpha=1.0, cut_scores=cuts)

    def score(one):
        return plain_score(frames, one, lengths, cuts) + transitions.score(one.transcript)

    assert score(found) == max(map(score, all_segmentations(n_frames, n_classes)))
    own = segmentation_score(frames, found, lengths, transitions, alpha=1.0, cut_scores=cuts)
    assert own == score(found)


def test_long_videos_of_both_searches_agree():
    generator = np.random.default_rng(0)
    frames, cuts = random_frames(generator, 300, 5), generator.normal(size=300)
    lengths = LengthModel("gamma", tuple(generator.uniform(4, 40, 5)), (3.0,) * 5)
    transitions = Transitions.fit([], 5)
    found = semi_markov(frames, lengths, transitions, alpha=0.3, cut_scores=cuts)
    given_transcript = viterbi(frames, found.transcript, lengths, alpha=0.3, cut_scores=cuts)
    score = given_transcript.score + transitions.score(found.transcript)
    own = segmentation_score(frames, found, lengths, transitions, alpha=0.3, cut_scores=cuts)
    assert own == pytest.approx(score, abs=1e-9)
    np.testing.assert_array_equal(given_transcript.durations, found.durations)


def test_no_scores_and_scores_of_zero_are_the_same():
    generator = np.random.default_rng(1)
    frames, zeros = random_frames(generator, 80, 4), np.zeros(80)
    lengths, transitions = LengthModel("gamma", (9.0,) * 4, (3.0,) * 4), Transitions.fit([], 4)
    joint = semi_markov(frames, lengths, transitions)
    assert semi_markov(frames, lengths, transitions, cut_scores=zeros) == joint
    plain = viterbi(frames, joint.transcript, lengths)
    scored = viterbi(frames, joint.transcript, lengths, cut_scores=zeros)
    assert scored.score == plain.score
    np.testing.assert_array_equal(scored.durations, plain.durations)


def test_a_sure_boundary_moves_a_cut_that_the_frames_leave_open():
    frames = np.log(np.full((20, 2), 0.5))
    frames[:8], frames[12:] = np.log([0.9, 0.1]), np.log([0.1, 0.9])
    boundaries = np.full(20, -9.0)
    boundaries[11] = 9.0
    found = viterbi(frames, [0, 1], cut_scores=boundary_scores(boundaries, 0.3))
    assert found.durations.tolist() == [11, 9]
    assert viterbi(frames, [0, 1]).durations.tolist() == [8, 12]


def test_scores_of_boundaries_are_bounded_and_weighted():
    scores = boundary_scores([-80.0, -1.0, 0.0, 2.0, np.inf], 0.5)
    assert scores.tolist() == [-2.5, -0.5, 0.0, 1.0, 2.5]


def plain_cuts(values):
    """Runs of equal values above 0 and above both neighbours, by their first frame."""
    runs, start = [], 0
    for value, group in groupby(values):
        runs.append((value, start))
        start += len(list(group))
    return [
        start
        for (before, _), (value, start), (after, _) in zip(runs, runs[1:], runs[2:], strict=False)
        if value > max(0, before, after)
    ]


@settings(max_examples=200, deadline=None)
@given(seeds, st.integers(1, 30))
def test_cutting_at_boundaries_equals_a_plain_loop(seed, n_frames):
    generator = np.random.default_rng(seed)
    frames = random_frames(generator, n_frames, 4)
    boundaries = generator.integers(-2, 4, n_frames).astype(float)
    starts = [0, *plain_cuts(boundaries.tolist())]
    labels = np.empty(n_frames, dtype=int)
    for start, end in zip(starts, [*starts[1:], n_frames], strict=True):
        votes = Counter(frames[start:end].argmax(1).tolist())
        labels[start:end] = max(votes, key=lambda action: (votes[action], -action))
    assert cut_at_boundaries(frames, boundaries) == Segmentation.from_labels(labels)


def test_boundaries_end_over_segmentation():
    truth = Segmentation(np.array([0, 1, 2]), np.array([10, 12, 8]))
    frames = planted_frames(truth, 3)
    frames[[3, 14, 25]] = frames[[3, 14, 25]][:, ::-1]
    boundaries = np.full(30, -3.0)
    boundaries[[9, 10, 11, 22]] = [0.5, 2.0, 1.0, 0.1]
    assert len(Segmentation.from_labels(frames.argmax(1))) > 3
    assert cut_at_boundaries(frames, boundaries) == truth
    whole = cut_at_boundaries(frames, np.full(30, 4.0))
    assert whole.transcript.tolist() == [1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: viterbi(np.zeros((3, 2)), [0], cut_scores=[1.0]), r"shape \(1,\) for 3 frames"),
        (lambda: viterbi(np.zeros((2, 2)), [0], cut_scores=[0, np.nan]), "NaN or infinite"),
        (lambda: cut_at_boundaries(np.zeros((3, 2)), [0.0, 1.0]), "2 frames for 3 frames"),
        (lambda: cut_at_boundaries(np.zeros((2, 2)), [0.0, np.nan]), "with NaN"),
        (lambda: boundary_scores(np.zeros((2, 2)), 1.0), r"boundaries of shape \(2, 2\)"),
    ],
    ids=["shape", "nan", "length", "nan boundaries", "matrix"],
)
def test_refuses_what_cannot_be(call, message):
    with pytest.raises(InputError, match=message):
        call()
