"""The dilated convolution against torch's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from uvast.models.convolution import DilatedConvolution, dilated_convolution


def normal(*shape, seed=0, requires_grad=False):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(
        requires_grad
    )


def reference(x, weight, bias, dilation):
    """`weight (3, D, D')` is torch's `(D', D, 3)`."""
    kernel = weight.permute(2, 1, 0).contiguous()
    return functional.conv1d(
        x.transpose(1, 2).contiguous(), kernel, bias, padding=dilation, dilation=dilation
    ).transpose(1, 2)


@settings(max_examples=40, deadline=None)
@given(
    n_videos=st.integers(1, 3),
    n_frames=st.integers(1, 60),
    dilation=st.sampled_from([1, 2, 4, 16, 64, 512]),
    widths=st.tuples(st.integers(1, 5), st.integers(1, 5)),
)
def test_equals_conv1d_with_gradients(n_videos, n_frames, dilation, widths):
    x = normal(n_videos, n_frames, widths[0], requires_grad=True)
    weight = normal(3, *widths, seed=1, requires_grad=True)
    bias = normal(widths[1], seed=2, requires_grad=True)
    slope = normal(n_videos, n_frames, widths[1], seed=3)
    results = []
    for convolve in (dilated_convolution, reference):
        y = convolve(x, weight, bias, dilation)
        results.append((y, *torch.autograd.grad((y * slope).sum(), (x, weight, bias))))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("n_videos", [1, 2])
@pytest.mark.parametrize("dilation", [1, 3, 9])
def test_gradcheck(n_videos, dilation):
    inputs = (
        normal(n_videos, 7, 3, requires_grad=True),
        normal(3, 3, 2, seed=1, requires_grad=True),
        normal(2, seed=2, requires_grad=True),
    )
    assert torch.autograd.gradcheck(
        lambda *parts: dilated_convolution(*parts, dilation), inputs, fast_mode=True
    )


def test_module_keeps_the_length_and_starts_like_conv1d():
    torch.manual_seed(0)
    module = DilatedConvolution(64, 4)
    assert module(torch.randn(2, 9, 64)).shape == (2, 9, 64)
    like = torch.nn.Conv1d(64, 64, 3)
    assert module.weight.std().item() == pytest.approx(like.weight.std().item(), rel=0.05)
    assert module.weight.abs().max() <= 1 / (3 * 64) ** 0.5
