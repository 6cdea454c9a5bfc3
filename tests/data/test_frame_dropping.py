from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from uvast.data import Video, drop_frames
from uvast.errors import InputError
from uvast.segments import Segmentation


def _video(segmentation: Segmentation) -> Video:
    features = np.arange(segmentation.n_frames, dtype=np.float32)[:, None]
    return Video("v", features, segmentation.labels, segmentation.n_frames)


@given(durations=st.lists(st.integers(1, 120), min_size=1, max_size=8), seed=st.integers(0, 999))
def test_frames_go_and_segments_stay(durations: list[int], seed: int) -> None:
    truth = Segmentation(np.arange(len(durations)), durations)
    video = _video(truth)
    shorter, segmentation = drop_frames(video, truth, np.random.default_rng(seed), probability=1.0)
    np.testing.assert_array_equal(segmentation.transcript, truth.transcript)
    kept = shorter.features[:, 0].astype(int)
    assert (np.diff(kept) > 0).all()
    np.testing.assert_array_equal(segmentation.labels, truth.labels[kept])
    np.testing.assert_array_equal(shorter.labels, segmentation.labels)
    n_dropped = video.n_frames - shorter.n_frames
    if video.n_frames < 20:
        assert n_dropped == 0
    else:
        possible = video.n_frames - len(durations)
        assert min(10, possible) <= n_dropped <= min(200, video.n_frames // 2)


@given(durations=st.lists(st.integers(1, 60), min_size=1, max_size=8), seed=st.integers(0, 999))
def test_timestamps_stay_and_move_with_their_frames(durations: list[int], seed: int) -> None:
    truth = Segmentation(np.arange(len(durations)), durations)
    generator = np.random.default_rng(seed)
    clicks = truth.sampled_timestamps(generator)
    video = replace(_video(truth), timestamps=clicks)
    shorter, _ = drop_frames(video, truth, generator, probability=1.0)
    np.testing.assert_array_equal(shorter.features[shorter.timestamps, 0], clicks)


def test_the_probability_is_one_of_videos() -> None:
    truth = Segmentation([0, 1], [300, 100])
    for probability, low, high in ((0.0, 0, 0), (0.3, 40, 80), (1.0, 200, 200)):
        generator = np.random.default_rng(0)
        changed = [
            drop_frames(_video(truth), truth, generator, probability=probability)[0].n_frames < 400
            for _ in range(200)
        ]
        assert low <= sum(changed) <= high


def test_a_segmentation_that_does_not_fit() -> None:
    video = _video(Segmentation([0], [30]))
    with pytest.raises(InputError, match="video v: a segmentation of 20 frames"):
        drop_frames(video, Segmentation([0], [20]), np.random.default_rng(0))
