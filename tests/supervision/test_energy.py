"""Cuts of least energy: against loops over every cut, planted answers, corner cases."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.errors import InputError
from uvast.segments import Segmentation, midpoint_durations
from uvast.supervision import energy, energy_durations

TIE = 1e-7


def unit(frames):
    return np.array([one / np.linalg.norm(one) if one.any() else one for one in frames])


def by_hand_forward(frames, timestamps):
    """Every cut of every gap tried, each distance measured by itself."""
    cuts = [0]
    for left, right in pairwise(timestamps):
        energies = []
        for cut in range(left + 1, right + 1):
            before, after = frames[cuts[-1] : cut].mean(0), frames[cut : right + 1].mean(0)
            energies.append(
                sum(np.linalg.norm(frames[t] - before) for t in range(left, cut))
                + sum(np.linalg.norm(frames[t] - after) for t in range(cut, right + 1))
            )
        first = next(i for i, one in enumerate(energies) if one <= min(energies) + TIE)
        cuts.append(left + 1 + first)
    return cuts[1:]


def by_hand(frames, timestamps, metric):
    frames = unit(frames) if metric == "cosine" else frames
    n_frames = len(frames)
    forward = by_hand_forward(frames, timestamps)
    turned = by_hand_forward(frames[::-1], [n_frames - 1 - t for t in timestamps[::-1]])
    backward = [n_frames - cut for cut in turned[::-1]]
    cuts = [(one + other) // 2 for one, other in zip(forward, backward, strict=True)]
    return np.diff([0, *cuts, n_frames]).tolist()


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(1, 4),
    st.sampled_from(["euclidean", "cosine"]),
    st.booleans(),
)
def test_it_is_the_rule_tried_out(seed, n_frames, n_features, metric, is_coarse):
    generator = np.random.default_rng(seed)
    frames = generator.normal(size=(n_frames, n_features))
    if is_coarse:  # many ties
        frames = np.round(frames)
    n_clicks = generator.integers(1, min(n_frames, 6) + 1)
    timestamps = np.sort(generator.choice(n_frames, n_clicks, replace=False))
    found = energy_durations(frames, timestamps, metric)
    assert found.tolist() == by_hand(frames, timestamps.tolist(), metric)


def test_blocks_change_nothing(monkeypatch):
    frames = np.random.default_rng(0).normal(size=(90, 3))
    whole = energy_durations(frames, [4, 60, 85])
    monkeypatch.setattr(energy, "_N_ROWS", 7)
    assert energy_durations(frames, [4, 60, 85]).tolist() == whole.tolist()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_planted_cuts_are_found(metric):
    generator = np.random.default_rng(1)
    for _ in range(20):
        truth = Segmentation(generator.permutation(6), generator.integers(5, 30, 6))
        frames = 3 * np.eye(6)[truth.labels] + 0.1 * generator.normal(size=(truth.n_frames, 6))
        found = energy_durations(frames, truth.sampled_timestamps(generator), metric)
        assert found.tolist() == truth.durations.tolist()


def test_frames_that_are_alike_are_cut_half_way():
    for timestamps in ([2, 7, 30], [0, 1], [0, 39], [5]):
        found = energy_durations(np.full((40, 3), 0.1), timestamps)
        assert found.tolist() == midpoint_durations(timestamps, 40).tolist()


def test_scale_and_offset_do_not_matter():
    frames = np.random.default_rng(2).normal(size=(200, 5))
    timestamps = [3, 40, 41, 120, 199]
    found = energy_durations(frames, timestamps)
    assert energy_durations(1e4 * frames + 50, timestamps).tolist() == found.tolist()
    assert energy_durations(frames.astype(np.float32), timestamps).tolist() == found.tolist()


def test_the_arguments_are_checked_and_kept():
    frames = np.ones((5, 2))
    energy_durations(frames, [1, 3])
    assert (frames == 1).all()
    with pytest.raises(InputError, match="NaN"):
        energy_durations(np.full((5, 2), np.nan), [1, 3])
    with pytest.raises(InputError, match="timestamp 5"):
        energy_durations(frames, [1, 5])
