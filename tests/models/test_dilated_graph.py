"""Graphs of three dilated frames: every part against loops over graphs and nodes."""

from __future__ import annotations

import pytest
import torch

from uvast.models.dilated_graph import cosines, missing_pairs, spread

T, D = 11, 3
DILATIONS = (1, 2, 4, 8, 16)


def nodes(centre, dilation):
    return [centre - dilation, centre, centre + dilation]


def mask_of(*lengths):
    return torch.arange(T) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("dilation", DILATIONS)
def test_pairs_are_missing_where_a_node_is_outside_the_video(dilation):
    lengths = (T, 6, 1)
    found = missing_pairs(mask_of(*lengths), T, dilation, torch.zeros(1))
    for row, length in zip(found, lengths, strict=True):
        for centre in range(T):
            there = [0 <= one < length for one in nodes(centre, dilation)]
            if centre >= length:
                there = [False, True, False]
            expected = [not (a and b) for a in there for b in there]
            assert row[centre].tolist() == expected
    alone = missing_pairs(None, T, dilation, torch.zeros(1))
    assert torch.equal(alone, found[:1])


@pytest.mark.parametrize("dilation", DILATIONS)
def test_cosines_of_every_pair(dilation):
    x = torch.randn(2, T, D, dtype=torch.float64)
    found = cosines(x, dilation)
    assert found.shape == (2, T, 9)
    for video in range(2):
        for centre in range(T):
            for i, first in enumerate(nodes(centre, dilation)):
                for j, second in enumerate(nodes(centre, dilation)):
                    if min(first, second) >= 0 and max(first, second) < T:
                        a, b = x[video, first], x[video, second]
                        expected = (a @ b / a.norm() / b.norm()).item()
                        entry = found[video, centre, 3 * i + j].item()
                        assert entry == pytest.approx(expected)


def test_a_frame_of_zeros_has_finite_cosines_and_gradients():
    x = torch.randn(1, T, D)
    x[0, 4] = 0
    x.requires_grad_()
    found = cosines(x, 2)
    assert found[0, 4, 3].item() == 0
    found.sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("dilation", DILATIONS)
def test_a_frame_receives_from_all_graphs_that_it_is_in(dilation):
    x = torch.randn(2, T, D, dtype=torch.float64)
    adjacency = torch.rand(2, 2, T, 9, dtype=torch.float64)
    adjacency = adjacency.masked_fill(missing_pairs(mask_of(T, 7), T, dilation, x), 0.0)
    expected = torch.zeros(2, 2, T, D, dtype=torch.float64)
    for kind in range(2):
        for video in range(2):
            for centre in range(T):
                for i, receiver in enumerate(nodes(centre, dilation)):
                    for j, giver in enumerate(nodes(centre, dilation)):
                        if min(giver, receiver) >= 0 and max(giver, receiver) < T:
                            link = adjacency[kind, video, centre, 3 * i + j]
                            expected[kind, video, receiver] += link * x[video, giver]
    torch.testing.assert_close(spread(x, adjacency, dilation), expected)


@pytest.mark.parametrize("dilation", DILATIONS)
def test_gradients(dilation):
    x = torch.randn(2, T, 2, dtype=torch.float64, requires_grad=True)
    missing = missing_pairs(mask_of(T, 7), T, dilation, x)
    links = torch.rand(2, 2, T, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda one: cosines(one, dilation), x)
    assert torch.autograd.gradcheck(
        lambda one, other: spread(one, other.masked_fill(missing, 0.0), dilation), (x, links)
    )
