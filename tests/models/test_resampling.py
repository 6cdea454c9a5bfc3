"""Pooling and interpolation of padded batches, against each video alone and torch's own."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from uvast.models.resampling import (
    Rate,
    max_pool,
    pool_chunks,
    pool_pairs,
    repeat_chunks,
    stretch,
)

LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=3)
CPU = torch.device("cpu")


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def padded(lengths, width=3, filler=0.0):
    """Videos of these lengths, and their rate."""
    rate = Rate.of(lengths, CPU)
    x = normal(len(lengths), max(lengths), width)
    return x if rate.mask is None else x.masked_fill(~rate.mask[..., None], filler), rate


def test_the_rate_of_a_batch():
    rate = Rate.of([5, 2], CPU)
    assert rate.mask.tolist() == [[True] * 5, [True, True, False, False, False]]
    assert Rate.of([4, 4], CPU).mask is None
    lower = rate.lower(2)
    assert lower.lengths == (3, 1)
    assert lower.mask.tolist() == [[True] * 3, [True, False, False]]
    assert rate.lower([5, 2]).lengths == (1, 1)
    assert rate.lower([5, 2]).mask is None


@settings(max_examples=40, deadline=None)
@given(lengths=LENGTHS, factor=st.integers(1, 7))
def test_maxima_are_those_of_each_video_alone(lengths, factor):
    x, rate = padded(lengths)
    x = x.relu()
    pooled, lower = max_pool(x, factor), rate.lower(factor)
    assert pooled.shape[1] == max(lower.lengths)
    for row, found, length, n_pooled in zip(x, pooled, lengths, lower.lengths, strict=True):
        expected = [part.amax(0) for part in row[:length].split(factor)]
        torch.testing.assert_close(found[:n_pooled], torch.stack(expected))
        assert not found[n_pooled:].any()


@pytest.mark.parametrize("n_frames", [1, 2, 7, 8])
def test_pools_take_the_larger_of_two_valid_frames(n_frames):
    x = torch.randn(2, n_frames, 3) - 2  # mostly below the zeros of padding
    lengths = (n_frames, max(1, n_frames - 2))
    mask = torch.arange(n_frames) < torch.tensor(lengths)[:, None]
    pooled, valid = pool_pairs(x * mask.unsqueeze(2), mask)
    for row, n in enumerate(lengths):
        wanted = [x[row, t : min(t + 2, n)].amax(0) for t in range(0, n, 2)]
        torch.testing.assert_close(pooled[row, valid[row]], torch.stack(wanted))
        assert not pooled[row, ~valid[row]].any()
    alone, none = pool_pairs(x[:1], None)
    assert none is None
    torch.testing.assert_close(alone[0], pooled[0])


@settings(max_examples=40, deadline=None)
@given(lengths=LENGTHS, factor=st.integers(1, 8), n_missing=st.integers(0, 7))
def test_stretching_is_linear_interpolation_of_each_video_alone(lengths, factor, n_missing):
    x, rate = padded(lengths, filler=1e3)
    n_frames = max(lengths) * factor - min(n_missing, factor - 1)
    found = stretch(x, rate.mask, factor, n_frames)
    assert found.shape == (len(lengths), n_frames, 3)
    for row, one, length in zip(x, found, lengths, strict=True):
        alone = row[None, :length].transpose(1, 2)
        expected = functional.interpolate(alone, scale_factor=factor, mode="linear")[0].T
        n_valid = min(len(expected), n_frames)
        torch.testing.assert_close(one[:n_valid], expected[:n_valid])


@settings(max_examples=40, deadline=None)
@given(data=st.data(), lengths=LENGTHS)
def test_each_video_is_pooled_in_chunks_of_its_own(data, lengths):
    sizes = [data.draw(st.integers(1, 9)) for _ in lengths]
    x, rate = padded(lengths, filler=float("inf"))
    pooled, lower = pool_chunks(x, rate, sizes), rate.lower(sizes)
    assert pooled.shape[1] == max(lower.lengths)
    back = repeat_chunks(pooled, sizes, max(lengths))
    assert back.shape == x.shape
    for index, (length, size) in enumerate(zip(lengths, sizes, strict=True)):
        parts = [part.amax(0) for part in x[index, :length].split(size)]
        torch.testing.assert_close(pooled[index, : len(parts)], torch.stack(parts))
        assert not pooled[index, len(parts) :].any()
        for frame in range(length):
            torch.testing.assert_close(back[index, frame], parts[frame // size])


@pytest.mark.parametrize("features_first", [True, False])
def test_chunks_of_features_in_either_memory_order(features_first):
    x = normal(1, 11, 4)
    given_ = x.transpose(1, 2).contiguous().transpose(1, 2) if features_first else x
    found = pool_chunks(given_, Rate.of([11], CPU), [3])
    torch.testing.assert_close(found[0, 3], x[0, 9:].amax(0))
    assert found.shape == (1, 4, 4)


def test_gradients():
    x, rate = padded([5, 3])
    x.requires_grad_()

    def there_and_back(x):
        pooled = pool_chunks(x, rate, [2, 1])
        lower = rate.lower([2, 1])
        return repeat_chunks(stretch(pooled, lower.mask, 2, 5), [2, 2], 5)

    assert torch.autograd.gradcheck(there_and_back, (x,))
