"""Dropout, positions, the input layer."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from uvast.models.layers import (
    FeedForward,
    InputProjection,
    dropout,
    sinusoidal_positions,
)


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3, 0.5, 0.9])
def test_dropout_drops_at_its_rate_and_keeps_the_mean(rate):
    torch.manual_seed(0)
    x = torch.ones(1000, 300)
    y = dropout(x, rate, training=True)
    assert (y == 0).float().mean().item() == pytest.approx(rate, abs=0.004)
    assert y.mean().item() == pytest.approx(1, abs=0.01)
    kept = y[y != 0]
    assert kept.min() == kept.max()


def test_dropout_entries_are_independent_of_their_neighbours():
    torch.manual_seed(0)
    kept = (dropout(torch.ones(200_000), 0.5, training=True) > 0).float() - 0.5
    for distance in range(1, 17):
        correlation = 4 * (kept[distance:] * kept[:-distance]).mean().item()
        assert abs(correlation) < 0.012


def test_dropout_without_training_or_rate_is_nothing():
    x = torch.randn(5)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x


def test_dropout_follows_the_seed_and_changes_with_it():
    def drawn(seed):
        torch.manual_seed(seed)
        return dropout(torch.ones(64), 0.5, training=True)

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_dropout_gradcheck():
    x = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)

    def drop(y):
        torch.manual_seed(0)
        return dropout(y, 0.3, training=True)

    assert torch.autograd.gradcheck(drop, (x,))


@given(shape=st.lists(st.integers(1, 9), min_size=1, max_size=3), rate=st.floats(0, 0.999))
def test_dropout_keeps_the_shape_and_scales(shape, rate):
    kept = dropout(torch.ones(shape), rate, training=True)
    assert kept.shape == tuple(shape)
    for value in kept.unique().tolist():
        assert value == 0 or value == pytest.approx(1 / (1 - rate), rel=0.02)


def test_positions_are_sines_and_cosines():
    table = sinusoidal_positions(3, 5, 6, torch.empty(0, dtype=torch.float64))
    assert table.shape == (5, 6)
    for row, position in enumerate(range(3, 8)):
        for pair in range(3):
            angle = position / 10000 ** (2 * pair / 6)
            assert table[row, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[row, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_positions_continue_one_another():
    like = torch.empty(0)
    whole = sinusoidal_positions(0, 200, 8, like)
    parts = [sinusoidal_positions(0, 120, 8, like), sinusoidal_positions(120, 80, 8, like)]
    assert torch.equal(whole, torch.cat(parts))


@pytest.mark.parametrize("n_videos", [1, 3])
def test_channel_dropout_drops_whole_channels_of_each_video(n_videos):
    torch.manual_seed(0)
    n_features = 40
    layer = InputProjection(n_features, n_features, 0.5)
    with torch.no_grad():
        layer.linear.weight.copy_(torch.eye(n_features))
        layer.linear.bias.zero_()
    features = torch.rand(n_videos, 9, n_features) + 1
    ratio = layer(features) / features
    assert torch.allclose(ratio, ratio[:, :1].expand_as(ratio))
    kept = ratio[:, 0]
    assert set(kept.round(decimals=3).flatten().tolist()) == {0.0, 2.0}
    if n_videos > 1:
        assert not torch.equal(kept[0], kept[1])


def test_input_projection_takes_transposed_features():
    torch.manual_seed(0)
    layer = InputProjection(5, 4, 0.3).eval()
    features = torch.randn(2, 5, 9).transpose(1, 2)
    torch.testing.assert_close(layer(features), layer(features.contiguous()))
    torch.testing.assert_close(layer(features), layer.linear(features))


def test_feed_forward_is_two_linear_layers_around_gelu():
    torch.manual_seed(0)
    layer = FeedForward(4, 6, 0.5).eval()
    x = torch.randn(2, 3, 4)
    expected = layer.contract(torch.nn.functional.gelu(layer.expand(x)))
    torch.testing.assert_close(layer(x), expected)
