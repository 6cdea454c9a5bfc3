"""How far cuts are from landmarks, from clicks alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from uvast.data import Timestamps
from uvast.segments import Segmentation
from uvast.supervision import VideoView, cut_again, fit_class_model
from uvast.supervision.click_offsets import CutRange, click_offsets
from uvast.supervision.gap_view import GapView

LENGTHS = np.array([20.0, 40.0, 80.0])
OFFSETS = {(0, 1): -4, (1, 2): 6, (2, 0): 0, (0, 2): 5, (2, 1): -7, (1, 0): 3}


def transcripts(n_videos, generator, n_segments=12):
    """Random actions, no two neighbours alike."""
    for _ in range(n_videos):
        yield np.cumsum(generator.integers(1, 3, n_segments)) % 3


def ranges(offsets, n_videos=60, noise=2.0, wrong=0.0, seed=0):
    """What is known of the cuts of random videos whose landmarks are off by these offsets."""
    generator = np.random.default_rng(seed)
    found = []
    for transcript in transcripts(n_videos, generator):
        durations = np.rint(LENGTHS[transcript] * generator.uniform(0.7, 1.3, len(transcript)))
        video = Segmentation(transcript, durations.astype(int))
        clicks = video.sampled_timestamps(generator)
        for left, cut in enumerate(video.ends[:-1].tolist()):
            actions = tuple(transcript[left : left + 2].tolist())
            landmark = cut - offsets[actions] + round(generator.normal(0, noise))
            start, end = int(video.starts[left]), int(video.ends[left + 1])
            if generator.random() < wrong:
                landmark = int(generator.integers(start + 1, end))
            between = (int(clicks[left]) + 1, int(clicks[left + 1]))
            found.append(CutRange(actions, landmark, *between, start, end))
    return found


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_planted_offsets_are_found(wrong):
    found = click_offsets(ranges(OFFSETS, n_videos=150, wrong=wrong), LENGTHS, deviation=0.2)
    for pair, offset in OFFSETS.items():
        assert found[pair] == pytest.approx(offset, abs=1.5)
    assert found.diagonal().tolist() == [0, 0, 0]


def test_short_actions_beside_long_ones_get_no_offset_of_their_own():
    found = click_offsets(ranges(dict.fromkeys(OFFSETS, 0), n_videos=400), LENGTHS, deviation=0.2)
    assert np.abs(found).max() < 0.5


def test_few_clicks_leave_offsets_near_zero_and_no_deviation_leaves_none():
    few = ranges(OFFSETS, n_videos=3)
    wide, narrow = (click_offsets(few, LENGTHS, deviation=one) for one in (0.2, 0.005))
    assert np.abs(narrow).max() < 0.5 < np.abs(wide).max()
    assert not click_offsets(few, LENGTHS, deviation=0).any()
    assert not click_offsets([], LENGTHS, deviation=0.05).any()


def test_two_clicks_on_one_action_tell_nothing():
    known = ranges(OFFSETS, n_videos=5)
    same = [CutRange((1, 1), 50, 10, 30, 0, 100)] * 9
    apart, together = (click_offsets(one, LENGTHS, deviation=0.05) for one in (known, known + same))
    np.testing.assert_array_equal(apart, together)


def test_no_other_offsets_explain_the_clicks_better():
    known = [one for one in ranges(OFFSETS, n_videos=30, wrong=0.1) if one.actions == (1, 2)]
    unit, deviation = 60.0, 0.05
    places = np.linspace(-0.5, 0.5, 101)

    def cost(parameters):
        share, noise = parameters[0], np.exp(parameters[1])
        total = -0.5 * (share / deviation) ** 2
        for one in known:
            cuts = one.landmark + unit * places
            inside = (cuts >= one.first - 0.5) & (cuts < one.last + 0.5)
            sides = np.maximum(cuts - one.start, 1) * np.maximum(one.end - cuts, 1)
            normal = np.exp(-0.5 * ((places - share) / noise) ** 2) / noise / np.sqrt(2 * np.pi)
            anywhere = unit / (one.end - one.start)
            total += np.log(((0.95 * normal + 0.05 * anywhere) * inside / sides).sum())
        return -total

    best = minimize(cost, [0.0, np.log(0.1)], method="Nelder-Mead", options={"xatol": 1e-5})
    found = click_offsets(known, LENGTHS, deviation=deviation)[1, 2]
    assert np.exp(best.x[1]) > 0.02  # the least noise plays no part
    assert found == pytest.approx(unit * best.x[0], abs=0.2)


class TestCuts:
    """Class models that know offsets."""

    @staticmethod
    def planted(n_videos=24, seed=0):
        """Videos whose features change before or after the cuts that people made."""
        generator = np.random.default_rng(seed)
        means = 2 * generator.normal(size=(3, 6))
        features, clicks, truth = {}, {}, {}
        for number, transcript in enumerate(transcripts(n_videos, generator)):
            durations = generator.integers(30, 60, len(transcript))
            video = Segmentation(transcript, durations)
            looks = video.ends.copy()
            for place, pair in enumerate(pairwise(transcript.tolist())):
                looks[place] -= OFFSETS[pair]
            seen = np.repeat(transcript, np.diff(looks, prepend=0))
            noise = generator.normal(size=(video.n_frames, 6))
            features[str(number)] = (means[seen] + noise).astype(np.float32)
            clicks[str(number)] = Timestamps(video.sampled_timestamps(generator), transcript)
            truth[str(number)] = video
        return features, clicks, truth

    def test_cuts_move_from_the_landmarks_to_where_people_cut(self):
        features, clicks, truth = self.planted()

        def error(offsets):
            found = fit_class_model(features.__getitem__, clicks, offsets=offsets)[0]
            apart = [np.abs(np.cumsum(found[one]) - truth[one].ends)[:-1] for one in truth]
            return np.concatenate(apart).mean()

        assert error(0.05) < 0.65 * error(0)

    def test_one_video_is_cut_again_as_all_were(self):
        features, clicks, _ = self.planted()
        durations, model = fit_class_model(features.__getitem__, clicks)
        assert np.abs(model.offsets).max() > 2
        again = cut_again(
            VideoView.of(features["0"], len(clicks["0"])),
            clicks["0"],
            durations["0"],
            model,
            range(len(clicks["0"]) - 1),
        )
        assert np.abs(again - durations["0"]).max() <= 1


def test_an_offset_moves_the_cut_and_a_view_of_every_third_frame_moves_a_third():
    difference = np.repeat([-1.0, 1.0], 30)
    view = GapView((0, 1), (10, 50), 0, difference)
    offsets = np.array([[0.0, 9.0], [0.0, 0.0]])
    assert [view.cut(0), view.moved(offsets).cut(0), view.moved(offsets, step=3).cut(0)] == [
        30,
        39,
        33,
    ]
    assert view.range == CutRange((0, 1), 30, 11, 50, 0, 60)
    assert view.moved(offsets).range == view.range


def test_a_cut_stays_between_its_clicks_however_large_the_offset():
    view = GapView((0, 1), (10, 50), 0, np.repeat([-1.0, 1.0], 30))
    for offset, cut in ((100.0, 50), (-100.0, 11)):
        assert view.moved(np.array([[0.0, offset], [0.0, 0.0]])).cut(0) == cut
