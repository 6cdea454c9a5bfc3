"""The transcript decoder: steps with a cache, smoothing, its layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from uvast.models import Encoded


def encoded_frames(model, n_videos, n_frames):
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(n_videos, n_frames, model.dimensions.width, generator=generator)
    return Encoded(features, features[:, :, : model.dimensions.n_classes])


def random_tokens(model, n_videos, length):
    generator = torch.Generator().manual_seed(2)
    actions = torch.randint(model.dimensions.n_classes, (n_videos, length - 1), generator=generator)
    start = torch.full((n_videos, 1), model.dimensions.n_classes + 1)
    return torch.cat((start, actions), 1)


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("smoothing", [None, 5])
@pytest.mark.parametrize("padded", [False, True])
def test_steps_equal_teacher_forcing(small_model, n_heads, smoothing, padded):
    model = small_model(n_heads=n_heads, attention_smoothing=smoothing).eval()
    encoded = encoded_frames(model, 3, 40)
    mask = torch.arange(40) < torch.tensor([[40], [17], [1]]) if padded else None
    tokens = random_tokens(model, 3, 120)
    whole = model.decode(encoded, mask, tokens)
    state = model.start(encoded, mask)
    for position, column in enumerate(tokens.numpy().T):
        logits, state = state.step(column)
        expected = whole.logits[-1, :, position].detach().numpy()
        np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
    assert state.n_tokens == 120


@pytest.mark.parametrize("n_videos", [1, 3])
def test_selected_states_go_on_as_their_own(small_model, n_videos):
    """A beam of one video shares its memory; states of several videos take theirs along."""
    model = small_model(attention_smoothing=3).eval()
    encoded = encoded_frames(model, n_videos, 30)
    mask = torch.arange(30) < torch.tensor([30, 20, 10])[:n_videos, None]
    _, state = model.start(encoded, mask).step(np.full(n_videos, 6))
    chosen = np.array([n_videos - 1, 0, n_videos - 1])
    nexts = np.array([1, 2, 3])
    logits, selected = state.select(chosen).step(nexts)
    assert len(selected.keys) == (1 if n_videos == 1 else 3)
    for row, (video, token) in enumerate(zip(chosen.tolist(), nexts.tolist(), strict=True)):
        one = Encoded(encoded.features[video : video + 1], encoded.logits[video : video + 1])
        tokens = torch.tensor([[6, token]])
        expected = model.decode(one, mask[video : video + 1], tokens)
        wanted = expected.logits[-1, 0, 1].detach().numpy()
        np.testing.assert_allclose(logits[row], wanted, rtol=1e-5, atol=1e-5)


def test_select_before_the_first_token(small_model):
    state = small_model().start(encoded_frames(small_model(), 2, 4), None)
    selected = state.select(np.array([1, 1, 0]))
    assert selected.n_tokens == 0
    assert len(selected.keys) == selected.cache.shape[2] == 3
    assert selected.values is selected.keys


def test_a_token_sees_no_later_one(small_model):
    model = small_model().eval()
    encoded = encoded_frames(model, 1, 20)
    tokens = random_tokens(model, 1, 8)
    changed = tokens.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 5
    before, after = (model.decode(encoded, None, each).logits for each in (tokens, changed))
    assert torch.equal(before[:, :, :5], after[:, :, :5])
    assert (before[:, :, 5:] - after[:, :, 5:]).abs().amax((0, 1, 3)).min() > 1e-6


def test_outputs_only_when_asked_for(small_model):
    model = small_model(explicit_durations=False)
    encoded = encoded_frames(model, 1, 20)
    decoded = model.decode(encoded, None, random_tokens(model, 1, 4))
    assert decoded.cross_attention is None
    assert decoded.fractions is None
    weighted = model.decode(encoded, None, random_tokens(model, 1, 4), need_weights=True)
    torch.testing.assert_close(weighted.cross_attention.sum(-1), torch.ones(2, 1, 4))


def test_explicit_durations_are_shares(small_model):
    model = small_model()
    decoded = model.decode(encoded_frames(model, 1, 20), None, random_tokens(model, 1, 4))
    assert decoded.fractions.shape == (2, 1, 4)
    assert ((decoded.fractions > 0) & (decoded.fractions < 1)).all()


def test_smoothed_weights_pool_the_scores(small_model):
    """METHOD section 3: the *scores* are average-pooled along T, before the softmax."""
    model = small_model(attention_smoothing=3).eval()
    encoded = encoded_frames(model, 1, 12)
    tokens = random_tokens(model, 1, 4)
    smoothed = model.decode(encoded, None, tokens, need_weights=True).cross_attention[0, 0]
    model.transcript.smoothing = None
    plain = model.decode(encoded, None, tokens, need_weights=True).cross_attention[0, 0]
    scores = plain.log()  # the scores, up to a constant for each token
    pooled = torch.stack([scores[:, max(t - 1, 0) : t + 2].mean(1) for t in range(12)], dim=1)
    torch.testing.assert_close(smoothed, pooled.softmax(-1), rtol=1e-4, atol=1e-6)
