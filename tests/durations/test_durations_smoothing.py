from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from durations_reference import random_frames
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.durations import absorb_short_runs, mode_filter, smoothed_labels, smoothed_transcript
from uvast.errors import InputError
from uvast.segments import Segmentation

labels_of_videos = st.lists(st.sampled_from([0, 1, 7]), min_size=1, max_size=25)


def slow_mode_filter(labels, width):
    half, modes = width // 2, []
    for t, label in enumerate(labels):
        counts = Counter(labels[max(0, t - half) : t + half + 1])
        top = max(counts.values())
        modes.append(label if counts[label] == top else min(c for c in counts if counts[c] == top))
    return modes


def slow_absorb(labels, least):
    """Frame by frame as the docstring says it, starting over after each run."""
    labels = list(labels)
    while True:
        runs = Segmentation.from_labels(np.array(labels)).segments
        run = min(runs, key=lambda one: one.end - one.start)
        length = run.end - run.start
        if len(runs) == 1 or length >= least:
            return labels
        if run.start == 0:
            middle = 0
        elif run.end == len(labels):
            middle = run.end
        else:
            middle = run.start + (length + 1) // 2
        for t in range(run.start, run.end):
            labels[t] = labels[run.start - 1] if t < middle else labels[run.end]


@settings(max_examples=300, deadline=None)
@given(labels_of_videos, st.sampled_from([1, 3, 5, 9, 31]))
def test_mode_filter_equals_counting(labels, width):
    assert mode_filter(labels, width).tolist() == slow_mode_filter(labels, width)


@settings(max_examples=500, deadline=None)
@given(labels_of_videos, st.integers(1, 8))
def test_absorbing_equals_starting_over_after_each_run(labels, least):
    found = absorb_short_runs(labels, least)
    assert found.tolist() == slow_absorb(labels, least)
    runs = Segmentation.from_labels(found)
    assert runs.n_frames == len(labels)
    assert len(runs) == 1 or runs.durations.min() >= least


def test_absorbing_by_hand():
    assert absorb_short_runs([0, 0, 0, 1, 1, 1, 2, 2, 2, 2], 4).tolist() == [1] * 6 + [2] * 4
    assert absorb_short_runs([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2], 4).tolist() == [0] * 6 + [2] * 5
    assert absorb_short_runs([0, 0, 1, 0, 0], 2).tolist() == [0] * 5
    assert absorb_short_runs([3], 9).tolist() == [3]


def test_absorbing_is_quick_where_every_frame_is_a_run():
    labels = np.tile([0, 1, 2], 300_000)
    assert len(absorb_short_runs(labels, 2)) == 900_000


def test_smoothed_labels_and_transcript():
    labels = np.array([0, 0, 0, 2, 0, 0, 1, 1, 1, 1, 2])
    frames = np.log(np.full((11, 3), 0.1))
    frames[np.arange(11), labels] = np.log(0.8)
    assert smoothed_labels(frames).tolist() == labels.tolist()
    assert smoothed_labels(frames, width=3).tolist() == [0] * 6 + [1] * 4 + [2]
    assert smoothed_labels(frames, least=2).tolist() == [0] * 6 + [1] * 5
    assert smoothed_transcript(frames).tolist() == [0, 2, 0, 1, 2]
    assert smoothed_transcript(frames, width=3, least=2).tolist() == [0, 1]


def test_the_likeliest_of_impossible_frames():
    frames = random_frames(np.random.default_rng(0), 5, 3)
    frames[:, 1] = -np.inf
    assert 1 not in smoothed_labels(frames)


@pytest.mark.parametrize("width", [0, 2, -1])
def test_a_width_is_odd_and_positive(width):
    with pytest.raises(InputError, match="odd"):
        mode_filter([0, 1], width)


@pytest.mark.parametrize("labels", [[], [[0]], [0.5]])
def test_refuses_what_are_no_labels(labels):
    with pytest.raises(InputError, match="labels"):
        mode_filter(labels, 3)
    with pytest.raises(InputError, match="labels"):
        absorb_short_runs(labels, 3)
