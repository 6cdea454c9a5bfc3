"""Average pooling over time against plain means."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.models.pooling import smooth, window_sum


@given(n_frames=st.integers(1, 40), half=st.integers(0, 40))
def test_window_sum(n_frames, half):
    x = torch.arange(1.0, n_frames + 1)[None, :, None]
    frames = range(n_frames)
    expected = [sum(s + 1 for s in frames if abs(s - t) <= half) for t in frames]
    assert window_sum(x, 2 * half + 1).flatten().tolist() == expected


@settings(deadline=None, max_examples=40)
@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    window=st.sampled_from([1, 3, 7, 31]),
)
def test_smooth_averages_the_valid_frames(lengths, window):
    n_frames, half = max(lengths), window // 2
    mask = torch.arange(n_frames) < torch.tensor(lengths)[:, None]
    generator = torch.Generator().manual_seed(n_frames)
    memory = torch.randn(len(lengths), n_frames, 2, generator=generator, dtype=torch.float64)
    results = [smooth(memory, mask, window)]
    if mask.all():
        results.append(smooth(memory, None, window))
    for result in results:
        for row, length in enumerate(lengths):
            expected = torch.stack(
                [
                    memory[row, max(t - half, 0) : min(t + half + 1, length)].mean(0)
                    for t in range(length)
                ]
            )
            torch.testing.assert_close(result[row, :length], expected)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("window", [3, 7, 21])
def test_gradcheck(padded, window):
    mask = torch.arange(8) < torch.tensor([[8], [3]]) if padded else None
    memory = torch.randn(2, 8, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: smooth(x, mask, window), (memory,))


def test_padding_of_a_long_batch_is_finite():
    mask = torch.arange(50) < torch.tensor([[50], [2]])
    assert smooth(torch.ones(2, 50, 3), mask, 5).isfinite().all()
