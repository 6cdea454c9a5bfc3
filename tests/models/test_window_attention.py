"""Window attention on tiles against dense attention under a mask."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.models.window_attention import WindowAttention, tile_runs, window_attention

KINDS = ("neighbourhood", "band")


def sees(query, key, window, kind):
    """METHOD section 2, one pair of frames at a time."""
    if kind == "band":
        return abs(query - key) <= window // 2
    block = query // window * window
    return block - window // 2 <= key < block + window + window // 2


def dense_attention(queries, keys, values, window, kind, mask=None):
    """The whole `(T, T)` matrix of scores, and a mask."""
    n_frames = queries.shape[1]
    visible = torch.tensor(
        [[sees(i, j, window, kind) for j in range(n_frames)] for i in range(n_frames)]
    ).expand(len(queries), -1, -1)
    if mask is not None:
        visible = visible & mask[:, None, :]
    scores = queries @ keys.transpose(1, 2) / math.sqrt(queries.shape[2])
    # Finite, so that a query that sees nothing but padding is no NaN.
    return scores.masked_fill(~visible, -1e9).softmax(-1) @ values


def normal(*shape, seed=0, dtype=torch.float64, **options):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_(**options)


def random_inputs(n, n_frames, width, seed=0):
    """Queries, keys and values as a model has them: views of one projection."""
    return normal(n, n_frames, 3, width, seed=seed, requires_grad=False).unbind(2)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(
    n_frames=st.integers(1, 300),
    window=st.sampled_from([1, 2, 4, 8, 32, 64, 128, 256, 512]),
    n=st.integers(1, 2),
    width=st.integers(1, 4),
)
def test_equals_dense_attention(kind, n_frames, window, n, width):
    inputs = random_inputs(n, n_frames, width, seed=n_frames)
    tiled = window_attention(*inputs, window, kind)
    torch.testing.assert_close(tiled, dense_attention(*inputs, window, kind))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 200), min_size=2, max_size=3),
    window=st.sampled_from([2, 16, 128]),
)
def test_padding_is_not_seen(kind, lengths, window):
    n_frames = max(lengths)
    inputs = random_inputs(len(lengths), n_frames, 3)
    mask = torch.arange(n_frames) < torch.tensor(lengths)[:, None]
    tiled = window_attention(*inputs, window, kind, mask)
    dense = dense_attention(*inputs, window, kind, mask)
    torch.testing.assert_close(tiled[mask], dense[mask])
    for row, length in enumerate(lengths):
        alone = [part[row : row + 1, :length] for part in inputs]
        expected = window_attention(*alone, window, kind)[0]
        torch.testing.assert_close(tiled[row, :length], expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_frames", "window"), [(1, 4), (70, 2), (150, 64), (90, 16)])
@pytest.mark.parametrize("padded", [False, True])
def test_gradients_equal_those_of_dense_attention(kind, n_frames, window, padded):
    inputs = [normal(2, n_frames, 3, seed=seed, requires_grad=True) for seed in range(3)]
    mask = None
    if padded:
        mask = torch.arange(n_frames) < torch.tensor([n_frames, max(n_frames // 3, 1)])[:, None]
    slope = normal(2, n_frames, 3, seed=3, requires_grad=False)
    results = []
    for attend in (window_attention, dense_attention):
        out = attend(*inputs, window, kind, mask)
        if mask is not None:
            out = out * mask.unsqueeze(2)
        results.append(torch.autograd.grad((out * slope).sum(), inputs))
    for tiled, dense in zip(*results, strict=True):
        torch.testing.assert_close(tiled, dense)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_frames", "window"), [(67, 2), (9, 8), (130, 64)])
def test_gradcheck(kind, n_frames, window):
    inputs = [normal(1, n_frames, 1, seed=seed, requires_grad=True) for seed in range(3)]
    assert torch.autograd.gradcheck(
        lambda *parts: window_attention(*parts, window, kind), inputs, fast_mode=True
    )


@given(n_frames=st.integers(1, 3000), exponent=st.integers(0, 11))
def test_tiles_cover_every_query_once_and_stay_inside(n_frames, exponent):
    queries = []
    for run in tile_runs(n_frames, 2**exponent):
        for index in range(run.n_tiles):
            first = run.start + index * run.size
            queries.extend(range(first, first + run.size))
            key_first = run.key_start + index * run.size
            assert 0 <= key_first <= first
            assert first + run.size <= key_first + run.n_keys <= n_frames
    assert queries == list(range(n_frames))


def test_work_is_linear_in_the_number_of_frames():
    def n_scores(n_frames, window):
        runs = tile_runs(n_frames, window)
        return sum(run.n_tiles * run.size * run.n_keys for run in runs)

    for window in (1, 16, 512):
        assert n_scores(100_000, window) <= 100_000 * 2 * max(window, 64)


@pytest.mark.parametrize("n_heads", [1, 2, 4])
@pytest.mark.parametrize("window", [1, 8])
def test_module_equals_each_head_on_its_own(n_heads, window):
    torch.manual_seed(0)
    module = WindowAttention(
        6, 8, n_heads, window, "neighbourhood", activation=torch.nn.Tanh()
    ).double()
    x = normal(2, 40, 6, requires_grad=False)
    mask = torch.arange(40) < torch.tensor([[40], [23]])
    heads = [part.chunk(n_heads, -1) for part in module.project(x).chunk(3, -1)]
    attended = [
        dense_attention(*parts, window, "neighbourhood", mask) for parts in zip(*heads, strict=True)
    ]
    expected = module.restore(torch.tanh(torch.cat(attended, -1)))
    torch.testing.assert_close(module(x, mask)[mask], expected[mask])
