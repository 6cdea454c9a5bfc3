"""Durations from assignment logits, and what holds of every function that gives durations."""

from __future__ import annotations

import tracemalloc
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from durations_reference import planted_frames, random_frames
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.durations import LengthModel, Transitions, alignment, fifa, semi_markov, viterbi
from uvast.errors import InputError
from uvast.segments import Segmentation

LENGTHS = LengthModel("gamma", (5.0, 9.0, 3.0), (2.0, 4.0, 1.0))
FUNCTIONS = [
    viterbi,
    partial(viterbi, length_model=LENGTHS, alpha=0.2),
    partial(viterbi, length_model=LengthModel.poisson([5, 9, 3]), frame_sampling=4),
    partial(fifa, optimiser="fast"),
    partial(fifa, mean_durations=LENGTHS.means, length_weight=0.1, n_steps=30, step_size=0.1),
]


def test_long_videos_are_aligned_in_blocks(monkeypatch):
    logits = np.random.default_rng(0).standard_normal((20_000, 30)).astype(np.float32)
    whole = alignment(logits, 0.5)
    monkeypatch.setattr(import_module("uvast.durations.alignment"), "_BLOCK", 1000)
    tracemalloc.start()
    parts = alignment(logits, 0.5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parts.durations.tolist() == whole.durations.tolist()
    assert parts.score == pytest.approx(whole.score)
    assert peak < 1.5 * 2 * logits.nbytes  # one copy in float64, and parts of others


def test_exact_searches_hold_few_tables_of_all_frames_and_classes():
    n_classes = 30
    frames = random_frames(np.random.default_rng(0), 20_000, n_classes).astype(np.float32)
    lengths = LengthModel("gamma", (50.0,) * n_classes, (2.0,) * n_classes)
    transitions = Transitions.fit([tuple(range(n_classes))], n_classes)
    searches = (
        # scores of frames and of lengths, and two tables while they are computed
        (4, lambda: viterbi(frames, np.arange(n_classes), lengths)),
        # sums of frame scores, lengths and starts, and four tables of half the size
        (5, lambda: semi_markov(frames, lengths, transitions)),
    )
    for n_tables, search in searches:
        search()  # compiles
        tracemalloc.start()
        search()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < (n_tables + 0.5) * 2 * frames.nbytes


@pytest.mark.parametrize("function", FUNCTIONS)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 8), st.booleans())
def test_durations_are_positive_and_sum_to_the_frames(
    function, seed, n_frames, n_segments, impossible
):
    generator = np.random.default_rng(seed)
    transcript = generator.integers(0, 3, min(n_segments, n_frames))
    frames = random_frames(generator, n_frames, 3)
    if impossible:
        frames[generator.random(frames.shape) < 0.5] = -np.inf
    logits = 10 * generator.standard_normal((n_frames, len(transcript)))
    for found in (function(frames, transcript), alignment(logits)):
        assert found.durations.shape == transcript.shape
        assert found.durations.dtype == np.int64
        assert found.durations.min() >= 1
        assert found.durations.sum() == n_frames
        assert np.isfinite(found.score)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_transcript_that_does_not_fit_is_refused(function):
    for transcript, message in (([0, 1, 2], "3 actions for 2 frames"), ([], "at least one action")):
        with pytest.raises(InputError, match=message):
            function(np.zeros((2, 3)), np.array(transcript, dtype=int))


@pytest.mark.parametrize("function", FUNCTIONS[:4])
def test_a_planted_segmentation_is_found(function):
    truth = Segmentation(np.array([0, 1, 2, 0]), np.array([30, 50, 20, 40]))
    found = function(planted_frames(truth, 3), truth.transcript)
    np.testing.assert_allclose(np.cumsum(found.durations), truth.ends, atol=2)


def test_alignment_sums_the_softmax_over_segments():
    logits = np.log([[0.7, 0.3], [0.6, 0.4], [0.5, 0.5], [0.2, 0.8]])
    soft = alignment(logits, tau=1.0)
    assert soft.durations.tolist() == [2, 2]  # 2.0 and 2.0
    assert soft.score == pytest.approx(np.log(0.7 * 0.6 * 0.5 * 0.8))
    assert alignment(logits[[0, 1, 1, 3]], tau=1e-4).durations.tolist() == [3, 1]


def test_alignment_shifts_do_not_matter_and_hard_zeros_are_allowed():
    logits = np.random.default_rng(0).standard_normal((20, 3))
    shifted = alignment(logits + 1000 * np.arange(20)[:, None])
    assert shifted.durations.tolist() == alignment(logits).durations.tolist()
    logits = np.full((4, 2), -np.inf)
    logits[:3, 0] = logits[3, 1] = 0
    found = alignment(logits)
    assert found.durations.tolist() == [3, 1]
    assert found.score == 0


def test_alignment_gives_every_segment_a_frame():
    logits = np.zeros((5, 3))
    logits[:, 1] = 50
    assert alignment(logits).durations.tolist() == [1, 3, 1]
    assert alignment(np.zeros((1, 1))).durations.tolist() == [1]
    assert alignment(np.zeros((6, 3))).durations.tolist() == [2, 2, 2]


def test_alignment_golden_values():
    t = np.arange(40)[:, None]
    found = alignment(-3 * np.abs(np.sin(0.11 * t + 1.1 * np.arange(3))), tau=0.5)
    assert found.durations.tolist() == [14, 10, 16]
    assert found.score == pytest.approx(-44.70894080388564, abs=1e-9)


def test_alignment_refuses_what_cannot_be():
    with pytest.raises(InputError, match="tau"):
        alignment(np.zeros((3, 2)), tau=0)
    with pytest.raises(InputError, match="3 actions for 2 frames"):
        alignment(np.zeros((2, 3)))
    with pytest.raises(InputError, match="fits no segment"):
        alignment(np.full((3, 2), -np.inf))
    with pytest.raises(InputError, match="assignment logits of shape"):
        alignment(np.zeros(3))
