"""The decoders' attention against the textbook formula."""

from __future__ import annotations

import math

import pytest
import torch

from uvast.models import attention
from uvast.models.alignment_decoder import SegmentAttention
from uvast.models.attention import CrossAttention, SelfAttention
from uvast.models.layers import dropout


def textbook(queries, keys, values, n_heads, visible=None):
    """Multi-head attention of projected inputs `(B, L, D)`: output and weights by head."""
    parts = [
        torch.stack(part.chunk(n_heads, -1), 1) for part in (queries, keys, values)
    ]  # (B, n_heads, L, d)
    scores = parts[0] @ parts[1].transpose(2, 3) / math.sqrt(parts[0].shape[-1])
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    weights = scores.softmax(-1)
    return torch.cat((weights @ parts[2]).unbind(1), -1), weights


def randomised(module):
    """Every weight and bias drawn anew: biases that start at zero hide mistakes."""
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return module.double()


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention(n_heads, causal):
    module = randomised(SelfAttention(6, n_heads, 0.0))
    x = normal(2, 5, 6)
    visible = torch.ones(5, 5).tril().bool() if causal else None
    expected, _ = textbook(*module.project(x).chunk(3, -1), n_heads, visible)
    torch.testing.assert_close(module(x, causal=causal), module.restore(expected))


def test_self_attention_does_not_see_padding():
    module = randomised(SelfAttention(6, 2, 0.0))
    x = normal(2, 5, 6)
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    torch.testing.assert_close(module(x, mask)[1, :3], module(x[1:, :3])[0])


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("n_memories", [1, 3])
def test_cross_attention_projects_on_the_short_side(n_heads, n_memories):
    """The memory is never projected, yet the result is that of projected keys and values."""
    module = randomised(CrossAttention(6, n_heads, 0.0))
    x, memory = normal(3, 4, 6), normal(n_memories, 9, 6, seed=1)
    other = normal(n_memories, 9, 6, seed=2)
    mask = torch.arange(9) < torch.tensor([9, 4, 1])[:n_memories, None]
    weight, bias = module.project.weight.chunk(3), module.project.bias.chunk(3)
    expected, expected_weights = textbook(
        x @ weight[0].T + bias[0],
        (memory @ weight[1].T + bias[1]).expand(3, -1, -1),
        (other @ weight[2].T + bias[2]).expand(3, -1, -1),
        n_heads,
        mask[:, None, None, :],
    )
    out, weights = module(x, memory, other, mask)
    torch.testing.assert_close(out, module.restore(expected))
    torch.testing.assert_close(weights, expected_weights)


def test_cross_attention_dropout_acts_on_projected_values():
    """With the weights dropped, the values' bias is dropped along with them."""
    torch.manual_seed(0)
    module = randomised(CrossAttention(4, 1, 0.5)).train()
    x, memory = normal(1, 2, 4), normal(1, 6, 4, seed=1)
    torch.manual_seed(1)
    out, weights = module(x, memory, memory, None)
    torch.manual_seed(1)
    dropped = dropout(weights, 0.5, training=True)[:, 0]
    values = memory @ module.project.weight.chunk(3)[2].T + module.project.bias.chunk(3)[2]
    torch.testing.assert_close(out, module.restore(dropped @ values))
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, 2, dtype=torch.float64))


@pytest.mark.parametrize("n_heads", [1, 2])
def test_segment_attention(n_heads):
    module = randomised(SegmentAttention(6, n_heads))
    frames, segments = normal(2, 9, 6), normal(2, 4, 6, seed=1)
    mask = torch.arange(4) < torch.tensor([[4], [2]])
    keys, values = module.project_segments(segments).chunk(2, -1)
    expected, _ = textbook(
        module.project_frames(frames), keys, values, n_heads, mask[:, None, None, :]
    )
    torch.testing.assert_close(module(frames, segments, mask), module.restore(expected))


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("n_memories", [1, 3])
@pytest.mark.parametrize("is_padded", [False, True])
def test_cross_attention_without_weights_is_the_same(n_heads, n_memories, is_padded, monkeypatch):
    module = randomised(CrossAttention(6, n_heads, 0.5)).eval()
    x, keys, values = normal(3, 4, 6), normal(n_memories, 9, 6, seed=1), normal(n_memories, 9, 6)
    mask = torch.arange(9) < torch.tensor([[9], [5], [7]])[:n_memories] if is_padded else None
    expected, _ = module(x, keys, values, mask)
    monkeypatch.setattr(attention, "MOST_WEIGHTS", 1)
    with torch.inference_mode():
        found, weights = module(x, keys, values, mask, need_weights=False)
    assert weights is None
    torch.testing.assert_close(found, expected)
