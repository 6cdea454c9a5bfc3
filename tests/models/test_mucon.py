"""MuCon: its sizes, pools and masks, its losses against plain loops, and what it writes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from uvast.config import load_config
from uvast.data import Video, collate
from uvast.errors import ConfigError
from uvast.inference.search import (
    beam_transcripts,
    greedy_transcripts,
    transcript_log_probabilities,
)
from uvast.models.build import build_model
from uvast.models.mucon import (
    FREE_LENGTH,
    LENGTH_WEIGHT,
    SOFTNESS,
    Mucon,
    MuconDimensions,
    consistency_loss,
    length_loss,
    share_divergence,
    soft_masks,
)
from uvast.segments import Segmentation
from uvast.training.objectives import stage_one_objective
from uvast.training.optimisation import build_optimiser
from uvast.vocabulary import Vocabulary

N_CLASSES = 3
VOCABULARY = Vocabulary(("a", "b", "c"))
TRANSCRIPTS = torch.tensor([[0, 2, 1], [1, 0, -1]])
N_SEGMENTS = torch.tensor([3, 2])
FRACTIONS = torch.tensor([[0.5, 0.2, 0.3], [0.25, 0.75, 0.0]])
LENGTHS = (20, 12)
MASK = torch.arange(20) < torch.tensor(LENGTHS)[:, None]


@pytest.fixture
def model():
    torch.manual_seed(0)
    dimensions = MuconDimensions(5, N_CLASSES, width=8, dropout=0.0, decoder_dropout=0.0)
    return Mucon(dimensions).eval()


def test_the_published_sizes():
    config = load_config(preset="mucon")
    model = build_model(config.model, n_features=2048, n_classes=11)
    assert isinstance(model, Mucon)
    assert [layer.convolution.dilation for layer in model.layers] == [2**i for i in range(11)]
    assert (model.stride, model.dimensions.width) == (16, 128)
    backbone = 2048 * 128 + 128 + 11 * (3 * 128 * 128 + 128 + 128 * 128 + 128) + 2 * 128
    reader = 2 * 4 * 64 * (128 + 64 + 2)
    writer = 4 * 128 * (256 + 128 + 2)
    begin, key, mix = 129 * 256, 128 * 128, 257 * 128
    outputs = 129 * 11 + 13 * 128 + 129 * 12 + 128
    wanted = backbone + reader + writer + begin + key + mix + outputs
    assert sum(one.numel() for one in model.parameters()) == wanted == 1_370_263
    assert (config.train.optimiser, config.train.learning_rate, config.train.epochs) == (
        "sgd",
        0.01,
        150,
    )
    assert (config.loss.smoothing, LENGTH_WEIGHT) == (0.1, 0.1)


def test_an_odd_width_is_refused():
    with pytest.raises(ConfigError, match="width is 7; choose an even width"):
        MuconDimensions(5, 3, width=7)


def plain_mask(fractions, segment, frame, n_frames, n_segments):
    start = sum(fractions[:segment]) * n_frames
    end = start + fractions[segment] * n_frames
    softness = SOFTNESS * n_frames / n_segments

    def sigmoid(value):
        return 1 / (1 + math.exp(-value / softness))

    return sigmoid(frame + 0.5 - start) - sigmoid(frame + 0.5 - end)


def test_masks_and_consistency_are_those_of_a_plain_loop():
    logits = torch.randn(2, 20, N_CLASSES, dtype=torch.float64)
    fractions = FRACTIONS.double()
    masks = soft_masks(fractions, N_SEGMENTS, MASK)
    assert masks.shape == (2, 3, 20)
    losses = []
    for b, (n_frames, n_segments) in enumerate(zip(LENGTHS, N_SEGMENTS.tolist(), strict=True)):
        assert not masks[b, :, n_frames:].any()
        own = []
        for s in range(n_segments):
            shares = fractions[b].tolist()
            weights = [plain_mask(shares, s, t, n_frames, n_segments) for t in range(n_frames)]
            np.testing.assert_allclose(masks[b, s, :n_frames], weights, atol=1e-9)
            mean = sum(w * logits[b, t].log_softmax(0) for t, w in enumerate(weights))
            own.append(-(mean / sum(weights)).log_softmax(0)[TRANSCRIPTS[b, s]])
        losses.append(torch.stack(own).mean())
    found = consistency_loss(logits, masks, TRANSCRIPTS)
    torch.testing.assert_close(found, torch.stack(losses).mean())


def test_masks_add_up_to_one_inside_a_video_and_move_with_the_lengths():
    fractions = FRACTIONS[:1].clone().requires_grad_()
    masks = soft_masks(fractions, N_SEGMENTS[:1], MASK[:1])
    torch.testing.assert_close(masks.sum(1)[0, 3:17], torch.ones(14), atol=0.02, rtol=0)
    assert masks.argmax(1)[0].tolist() == [0] * 10 + [1] * 4 + [2] * 6
    (gradient,) = torch.autograd.grad(masks[0, 0, 11], fractions)
    assert gradient[0, 0] > 0  # a longer first segment reaches further


def test_consistency_teaches_both_branches():
    labels = TRANSCRIPTS[0].repeat_interleave(torch.tensor([10, 4, 6]))
    logits = 5 * torch.nn.functional.one_hot(labels, N_CLASSES)[None].float()
    right, wrong = (
        consistency_loss(
            logits, soft_masks(shares[None], N_SEGMENTS[:1], MASK[:1]), TRANSCRIPTS[:1]
        )
        for shares in (FRACTIONS[0], torch.tensor([0.2, 0.5, 0.3]))
    )
    assert right < wrong / 2


def test_losses_of_lengths_are_those_of_plain_loops():
    log_lengths = torch.tensor([[0.5, -3.0, 4.0], [2.5, 1.0, 9.0]], dtype=torch.float64)
    is_segment = TRANSCRIPTS >= 0
    regulariser, divergence = [], []
    for b, n in enumerate(N_SEGMENTS.tolist()):
        own = log_lengths[b, :n]
        regulariser.append(sum(max(0.0, abs(float(one)) - FREE_LENGTH) for one in own) / n)
        shares, true = own.exp() / own.exp().sum(), FRACTIONS[b, :n].double()
        divergence.append(float(sum(true * (true / shares).log())))
    assert float(length_loss(log_lengths, is_segment)) == pytest.approx(np.mean(regulariser))
    found = share_divergence(log_lengths, FRACTIONS.double(), is_segment)
    assert float(found) == pytest.approx(np.mean(divergence))
    exact = FRACTIONS.double().clamp(min=1e-9).log()
    assert float(share_divergence(exact, FRACTIONS.double(), is_segment)) == pytest.approx(
        0, abs=1e-7
    )


def test_shares_are_those_of_the_segments_alone(model):
    encoded = model.encode(torch.randn(2, 20, 5), MASK)
    tokens = torch.tensor([[4, 0, 2, 1], [4, 1, 0, 3]])  # SOS, actions, EOS on padding
    decoded = model.decode(encoded, MASK, tokens)
    shares = decoded.fractions[0]
    torch.testing.assert_close(shares.sum(1), torch.ones(2))
    assert shares[0, 3] == 0
    assert not shares[1, 2:].any()
    own = decoded.log_lengths[1, :2]
    torch.testing.assert_close(shares[1, :2], own.softmax(0))
    torch.testing.assert_close(
        model.decode(encoded, MASK, tokens[:, :1]).fractions, torch.zeros(1, 2, 1)
    )


def test_what_is_written_is_the_same_alone_and_in_a_padded_batch(model):
    features = torch.randn(3, 90, 5)
    lengths = (90, 37, 3)
    mask = torch.arange(90) < torch.tensor(lengths)[:, None]
    tokens = torch.tensor([[4, 0, 2, 1]]).expand(3, -1)
    encoded = model.encode(features, mask)
    together = model.decode(encoded, mask, tokens, need_weights=True)
    greedy = greedy_transcripts(model, encoded, mask, VOCABULARY, max_segments=6)
    for row, n in enumerate(lengths):
        own = torch.ones(1, n, dtype=torch.bool)
        for alone in (model.encode(features[row : row + 1, :n], own), encoded.video(row, n)):
            decoded = model.decode(alone, own, tokens[:1], need_weights=True)
            torch.testing.assert_close(together.logits[:, row], decoded.logits[:, 0])
            torch.testing.assert_close(together.fractions[:, row], decoded.fractions[:, 0])
            weights = together.cross_attention[0, row]
            torch.testing.assert_close(weights[:, :n], decoded.cross_attention[0, 0])
            torch.testing.assert_close(weights.sum(1), torch.ones(4))
            (found,) = greedy_transcripts(model, alone, own, VOCABULARY, max_segments=6)
            assert found.tokens.tolist() == greedy[row].tokens.tolist()


def test_token_by_token_is_teacher_forcing(model):
    features, mask = torch.randn(2, 20, 5), MASK
    encoded = model.encode(features, mask)
    tokens = torch.tensor([[4, 0, 2, 1], [4, 1, 0, 2]])
    wanted = model.decode(encoded, mask, tokens).logits[0]
    state = model.start(encoded, mask)
    for place in range(4):
        logits, state = state.step(tokens[:, place].numpy())
        np.testing.assert_allclose(logits, wanted[:, place].detach(), atol=1e-5)
    swapped, _ = state.select(np.array([1, 0, 1])).step(np.array([0, 1, 0]))
    plain, _ = state.step(np.array([1, 0]))
    np.testing.assert_allclose(swapped, plain[[1, 0, 1]], atol=1e-5)


@pytest.mark.parametrize("eos", [50.0, -50.0])
def test_transcripts_stop_at_eos_and_at_the_most_segments(model, eos):
    with torch.no_grad():
        model.segments.classify.bias[VOCABULARY.eos] = eos
    encoded = model.encode(torch.randn(1, 20, 5), MASK[:1])
    (greedy,) = greedy_transcripts(model, encoded, MASK[:1], VOCABULARY, max_segments=4)
    beam = beam_transcripts(model, encoded, MASK[:1], VOCABULARY, beam_width=3, max_segments=4)
    n_tokens = 1 if eos > 0 else 4
    assert {len(one.tokens) for one in (greedy, *beam)} == {n_tokens}
    assert greedy.complete == (eos > 0)
    if greedy.complete:
        (score,) = transcript_log_probabilities(
            model, encoded, MASK[:1], VOCABULARY, [beam[0].tokens]
        )
        assert beam[0].log_probability == pytest.approx(score, abs=1e-4)


def test_gradients_reach_every_weight_and_a_planted_transcript_is_learned(model):
    generator = np.random.default_rng(0)
    truth = Segmentation(np.array([2, 0, 1, 2]), np.array([40, 16, 24, 16]))
    means = generator.normal(size=(N_CLASSES, 5))
    noise = 0.1 * generator.normal(size=(truth.n_frames, 5))
    features = (means[truth.labels] + noise).astype(np.float32)
    batch = collate([Video("planted", features, None, truth.n_frames)], [truth])
    objective = stage_one_objective(model, VOCABULARY, load_config(preset="mucon").loss)
    parameters = objective.parameters()
    optimiser = build_optimiser(list(parameters.values()), learning_rate=0.01, weight_decay=0.0)
    objective.train_mode()
    for step in range(120):
        optimiser.zero_grad()
        losses = objective.losses(batch)
        losses.total.backward()
        if step == 1:
            assert [n for n, p in parameters.items() if p.grad is None or not p.grad.any()] == []
        optimiser.step()
    model.eval()
    encoded = model.encode(batch.features, batch.mask)
    (found,) = greedy_transcripts(model, encoded, batch.mask, VOCABULARY, max_segments=10)
    assert found.tokens.tolist() == [2, 0, 1, 2]
    assert found.complete
    tokens = torch.tensor([[VOCABULARY.sos, *found.tokens]])
    shares = model.decode(encoded, batch.mask, tokens).fractions[0, 0, :-1]
    np.testing.assert_allclose(shares.detach(), truth.durations / truth.n_frames, atol=0.05)
