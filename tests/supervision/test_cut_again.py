"""One video cut again with fixed class models: where nothing moved, the cuts stay."""

from __future__ import annotations

import numpy as np

from uvast.data import Timestamps
from uvast.segments import midpoint_durations
from uvast.supervision import VideoView, cut_again, fit_class_model

LABELS = np.repeat([0, 1, 2, 0], [20, 40, 15, 25])
CLICKS = Timestamps(np.array([15, 25, 65, 95]), np.array([0, 1, 2, 0]))


def features(seed: int) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(len(LABELS), 3))
    return (6.0 * np.eye(3)[LABELS] + noise).astype(np.float32)


def test_a_converged_pass_stays_as_it_is() -> None:
    videos = {"a": features(0), "b": features(1)}
    durations, model = fit_class_model(videos.__getitem__, dict.fromkeys(videos, CLICKS))
    view = VideoView.of(videos["a"], len(CLICKS))
    again = cut_again(view, CLICKS, durations["a"], model, range(3))
    assert again.tolist() == durations["a"].tolist()
    assert model.knows(0, 1, 2)
    assert not model.knows(3)


def test_only_the_named_gaps_are_cut() -> None:
    view = VideoView.of(features(2), len(CLICKS))
    guess = midpoint_durations(CLICKS.frames, len(LABELS))
    found = cut_again(view, CLICKS, guess, None, [1])
    before, after = np.cumsum(guess), np.cumsum(found)
    assert (before[[0, 2, 3]] == after[[0, 2, 3]]).all()
    assert abs(after[1] - 60) < abs(before[1] - 60)  # the action changes at frame 60
