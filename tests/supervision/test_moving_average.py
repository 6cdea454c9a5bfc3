"""The moving average against scipy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import uniform_filter1d

from uvast.supervision.moving_average import moving_average


@settings(deadline=None)  # the first call compiles
@given(
    n_frames=st.integers(1, 40),
    window=st.integers(1, 100),
    dtype=st.sampled_from([np.float32, np.float64]),
    seed=st.integers(0, 99),
)
def test_it_is_the_uniform_filter(n_frames, window, dtype, seed):
    frames = np.random.default_rng(seed).normal(size=(n_frames, 3)).astype(dtype)
    expected = uniform_filter1d(frames, window, axis=0, output=np.float64, mode="nearest")
    assert np.array_equal(moving_average(frames, window), expected)


def test_an_even_window_looks_back_one_frame_more():
    frames = np.array([[0.0], [4.0], [8.0]])
    assert moving_average(frames, 2).tolist() == [[0.0], [2.0], [6.0]]
