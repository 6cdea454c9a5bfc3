"""Batch norm over valid frames, against torch's over the frames alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from uvast.models.normalisation import EPSILON, MOMENTUM, BatchNorm


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def batch_norm(width):
    """With weights and statistics that are not those of the start."""
    norm = BatchNorm(width).double()
    with torch.no_grad():
        for seed, one in enumerate((norm.weight, norm.bias, norm.running_mean)):
            one += normal(width, seed=10 + seed)
        norm.running_var += 0.5
    return norm


def padded_mask(lengths):
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("training", [True, False])
@settings(max_examples=30, deadline=None)
@given(lengths=st.lists(st.integers(1, 20), min_size=1, max_size=3), width=st.integers(1, 4))
def test_equals_torch_on_the_valid_frames(training, lengths, width):
    mask = padded_mask(lengths)
    x = (3 + 2 * normal(*mask.shape, width)).masked_fill(~mask[..., None], 1e3).requires_grad_()
    slope = normal(*mask.shape, width, seed=1)
    theirs = torch.nn.BatchNorm1d(width, eps=EPSILON, momentum=MOMENTUM).double()
    is_single = sum(lengths) == 1
    theirs.load_state_dict(batch_norm(width).state_dict(), strict=False)
    theirs.train(training and not is_single)
    frames = theirs(x[mask])
    expected = torch.autograd.grad((frames * slope[mask]).sum(), (x, theirs.weight, theirs.bias))
    for each in [mask, None] if mask.all() else [mask]:
        ours = batch_norm(width).train(training)
        y = ours(x, each)
        torch.testing.assert_close(y[mask], frames)
        assert not y[~mask].any()
        found = torch.autograd.grad((y * slope).sum(), (x, ours.weight, ours.bias))
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(ours.running_mean, theirs.running_mean)
        torch.testing.assert_close(ours.running_var, theirs.running_var)


def test_a_video_is_the_same_alone_and_in_a_padded_batch_in_eval():
    norm = batch_norm(3).eval()
    x, lengths = normal(2, 9, 3), (4, 9)
    together = norm(x, padded_mask(lengths))
    for row, y, length in zip(x, together, lengths, strict=True):
        torch.testing.assert_close(norm(row[None, :length], None)[0], y[:length])


def test_gradcheck():
    norm, mask = batch_norm(2), padded_mask((3, 5))
    x = normal(2, 5, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda y: norm(y, mask), (x,))


def test_the_running_statistics_come_close_to_the_data():
    norm, mask = BatchNorm(1), padded_mask((400, 100))
    for seed in range(60):
        norm(5 + 3 * normal(2, 400, 1, seed=seed).float(), mask)
    assert norm.running_mean.item() == pytest.approx(5, abs=0.2)
    assert norm.running_var.item() == pytest.approx(9, rel=0.1)
    y = norm.eval()(functional.pad(5 + 3 * normal(1, 300, 1).float(), (0, 0, 0, 9)), None)
    assert y[:, :300].std().item() == pytest.approx(1, rel=0.1)
