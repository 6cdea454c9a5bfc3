"""Which source frames a model's frame stands for."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from uvast.sampling import nearest_sampled, sampled_length, source_bounds, source_starts
from uvast.segments import Segmentation

lengths = st.integers(1, 60)
rates = st.integers(1, 9)


@given(lengths, rates)
def test_every_source_frame_belongs_to_the_nearest_one_seen(n_source: int, rate: int) -> None:
    seen = np.arange(n_source)[::rate]
    found = nearest_sampled(np.arange(n_source), rate, n_source)
    distances = np.abs(np.arange(n_source)[:, None] - seen)
    assert found.tolist() == distances.argmin(1).tolist()  # the earlier of two that are as near
    assert sampled_length(n_source, rate) == len(seen)


@given(lengths, rates)
def test_stretches_begin_where_the_nearest_one_changes(n_source: int, rate: int) -> None:
    found = nearest_sampled(np.arange(n_source), rate, n_source)
    starts = source_starts(np.arange(sampled_length(n_source, rate)), rate)
    assert starts.tolist() == np.unique(found, return_index=True)[1].tolist()
    assert np.diff(source_bounds(n_source, rate)).tolist() == np.bincount(found).tolist()


def test_cuts_are_missed_by_as_much_before_as_after() -> None:
    rate, n_source = 7, 700
    missed = []
    for cut in range(100, 100 + rate):
        truth = Segmentation([0, 1], [cut, n_source - cut])
        seen = Segmentation.from_labels(truth.labels[::rate])
        missed.append(int(seen.upsampled(rate, n_source).durations[0]) - cut)
    assert sorted(missed) == [-3, -2, -1, 0, 1, 2, 3]
