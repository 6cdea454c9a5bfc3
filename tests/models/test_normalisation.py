"""Instance normalisation against the formula, video by video."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.models.normalisation import EPSILON, instance_norm


def normal(*shape, seed=0, requires_grad=False):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(
        requires_grad
    )


def reference(x, lengths):
    rows = []
    for row, length in zip(x, lengths, strict=True):
        valid = row[:length]
        mean = valid.mean(0)
        variance = (valid - mean).square().mean(0)
        done = (valid - mean) / (variance + EPSILON).sqrt()
        rows.append(torch.cat((done, torch.zeros_like(row[length:]))))
    return torch.stack(rows)


@settings(max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(1, 50), min_size=1, max_size=3), width=st.integers(1, 4))
def test_equals_the_formula_with_gradients(lengths, width):
    n_frames = max(lengths)
    x = (3 + 2 * normal(len(lengths), n_frames, width)).requires_grad_()
    slope = normal(len(lengths), n_frames, width, seed=1)
    mask = torch.arange(n_frames) < torch.tensor(lengths)[:, None]
    masks = [mask, None] if mask.all() else [mask]
    expected = reference(x, lengths)
    (d_expected,) = torch.autograd.grad((expected * slope).sum(), x)
    for each in masks:
        y = instance_norm(x, each)
        (d_x,) = torch.autograd.grad((y * slope).sum(), x)
        torch.testing.assert_close(y, expected)
        torch.testing.assert_close(d_x, d_expected)


def test_a_single_frame_becomes_zero():
    assert instance_norm(normal(1, 1, 4), None).abs().max() == 0
    assert instance_norm(normal(2, 1, 4), None).abs().max() == 0


def test_padding_may_hold_anything():
    x = normal(2, 6, 3)
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    changed = x.masked_fill(~mask.unsqueeze(2), 1e6)
    torch.testing.assert_close(instance_norm(changed, mask), instance_norm(x, mask))


@pytest.mark.parametrize("n_videos", [1, 2])
@pytest.mark.parametrize("padded", [False, True])
def test_gradcheck(n_videos, padded):
    mask = torch.arange(5) < torch.tensor([3, 5])[:n_videos, None] if padded else None
    x = normal(n_videos, 5, 2, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: instance_norm(y, mask), (x,))


def test_a_constant_channel_in_float32_stays_finite():
    x = torch.full((1, 5000, 2), 1e4)
    for mask in (None, torch.ones(1, 5000, dtype=torch.bool)):
        assert instance_norm(x, mask).abs().max() < 1
