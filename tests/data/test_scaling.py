"""Scaling: planted moments, any cut into videos, constant channels, features of another kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from uvast.data import Dataset, Scaling, Video, collate, fit_scaling, levelled
from uvast.data.scaling import Moments
from uvast.errors import InputError

Array = NDArray[np.float32]
SCALES = np.array([0.008, 119.0, 1.0, 3.0])
MEANS = np.array([0.1, -400.0, 0.0, 1e4])


def video(features: Array, name: str = "a") -> Video:
    return Video(name, features, None, len(features))


def planted(n_frames: int, seed: int = 0) -> Array:
    noise = np.random.default_rng(seed).normal(size=(n_frames, 4))
    return (noise * SCALES + MEANS).astype(np.float32)


def parts_of(features: Array, cuts: Sequence[int]) -> list[Video]:
    return [video(part) for part in np.split(features, sorted(set(cuts))) if len(part)]


@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_are_those_of_all_frames_together(order):
    features = np.asarray(planted(70_000), order=order)
    scaling = fit_scaling(parts_of(features, [1, 500, 40_000]))
    exact = features.astype(np.float64)
    np.testing.assert_allclose(scaling.mean, exact.mean(0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scaling.deviation, exact.std(0), rtol=1e-11)
    scaled = scaling.scaled(features).astype(np.float64)
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0), 1, rtol=1e-6)


@settings(max_examples=50, deadline=None)
@given(cuts=st.lists(st.integers(1, 299), max_size=20), seed=st.integers(0, 2**32 - 1))
def test_how_frames_are_cut_into_videos_changes_nothing(cuts, seed):
    features = planted(300, seed)
    whole, cut = fit_scaling([video(features)]), fit_scaling(parts_of(features, cuts))
    np.testing.assert_allclose(cut.mean, whole.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(cut.deviation, whole.deviation, rtol=1e-9)


def test_a_huge_offset_costs_no_precision():
    noise = np.random.default_rng(0).normal(size=(5000, 2))
    features = (noise + np.array([1e6, -1e6])).astype(np.float32)
    scaling = fit_scaling([video(features[:100]), video(features[100:])])
    np.testing.assert_allclose(scaling.deviation, features.astype(np.float64).std(0), rtol=1e-9)
    # float32 has steps of 1/16 there, and nothing else may be lost
    np.testing.assert_allclose(scaling.scaled(features), noise, atol=0.1)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e6, 3e38, 1e-40])
@pytest.mark.parametrize("jitter", [0, 1])
def test_a_constant_channel_becomes_0_and_no_noise(value, jitter):
    """The last bit may flicker: that is rounding, not a signal."""
    features = planted(1000)
    features[:, 2] = value
    if jitter and value:
        features[::2, 2] = np.nextafter(np.float32(value), np.float32(0))
    scaling = fit_scaling([video(features[:333]), video(features[333:])])
    assert np.isinf(scaling.deviation).tolist() == [False, False, True, False]
    assert not scaling.scaled(features)[:, 2].any()
    assert np.isfinite(scaling.scaled(features + 7)).all()


def test_float16_features_are_scaled_as_float32_ones():
    features = np.random.default_rng(0).normal(3, 2, (400, 4)).astype(np.float16)
    scaling = fit_scaling([video(features.astype(np.float32))])
    np.testing.assert_array_equal(
        scaling.scaled(features), scaling.scaled(features.astype(np.float32))
    )
    assert scaling.scaled(features).dtype == np.float32


@pytest.mark.parametrize("order", ["C", "F"])
def test_padding_stays_0_and_a_video_is_the_same_alone(order):
    long, short = (np.asarray(planted(n, n), order=order) for n in (90, 40))
    scaling = fit_scaling([video(long)])
    batch = collate([video(short), video(long, "b")], scaling=scaling)
    assert not batch.features[0, 40:].any()
    for index, one in enumerate((short, long)):
        alone = collate([video(one)], scaling=scaling).features
        assert torch.equal(alone[0], batch.features[index, : len(one)])
        np.testing.assert_array_equal(alone[0], scaling.scaled(one))


def test_what_was_read_stays_as_it_is():
    features = planted(50)
    before = features.copy()
    collate([video(features)], scaling=fit_scaling([video(features)]))
    np.testing.assert_array_equal(features, before)


def test_a_scaling_of_another_width_is_refused():
    with pytest.raises(InputError, match="width 3 with a scaling of 4 channels"):
        collate([video(planted(9)[:, :3])], scaling=fit_scaling([video(planted(9))]))


@pytest.mark.parametrize(
    ("mean", "deviation"),
    [([0.0], [0.0]), ([0.0], [-1.0]), ([0.0], [np.nan]), ([np.nan], [1.0]), ([0.0, 0.0], [1.0])],
)
def test_scalings_that_cannot_be_are_refused(mean, deviation):
    with pytest.raises(InputError):
        Scaling(np.array(mean), np.array(deviation))


class TestFamiliarFeatures:
    """Eight videos of 12 channels whose scales differ, each with its own offset and gain."""

    @pytest.fixture
    def videos(self) -> list[Array]:
        generator = np.random.default_rng(0)
        scales = 10 ** generator.uniform(-2, 2, 12)
        means = generator.normal(0, 3, 12) * scales
        return [
            (
                (generator.normal(0, 1, (400, 12)) * generator.uniform(0.4, 2))
                + generator.normal(0, 1, 12)
            )
            * scales
            + means
            for _ in range(8)
        ]

    @pytest.fixture
    def scaling(self, videos: list[Array]) -> Scaling:
        return fit_scaling(video(one) for one in videos[:5])

    def test_new_videos_of_the_same_kind_are(self, videos, scaling):
        assert all(scaling.is_familiar(one) for one in videos)
        assert scaling.is_familiar(videos[7][:1])
        assert scaling.is_familiar(np.repeat(videos[7][:1], 50, axis=0))

    @pytest.mark.parametrize("factor", [1000, 20, 1 / 1000])
    def test_other_units_are_not(self, videos, scaling, factor):
        assert not any(scaling.is_familiar(one * factor) for one in videos)

    def test_columns_in_another_order_are_not(self, videos, scaling):
        assert not any(scaling.is_familiar(one[:, ::-1]) for one in videos)

    def test_standardised_features_are_not_raw_ones(self, videos, scaling):
        assert not any(scaling.is_familiar(scaling.scaled(one)) for one in videos)
        of_scaled = fit_scaling(video(scaling.scaled(one)) for one in videos[:5])
        assert all(of_scaled.is_familiar(scaling.scaled(one)) for one in videos)
        assert not any(of_scaled.is_familiar(one) for one in videos)

    def test_constant_channels_tell_nothing(self):
        constant = np.ones((200, 3), np.float32)
        assert fit_scaling([video(constant)]).is_familiar(constant * 1000)


def test_moments_of_constant_channels():
    moments = Moments.of(np.tile(np.float32([0, 0.1, 5]), (99, 1)))
    assert moments.is_constant.all()
    np.testing.assert_allclose(moments.mean, np.float32([0, 0.1, 5]), rtol=1e-15)


def test_a_levelled_video_has_mean_0_and_deviation_1_whatever_its_units():
    features = planted(700)
    found = levelled(features)
    np.testing.assert_allclose(found.mean(0, dtype=np.float64), 0, atol=1e-6)
    np.testing.assert_allclose(found.std(0, dtype=np.float64), 1, rtol=1e-6)
    np.testing.assert_array_equal(levelled(features * np.float32(8)), found)
    np.testing.assert_allclose(levelled(features * 7 - 3), found, atol=0.01)
    np.testing.assert_allclose(levelled(found), found, atol=1e-6)


@pytest.mark.parametrize("n_frames", [1, 2, 30])
def test_channels_that_never_move_in_a_video_become_0(n_frames):
    features = np.tile(planted(1), (n_frames, 1))
    assert not levelled(features).any()


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_part_of_a_video_has_the_scale_of_the_whole(order):
    features = np.asarray(planted(100), order=order)
    part = levelled(features[20:30], Moments.of(features))
    np.testing.assert_array_equal(part, levelled(features)[20:30])


def test_a_video_is_levelled_in_the_frames_that_the_model_sees():
    """The frames between them, in files of hours, are not even read."""
    source = planted(101)
    found = replace(Video("a", source[::4], None, 101, 4), source_features=source).levelled()
    np.testing.assert_array_equal(found.features, levelled(source[::4]))
    assert found.source_features is None


def test_a_part_that_knows_the_whole_video_has_its_scale():
    features = planted(100)
    part = replace(video(features[20:30]), whole=features)
    np.testing.assert_array_equal(part.levelled().features, levelled(features)[20:30])
    assert part.levelled().whole is None


def test_a_dataset_levels_videos_as_a_model_does(tiny: Dataset):
    for data in (tiny, tiny.at_rate(3)):
        for name in tiny.names[:3]:
            plain = data.video(name)
            own = data.levelled().video(name)
            np.testing.assert_array_equal(own.features, plain.levelled().features)
            np.testing.assert_array_equal(own.labels, plain.labels)
    assert not tiny.levels
    assert not np.array_equal(tiny.video(name).features, own.features)
