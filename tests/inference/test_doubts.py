"""How unsure a model is: planted scores of frames."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from uvast.inference import doubts as module
from uvast.inference.doubts import LONGEST_BAND, Doubts
from uvast.sampling import source_bounds
from uvast.segments import Segmentation


def test_sure_unsure_and_contradicted_segments() -> None:
    sure, even, other = [1.0, 0.0], [0.5, 0.5], [0.1, 0.9]
    probabilities = np.array([sure] * 4 + [even] * 2 + [other] * 2, np.float32)
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities)
    doubts = Doubts.of(logs, Segmentation(np.array([0, 1, 0]), np.array([4, 2, 2])))
    assert doubts.entropies == pytest.approx([0.0, 1.0, 0.469], abs=1e-3)
    assert doubts.agreements == pytest.approx([1.0, 0.0, 0.0])  # the first of equals is class 0
    assert doubts.band == pytest.approx([1, 1, 1, 1, 0.5, 0.5, 0.1, 0.1])


def test_a_band_changes_where_the_segments_do_at_the_source_rate() -> None:
    rate, n_source = 7, 30
    own = Segmentation(np.array([0, 1]), np.array([1, 4]))
    logs = np.log(np.array([[0.9, 0.1]] + [[0.4, 0.6]] * 4, np.float32))
    counts = np.diff(source_bounds(n_source, rate))
    first, second = own.upsampled(rate, n_source).durations.tolist()
    band = Doubts.of(logs, own, counts=counts).band
    assert band == pytest.approx([0.9] * first + [0.6] * second)


def test_a_band_is_no_longer_than_a_screen() -> None:
    n_frames = 3 * LONGEST_BAND + 7
    logs = np.log(np.full((n_frames, 4), 0.25, np.float32))
    doubts = Doubts.of(logs, Segmentation(np.array([2]), np.array([n_frames])))
    assert len(doubts.band) == LONGEST_BAND
    assert doubts.band == pytest.approx(0.25)


def test_long_videos_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    n_frames = 5_003
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(20), n_frames))
    segmentation = Segmentation(np.arange(5), np.array([1, 999, 2_000, 2_000, 3]))
    whole = Doubts.of(logs, segmentation)
    monkeypatch.setattr(module, "BLOCK", 100)
    tracemalloc.start()
    parts = Doubts.of(logs, segmentation)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert parts.entropies.tolist() == whole.entropies.tolist()
    assert parts.agreements.tolist() == whole.agreements.tolist()
    assert parts.band.tolist() == whole.band.tolist()
    assert peak < 0.8 * logs.nbytes
