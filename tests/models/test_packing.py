"""Packed batches: nothing is lost, nothing leaks from one video into the next."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.models.c2f_tcn import ConvolutionBlock
from uvast.models.convolution import DilatedConvolution
from uvast.models.packing import Packing
from uvast.models.resampling import Rate

CPU = torch.device("cpu")


def padded(lengths, width=3):
    """Random videos `(B, T, D)`, zero on padding, and their rate."""
    torch.manual_seed(0)
    rate = Rate.of(lengths, CPU)
    x = torch.randn(len(lengths), max(lengths), width, dtype=torch.float64)
    return x if rate.mask is None else x * rate.mask.unsqueeze(2), rate


def test_videos_lie_one_after_the_other_with_zeros_between_them():
    x, _ = padded([2, 4, 1])
    packing = Packing((2, 4, 1), gap=2)
    packed = packing.pack(x)
    assert packing.spans == ((0, 2), (4, 8), (10, 11))
    assert packed.shape == (1, packing.n_frames, 3) == (1, 13, 3)
    assert torch.equal(packed[0, 4:8], x[1])
    mask = packing.mask(CPU)
    assert mask[0].tolist() == [1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0]
    assert not packed[~mask].any()


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    gap=st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_unpacking_gives_the_videos_back(lengths, gap):
    x, _ = padded(lengths)
    packing = Packing(tuple(lengths), gap)
    assert torch.equal(packing.unpack(packing.pack(x)), x)


def test_gradients():
    x, _ = padded([3, 1, 4], width=2)
    packing = Packing((3, 1, 4), gap=2)
    assert torch.autograd.gradcheck(packing.pack, x.requires_grad_())
    packed = packing.pack(x).detach().requires_grad_()
    assert torch.autograd.gradcheck(packing.unpack, packed)


def test_a_gap_keeps_videos_apart_and_a_smaller_one_does_not():
    x, _ = padded([5, 7, 2])
    convolution = DilatedConvolution(3, 1, kernel=5).double()
    alone = [
        convolution(video[:length].unsqueeze(0))[0]
        for video, length in zip(x, [5, 7, 2], strict=True)
    ]

    def together(gap):
        packing = Packing((5, 7, 2), gap)
        found = packing.unpack(convolution(packing.pack(x)))
        return [video[:length] for video, length in zip(found, [5, 7, 2], strict=True)]

    for ours, theirs in zip(together(2), alone, strict=True):
        torch.testing.assert_close(ours, theirs)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(together(1)[0], alone[0])


@pytest.mark.parametrize("lengths", [[9, 3, 1], [6, 6], [4]])
@pytest.mark.parametrize("is_training", [True, False])
def test_a_block_is_what_it_would_be_on_the_padded_batch(lengths, is_training):
    """Outputs, gradients and the statistics of batch norm."""
    x, rate = padded(lengths)
    found = []
    for packs in (True, False):
        torch.manual_seed(1)
        block = ConvolutionBlock(3, 4).double().train(is_training)
        y = block(x, rate) if packs else block._convolved(x, rate.mask)
        (y * torch.arange(4)).sum().backward()
        gradients = [parameter.grad for parameter in block.parameters()]
        found.append([y, *gradients, *block.buffers()])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)
