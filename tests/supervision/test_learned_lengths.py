"""Cuts that heed lengths: against all possible cuts, and where lengths alone can tell."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.data import Timestamps
from uvast.segments import Segmentation
from uvast.supervision import learned_lengths
from uvast.supervision.gap_costs import GapCosts
from uvast.supervision.learned_lengths import LogLengths, joint_cuts, with_learned_lengths


def total(gaps: GapCosts, cuts: tuple[int, ...], lengths: LogLengths, weight: float) -> float:
    frames = [
        0,
        *(first + cut for first, cut in zip(gaps.firsts, cuts, strict=True)),
        gaps.n_frames,
    ]
    each = zip(gaps.transcript.tolist(), np.diff(frames).tolist(), strict=True)
    return sum(one[cut] for one, cut in zip(gaps.costs, cuts, strict=True)) + weight * sum(
        ((np.log(length) - lengths.means[action]) / lengths.deviations[action]) ** 2 / 2
        for action, length in each
    )


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), weight=st.sampled_from([0.0, 0.5, 5.0]))
def test_the_cuts_are_the_best_of_all(seed: int, weight: float) -> None:
    generator = np.random.default_rng(seed)
    widths = generator.integers(1, 6, size=3)
    firsts = np.cumsum([2, *(widths[:-1] + 1)])
    costs = tuple(generator.standard_normal(width) for width in widths)
    n_frames = int(firsts[-1] + widths[-1] + 2)
    gaps = GapCosts(np.array([0, 1, 0, 2]), n_frames, tuple(firsts.tolist()), costs)
    lengths = LogLengths(generator.uniform(0, 3, 3), generator.uniform(0.3, 1, 3))
    found = joint_cuts(gaps, lengths, weight)
    cuts = tuple((np.cumsum(found.durations)[:-1] - firsts).tolist())
    least = min(
        total(gaps, one, lengths, weight) for one in product(*(range(width) for width in widths))
    )
    assert total(gaps, cuts, lengths, weight) == pytest.approx(least)


def test_lengths_are_those_of_each_class_over_all_videos() -> None:
    rare = Segmentation(np.array([0, 1, 2]), np.array([10, 100, 10]))
    fitted = LogLengths.fit([Segmentation(np.array([0, 1] * 50), np.array([10, 100] * 50)), rare])
    assert np.exp(fitted.means) == pytest.approx([10, 100, 31.3], rel=0.02)
    assert (fitted.deviations >= 0.25).all()
    assert fitted.deviations[2] > 2 * fitted.deviations[0]


def test_where_frames_say_nothing_lengths_learned_elsewhere_decide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(0)
    truth = Segmentation(np.array([0, 1, 0, 1]), np.array([8, 24, 8, 24]))
    centres = np.array([[0.0, 4.0], [4.0, 0.0]])
    clear = centres[truth.labels] + 0.3 * generator.standard_normal((64, 2))
    features = {f"clear{number}": clear for number in range(6)}
    features["dark"] = np.ones((64, 2))
    clicks = {name: Timestamps(np.array([4, 20, 36, 52]), truth.transcript) for name in features}
    midpoints = Segmentation(truth.transcript, np.array([13, 16, 16, 19]))
    targets = {**dict.fromkeys(features, truth), "dark": midpoints}

    def apart(name: str, weight: float) -> int:
        found = with_learned_lengths(
            features.__getitem__, clicks, targets, weight=weight, prior=0.1
        )
        return int(np.abs(found[name].durations - truth.durations).max())

    assert apart("clear0", 10.0) <= 3
    assert apart("dark", 0.0) >= 7
    assert apart("dark", 10.0) <= 4
    monkeypatch.setattr(learned_lengths, "MOST_PLACES", 8)  # long gaps: every few frames will do
    assert apart("dark", 10.0) <= 5
