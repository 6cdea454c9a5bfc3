"""The dilated convolution against torch's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from uvast.errors import ConfigError
from uvast.models.convolution import DilatedConvolution, dilated_convolution

FIVE = {"width_out": 48, "kernel": 5}


def normal(*shape, seed=0, requires_grad=False):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(
        requires_grad
    )


def reference(x, weight, bias, dilation):
    """`weight (K, D, D')` is torch's `(D', D, K)`."""
    kernel = weight.permute(2, 1, 0).contiguous()
    padding = len(weight) // 2 * dilation
    return functional.conv1d(
        x.transpose(1, 2).contiguous(), kernel, bias, padding=padding, dilation=dilation
    ).transpose(1, 2)


@settings(max_examples=40, deadline=None)
@given(
    n_videos=st.integers(1, 3),
    n_frames=st.integers(1, 60),
    dilation=st.sampled_from([1, 2, 4, 16, 64, 512]),
    widths=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    kernel=st.sampled_from([1, 3, 5, 9]),
)
def test_equals_conv1d_with_gradients(n_videos, n_frames, dilation, widths, kernel):
    x = normal(n_videos, n_frames, widths[0], requires_grad=True)
    weight = normal(kernel, *widths, seed=1, requires_grad=True)
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
@pytest.mark.parametrize("kernel", [3, 5])
def test_gradcheck(n_videos, dilation, kernel):
    inputs = (
        normal(n_videos, 7, 3, requires_grad=True),
        normal(kernel, 3, 2, seed=1, requires_grad=True),
        normal(2, seed=2, requires_grad=True),
    )
    assert torch.autograd.gradcheck(
        lambda *parts: dilated_convolution(*parts, dilation), inputs, fast_mode=True
    )


@pytest.mark.parametrize(("options", "n_out", "kernel"), [({}, 64, 3), (FIVE, 48, 5)])
def test_module_keeps_the_length_and_starts_like_conv1d(options, n_out, kernel):
    torch.manual_seed(0)
    module = DilatedConvolution(64, 4, **options)
    assert module(torch.randn(2, 9, 64)).shape == (2, 9, n_out)
    assert module.weight.shape == (kernel, 64, n_out)
    like = torch.nn.Conv1d(64, n_out, kernel)
    assert module.weight.std().item() == pytest.approx(like.weight.std().item(), rel=0.05)
    assert module.weight.abs().max() <= 1 / (kernel * 64) ** 0.5


@pytest.mark.parametrize("kernel", [0, 2, -1])
def test_a_kernel_without_a_middle_is_refused(kernel):
    with pytest.raises(ConfigError, match=f"kernel is {kernel}; it must be odd and positive"):
        DilatedConvolution(4, 1, kernel=kernel)
