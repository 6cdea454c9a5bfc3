"""BCN: its size, smoothing up to barriers, weights of hard frames, against plain loops."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from uvast.config import LossConfig, load_config
from uvast.data.batching import Targets
from uvast.errors import ConfigError
from uvast.models import Encoded
from uvast.models.barrier import barrier_smooth
from uvast.models.bcn import Bcn, BcnDimensions, frame_weights, weighted_average
from uvast.models.build import build_model
from uvast.models.protocols import gives_boundaries
from uvast.training.loss_sums import framewise_losses
from uvast.training.losses import cross_entropy


def small(**changes):
    torch.manual_seed(0)
    sizes = {"width": 8, "n_layers": 3, "n_stages": 4, "dropout": 0.0, "barrier_window": 9}
    return Bcn(BcnDimensions(n_features=5, n_classes=4, **{**sizes, **changes}))


def batch_of(*lengths):
    features = torch.randn(len(lengths), max(lengths), 5)
    return features, torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def n_parameters(n_layers, n_classes):
    """Weights and biases from the widths of the paper."""

    def layer(width):
        return 3 * width * width + width + width * width + width

    inputs = sum((2048 + 256 * n) * 256 + 256 for n in range(3))
    cascade = 3 * (n_layers * layer(256) + 256 * n_classes + n_classes)
    fusion = n_classes * 64 + 64 + n_layers * layer(64) + 64 * n_classes + n_classes
    barriers = 2048 * 256 + 256 + 3 * layer(256) + 256 + 1
    return inputs + cascade + fusion + barriers


@pytest.mark.parametrize(("n_layers", "n_classes", "millions"), [(10, 11, 11.1), (12, 19, 12.8)])
def test_the_preset_has_the_layers_of_the_paper(n_layers, n_classes, millions):
    config = load_config(preset="bcn").replaced(**{"model.n_encoder_layers": n_layers})
    model = build_model(config.model, n_features=2048, n_classes=n_classes)
    found = sum(one.numel() for one in model.parameters())
    assert found == n_parameters(n_layers, n_classes)
    assert found / 1e6 == pytest.approx(millions, abs=0.05)
    assert gives_boundaries(model)


def test_the_quoted_size_has_a_second_barrier_network_that_ours_leaves_out():
    """Two convolutions of kernel 3 to 512 channels, and one to a score."""
    resized = 3 * 2048 * 512 + 512 + 3 * 512 * 512 + 512 + 512 + 1
    assert (n_parameters(12, 19) + resized) / 1e6 == pytest.approx(16.7, abs=0.05)


def test_the_preset_has_the_settings_of_the_paper():
    config = load_config(preset="bcn")
    assert (config.train.epochs, config.train.learning_rate) == (60, 5e-4)
    assert config.loss.smoothing == 0.3
    assert config.loss.smoothing_clip**2 == pytest.approx(8, abs=0.01)
    assert (config.model.width, config.model.barrier_window) == (256, 99)
    assert (config.decode.transcript, config.decode.durations) == ("frames", "none")


def plain_smooth(x, barriers, window):
    rows = []
    for t in range(len(x)):
        near = range(max(t - window // 2, 0), min(t + window // 2 + 1, len(x)))
        between = [barriers[min(s, t) + 1 : max(s, t) + 1] for s in near]
        weights = [math.exp(-one.sum().item()) for one in between]
        rows.append(sum(w * x[s] for w, s in zip(weights, near, strict=True)) / sum(weights))
    return torch.stack(rows)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 20), st.integers(1, 30))
def test_smoothing_is_a_weighted_mean_up_to_barriers(seed, half, n_frames):
    generator = torch.Generator().manual_seed(seed)
    lengths = (n_frames, 1 + n_frames // 2)
    x = torch.randn(2, n_frames, 3, generator=generator)
    barriers = 3 * torch.rand(2, n_frames, generator=generator)
    mask = torch.arange(n_frames) < torch.tensor(lengths)[:, None]
    window = 2 * half + 1
    found = barrier_smooth(x, barriers, mask, window)
    for row, length in enumerate(lengths):
        expected = plain_smooth(x[row, :length], barriers[row, :length], window)
        torch.testing.assert_close(found[row, :length], expected, atol=1e-5, rtol=1e-4)
        assert not found[row, length:].any()
    alone = barrier_smooth(x[:1], barriers[:1], None, window)
    torch.testing.assert_close(alone, found[:1])


def test_smoothing_has_the_gradients_of_its_formula():
    x = torch.randn(2, 13, 2, dtype=torch.float64, requires_grad=True)
    barriers = torch.rand(2, 13, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(13) < torch.tensor([13, 8])[:, None]
    assert torch.autograd.gradcheck(lambda a, b: barrier_smooth(a, b, mask, 7), (x, barriers))


def test_a_high_barrier_keeps_two_segments_apart_and_a_long_video_its_digits():
    n_frames = 40_000
    x = (torch.arange(n_frames) >= 31_234).float()[None, :, None]
    barriers = torch.full((1, n_frames), 0.5)
    barriers[0, 31_234] = 1e3
    torch.testing.assert_close(barrier_smooth(x, barriers, None, 99), x)
    open_way = barrier_smooth(x, torch.zeros(1, n_frames), None, 99)[0, :, 0]
    assert open_way[31_233].item() == pytest.approx(49 / 99)
    assert open_way[n_frames - 1] == 1


def test_weights_of_frames_fall_above_the_threshold():
    logits = torch.tensor([0.9, 0.1]).log().expand(1, 1, 2)
    expected = [math.exp(-0.9), math.exp(0.1)]
    assert frame_weights(logits)[0, 0].tolist() == pytest.approx(expected)
    below = torch.tensor([0.79, 0.21]).log().expand(1, 1, 2)
    assert frame_weights(below)[0, 0, 0].item() == pytest.approx(math.exp(0.79))


def test_stages_of_the_cascade_learn_what_the_one_before_misses():
    model = small().eval()
    features, mask = batch_of(14, 9)
    labels = torch.randint(4, (2, 14)).where(mask, -1)
    encoded = model.encode(10 * features, mask)
    empty = torch.zeros(2, 1)
    targets = Targets(labels, empty, empty, labels, empty)
    found = framewise_losses(encoded, targets, LossConfig(smoothing=0.0)).terms["frame"]
    expected, stages = 0.0, encoded.stages
    for index, stage in enumerate(stages):
        for video, length in enumerate((14, 9)):
            losses, weights = [], []
            for t in range(length):
                label, weight = labels[video, t], 1.0
                if index in (1, 2):  # neither the first stage nor the fused one
                    p = stages[index - 1].logits[video, t].softmax(0)[label].item()
                    weight = math.exp(-p if p > 0.8 else p)
                weights.append(weight)
                losses.append(-weight * stage.logits[video, t].log_softmax(0)[label].item())
            expected += sum(losses) / sum(weights) / 2
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_weights_of_frames_and_of_classes_multiply():
    logits, labels = torch.randn(1, 6, 3), torch.tensor([[0, 2, 1, 1, -1, 2]])
    classes, frames = torch.tensor([1.0, 2.0, 0.5]), torch.rand(1, 6, 3) + 0.5
    found = cross_entropy(logits, labels, classes, frames)
    total = weight = 0.0
    for t, label in enumerate(labels[0].tolist()):
        if label >= 0:
            own = (classes[label] * frames[0, t, label]).item()
            total -= own * logits[0, t].log_softmax(0)[label].item()
            weight += own
    assert found.item() == pytest.approx(total / weight, rel=1e-5)


def test_the_average_of_stages_weighs_them_frame_by_frame():
    logits = 3 * torch.randn(3, 2, 5, 4)
    first, second, third = (Encoded(one, one) for one in logits)
    stages = [
        first,
        Encoded(second.features, second.logits, frame_weights=frame_weights(first.logits)),
        Encoded(third.features, third.logits, frame_weights=frame_weights(second.logits)),
    ]
    found = weighted_average(stages)
    for video in range(2):
        for t in range(5):
            weights = [1.0]
            for before in logits[:2]:
                p = before[video, t].softmax(0).max().item()
                weights.append(math.exp(-p if p > 0.8 else p))
            parts = [w * one[video, t].softmax(0) for w, one in zip(weights, logits, strict=True)]
            torch.testing.assert_close(found[video, t], sum(parts) / sum(weights))


def test_a_stage_sees_the_input_and_the_stages_before_as_if_side_by_side():
    model = small().eval()
    features, _ = batch_of(12)
    encoded = model.encode(features, None)
    weight, bias = model.embed.linear.weight, model.embed.linear.bias
    for index, stage in enumerate(model.cascade):
        rows = slice(8 * index, 8 * index + 8)
        before = [one.features for one in encoded.earlier[:index]]
        columns = [] if stage.before is None else [stage.before.weight]
        side_by_side = torch.cat([features, *before], dim=2)
        x = side_by_side @ torch.cat([weight[rows], *columns], dim=1).T + bias[rows]
        for layer in stage.layers:
            x = layer(x, None)
        expected = encoded.earlier[index].features
        torch.testing.assert_close(x, expected, atol=1e-5, rtol=1e-5)


def test_every_weight_learns_and_padding_does_not_count():
    model = small().train()
    features, mask = batch_of(30, 11)
    labels = (torch.arange(30) // 7 % 4).expand(2, 30).where(mask, -1)
    empty = torch.zeros(2, 1)
    targets = Targets(labels, empty, empty, labels, empty)
    gradients = []
    for filler in (0.0, 50.0):
        features[~mask] = filler
        model.zero_grad()
        encoded = model.encode(features, mask)
        assert [one.boundaries is None for one in encoded.stages] == [True, True, True, False]
        framewise_losses(encoded, targets, LossConfig(smoothing=0.3)).total.backward()
        gradients.append({name: one.grad.clone() for name, one in model.named_parameters()})
    for name, value in gradients[0].items():
        assert value.any(), name
        torch.testing.assert_close(value, gradients[1][name], msg=name, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("wrong", [{"n_stages": 1}, {"barrier_window": 8}, {"barrier_window": 0}])
def test_dimensions_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        small(**wrong)
