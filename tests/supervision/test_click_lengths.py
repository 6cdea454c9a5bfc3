"""Mean lengths of actions, from clicks alone."""

from __future__ import annotations

import numpy as np
import pytest

from uvast.data import Timestamps
from uvast.segments import Segmentation
from uvast.supervision import ClassModel, VideoView, cut_again
from uvast.supervision.click_lengths import ClickDistances
from uvast.supervision.gap_view import gap_views
from uvast.supervision.k_medoids import best_cut

LENGTHS = (10, 30, 80)


def videos(n_videos, seed=0):
    """Videos whose segments have their class's length, give or take a fifth."""
    generator = np.random.default_rng(seed)
    for _ in range(n_videos):
        steps = generator.integers(1, 3, 8)
        transcript = np.cumsum(steps) % 3
        durations = np.rint(np.take(LENGTHS, transcript) * generator.uniform(0.8, 1.2, 8))
        yield Segmentation(transcript, durations.astype(int))


def clicked(video, generator, n_clicks=1):
    """`n_clicks` moments of each segment."""
    ends = np.cumsum(video.durations)
    frames = [
        np.sort(generator.choice(np.arange(end - n, end), n_clicks, replace=False))
        for end, n in zip(ends, video.durations, strict=True)
    ]
    return Timestamps(np.concatenate(frames), np.repeat(video.transcript, n_clicks))


def model(*lengths):
    """A class model that knows nothing but mean lengths."""
    flat, n_classes = np.zeros((len(lengths), 2)), len(lengths)
    offsets = np.zeros((n_classes, n_classes))
    return ClassModel(flat, flat + 1, np.ones(n_classes), np.array(lengths), offsets)


@pytest.mark.parametrize("n_clicks", [1, 3])
def test_the_planted_lengths_are_found(n_clicks):
    generator = np.random.default_rng(1)
    distances = ClickDistances(3)
    for video in videos(200):
        distances.add(clicked(video, generator, n_clicks), video.n_frames)
    np.testing.assert_allclose(distances.mean_lengths(), LENGTHS, rtol=0.15)


def test_clicks_in_the_middle_tell_them_from_one_video():
    video = Segmentation(np.array([0, 1, 2, 0, 2]), np.array([10, 30, 80, 10, 80]))
    middles = np.cumsum(video.durations) - video.durations // 2
    distances = ClickDistances(3)
    distances.add(Timestamps(middles, video.transcript), video.n_frames)
    np.testing.assert_allclose(distances.mean_lengths(), LENGTHS, rtol=0.15)


def test_a_class_that_is_never_seen_is_as_long_as_all_others():
    distances = ClickDistances(3)
    distances.add(Timestamps(np.array([10, 30]), np.array([0, 1])), 40)
    assert distances.mean_lengths()[2] == pytest.approx(20)


def test_one_click_and_one_frame_will_do():
    distances = ClickDistances(1)
    distances.add(Timestamps(np.array([0]), np.array([0])), 1)
    assert distances.mean_lengths() == pytest.approx([1.0])


def test_frames_that_tell_nothing_leave_the_cut_to_the_lengths():
    assert best_cut(np.zeros(100), 0.25, tie=1e-9) == 50
    assert best_cut(np.zeros(100), 0.25, tie=1e-9, share=0.2) == 20
    flat = np.zeros((100, 2))
    clicks = Timestamps(np.array([0, 99]), np.array([0, 1]))
    view = VideoView.of(flat, 2)
    durations = cut_again(view, clicks, np.array([50, 50]), model(10.0, 40.0), [0])
    np.testing.assert_array_equal(durations, [20, 80])


def test_the_midpoint_stays_where_a_class_is_unknown():
    video, clicks = VideoView.of(np.zeros((20, 2)), 2), np.array([[4, 15]])
    for known in (model(10.0), None):
        (view,) = gap_views(video, Segmentation([0, 5], [10, 10]), clicks, known)
        assert view.share == 0.5
